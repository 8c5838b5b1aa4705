"""Which prompts are in the rescue log, and when they are removed. The rules of the log itself: test_state_logs.py."""

from __future__ import annotations

from pathlib import Path

from support_engine import Scene, Scripted, prompts_of, words_of
from tacitd.events import Event
from tacitd.handler import Done, Later, Outcome, Rejected

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
