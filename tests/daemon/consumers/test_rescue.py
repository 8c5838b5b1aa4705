"""Which prompts are in the rescue log, and when they are removed. The rules of the log itself: test_state_logs.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support_engine import Scene, Scripted, prompts_of, words_of
from tacitd.consumers.dead_letters import DeadLetters
from tacitd.consumers.rescue import RescueLog
from tacitd.events import Event, Prompt
from tacitd.files.log import Log
from tacitd.handler import Done, Later, Outcome, Rejected
from tacitd.testing import FakeClock

DAY = 86400.0


def parking(open_: list[bool]) -> Scripted:
    """A handler without a model until the test allows it."""

    def answer(event: Event) -> Outcome:
        if words_of(event) and not open_[0]:
            return Later("no model")
        return Done(data={"did": prompts_of(event)} if words_of(event) else {})

    return Scripted(answer)


def kept(scene: Scene) -> list[str]:
    return [str(record["text"]) for record in scene.dispatcher.outcomes.rescue.list_entries()]


def test_a_kill_after_the_commit_leaves_no_words_behind(tmp_path: Path) -> None:
    """DESIGN "Consumers": a prompt is removed when it was handled, also if the daemon was killed in between."""
    open_ = [False]
    scene = Scene(tmp_path, parking(open_))
    scene.type("s", "one")
    scene.settle()
    scene.settle(DAY + 3700)
    scene.settle(3700)
    assert kept(scene) == ["one"]
    open_[0] = True
    scene.dispatcher.outcomes.rescue.remove_handled = lambda handler, ids: None  # type: ignore[method-assign]  # the kill comes before it
    scene.settle(8 * 3600)
    assert scene.handler.did == ["u1"]
    scene.restart()
    assert kept(scene) == [] and b"one" not in (tmp_path / "state" / "rescue.jsonl").read_bytes()


def test_what_was_rejected_stays_over_a_restart(tmp_path: Path) -> None:
    """DESIGN "Consumers": the position has moved past a rejected prompt, so its text is kept."""
    scene = Scene(tmp_path, Scripted(lambda event: Rejected("never") if words_of(event) else Done()))
    scene.type("s", "one")
    scene.settle()
    scene.dispatcher.outcomes.dead_letters.append({"handler": [], "prompts": 5})  # malformed
    scene.restart()
    scene.settle(3700)
    assert kept(scene) == ["one"] and scene.handler.words == []


def test_words_that_nobody_asked_to_read_are_not_copied(tmp_path: Path) -> None:
    """A `scan` of one project offers no old prompts of another, so none of those waits or is kept."""
    open_ = [True]
    scene = Scene(tmp_path, parking(open_))
    other = scene.project("other")
    scene.settle(1000)
    scene.append(
        "s", scene.typed("s", "asked", age=5000), scene.typed("s", "of another place", cwd=other, age=4990)
    )
    scene.settle()
    open_[0] = False
    scene.engine.rewind_transcripts([scene.path("s")], scene.clock.wall - 6000, [str(scene.root)])
    scene.settle()
    assert scene.parked() == ["no model"]
    scene.settle(DAY + 3700)
    scene.settle(3700)
    assert kept(scene) == ["asked"]


def log_of(folder: Path) -> RescueLog:
    """A rescue log with one prompt of each of two handlers, and one that both have."""
    rescue = RescueLog(Log(folder / "rescue.jsonl"), FakeClock())
    for handler, ids in {"a": ("u1", "u3"), "b": ("u2", "u3")}.items():
        prompts = [Prompt("typed", f"words {id}", "s", id, 5.0, "/w") for id in ids]
        rescue.keep_prompts(handler, prompts, "no model")
    return rescue


def keys_of(rescue: RescueLog) -> list[tuple[str, str]]:
    return [(str(one["handler"]), str(one["id"])) for one in rescue.list_entries()]


def test_a_dropped_prompt_is_removed_from_every_handler(tmp_path: Path) -> None:
    """`tacitd rescue drop`: the others stay, also on disk; an unknown id removes nothing."""
    rescue = log_of(tmp_path)
    assert rescue.drop_prompt("u3") == 2 and rescue.drop_prompt("u9") == 0
    for one in (rescue, RescueLog(Log(tmp_path / "rescue.jsonl"), FakeClock())):
        assert keys_of(one) == [("a", "u1"), ("b", "u2")]


def test_only_settled_prompts_without_a_dead_letter_are_removed(tmp_path: Path) -> None:
    """A prompt that is neither handled nor rejected stays; so does a rejected one, of a handler that is not loaded too."""
    rescue = log_of(tmp_path)
    letters: list[dict[str, Any]] = [
        {"handler": "a", "prompts": ["u1"]},
        {"handler": "b", "prompts": ["u2"]},
        {"handler": "b", "prompts": 7},
    ]
    rescue.remove_settled({"a": lambda id: True}, letters)
    assert keys_of(rescue) == [("a", "u1"), ("b", "u2"), ("b", "u3")]


def test_the_letters_of_other_handlers_stay(tmp_path: Path) -> None:
    """`tacitd rescue retry` removes only the prompts that are tried again."""
    letters = DeadLetters(Log(tmp_path / "dead.jsonl"), lambda: 0.0)
    for handler in "abc":
        letters.add_letter(handler, "no", {"prompts": ["u1", "u2"]})
    letters.add_letter("b", "no", {"session": "s"})
    letters.remove_prompts("b", ["u1"])
    left = [(one["handler"], one.get("prompts")) for one in letters.read()]
    assert (
        left == [("a", ["u1", "u2"]), ("b", ["u2"]), ("c", ["u1", "u2"]), ("b", None)] and letters.count == 4
    )
