"""The same prompts in two transcripts: they are offered once, and are not lost if the other transcript fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support_engine import Scene, Scripted, gathered, ids, offered, prompts_of, words_of
from tacitd.events import SessionEnded, TranscriptGrew
from tacitd.handler import Done, Later


def grew(answer: Any) -> Scripted:
    return Scripted(lambda event: answer(event) if isinstance(event, TranscriptGrew) else Done())


def done(event: Any) -> Done:
    return Done(data={"did": prompts_of(event)})


def fork(scene: Scene, records: list[dict[str, Any]], *more: str) -> None:
    """What `--fork-session` writes: the history with its uuids under a new session id, then new prompts."""
    scene.append("fork", *({**one, "sessionId": "fork"} for one in records))
    scene.type("fork", *more)


def test_handled_prompts_are_not_offered_again(tmp_path: Path) -> None:
    """CLAUDE_CODE section 0 fact 13, also after a restart."""
    scene = Scene(tmp_path)
    records = scene.type("s", "one", "two")
    scene.settle()
    scene.restart()
    fork(scene, records, "three")
    scene.settle()
    assert scene.handler.words == [["three"]] and scene.handler.did == ["u1", "u2", "u3"]


def test_prompts_are_offered_once_while_the_first_transcript_is_busy(tmp_path: Path) -> None:
    """The same in two lanes at once: the fork is in another project's directory."""
    scene = Scene(tmp_path, held=True)
    records = scene.type("s", "one")
    scene.settle()
    other = scene.project("other")
    scene.append("fork", *({**one, "sessionId": "fork", "cwd": str(other)} for one in records))
    scene.settle()
    for _ in range(8):
        scene.work(1)
        scene.settle(0)
    assert scene.handler.did == ["u1"] and sum(bool(words) for words in scene.handler.words) == 1


def test_the_fork_of_a_removed_file_is_handled_after_a_restart(tmp_path: Path) -> None:
    """What is gone is offered from its rows."""
    scene = Scene(tmp_path, gathered())
    records = scene.type("s", "one")
    scene.settle()
    fork(scene, records, "two")
    scene.settle()
    scene.path("s").unlink()
    scene.restart(Scripted())
    scene.settle()
    assert sorted(scene.handler.did) == ["u1", "u2"]


def test_a_fork_of_a_paused_session_is_passed_over_with_it(tmp_path: Path) -> None:
    """DESIGN "Priorities" 2: what a person paused is not learned from a copy; what is new in the copy is."""
    scene = Scene(tmp_path)
    scene.pause("session", "s", held=True)
    records = scene.type("s", "one")
    scene.settle()
    fork(scene, records, "two")
    scene.settle()
    assert scene.handler.did == ["u2"] and scene.sync().done()
    passed = scene.pause("session", "s", held=False)["passed"]
    scene.settle()
    assert scene.handler.did == ["u2"] and passed == 1


def test_many_forks_of_one_session(tmp_path: Path) -> None:
    """Each prompt once, in order, whatever waits for what, and `sync` ends."""
    scene = Scene(tmp_path, gathered(50.0))
    records = scene.type("s", *(f"words {i}" for i in range(3)))
    scene.settle()
    for name in "abcdefgh":
        scene.append(name, *({**one, "sessionId": name} for one in records))
        scene.type(name, f"new in {name}")
    scene.settle()
    assert scene.sync().done()
    assert sorted(scene.handler.did) == sorted(set(scene.handler.did)) and len(scene.handler.did) == 11
    firsts = [word for word in scene.handler.did if word in {"u1", "u2", "u3"}]
    assert firsts == ["u1", "u2", "u3"]


def test_the_end_of_a_fork_is_offered_after_its_prompts(tmp_path: Path) -> None:
    """Issue "Dispatch": also if these had to wait for another transcript."""
    scene = Scene(tmp_path, gathered(5000.0))
    records = scene.type("s", "one")
    scene.settle()
    fork(scene, records, "two")
    scene.settle()
    for _ in range(3):
        scene.settle(1801)
    order = [e.session if isinstance(e, SessionEnded) else words_of(e) for e in scene.handler.events]
    assert order.index("fork") > order.index(["two"]) and scene.handler.did == ["u1", "u2"]


def test_an_old_history_without_times_is_not_paid_for(tmp_path: Path) -> None:
    """Issue "Reading": a copied history whose lines have no time is as old as the lines around them."""
    scene = Scene(tmp_path, Scripted(), Scripted(), pays=[True, False])
    scene.settle(1000)
    bare = [scene.typed("fork", "first"), scene.typed("fork", "second")]
    for one in bare:
        del one["timestamp"]
    scene.append("fork", bare[0], scene.said("fork", "Done.", age=5000), scene.title("fork"), bare[1])
    scene.settle()
    assert scene.handlers[0].words == [] and scene.handlers[1].words == [["first", "second"]]
    late = scene.typed("fork", "third")
    del late["timestamp"]
    scene.append("fork", late)
    scene.settle()
    assert scene.handlers[0].words == [], "nothing shows that it is new"
    scene.append("fork", scene.said("fork", "Yes?"), late | {"uuid": "young"})
    scene.settle()
    assert scene.handlers[0].words == [["third"]]


def test_a_transcript_without_any_time_counts_as_new(tmp_path: Path) -> None:
    """DESIGN "Priorities" 1: no prompt is lost if nothing shows that it is old."""
    scene = Scene(tmp_path)
    scene.settle(1000)
    bare = scene.typed("s", "words")
    del bare["timestamp"]
    scene.append("s", bare)
    scene.settle()
    assert scene.handler.words == [["words"]]


@pytest.mark.parametrize("is_gone", [False, True])
def test_prompts_of_rows_are_taken_in_part(tmp_path: Path, is_gone: bool) -> None:
    """RELIABILITY 1: a handler takes ten prompts at a time. Those of a transcript that `scan` read, or that is deleted, have no
    offset in it any more; the rest is offered next, and none counts as done before."""

    def answer(event: TranscriptGrew) -> Any:
        if is_gone and not scene.tmp.joinpath("ready").exists():
            return Later("not now")
        said = offered(event)
        upto = next((one.start for one in event.records if one.prompts and one.prompts[0] in said[2:]), None)
        return Done(upto, {"did": prompts_of(event)[:2]})

    scene = Scene(tmp_path, grew(answer))
    if is_gone:
        scene.type("s", *"abcde")
        scene.settle()
        scene.path("s").unlink()
        scene.tmp.joinpath("ready").touch()
    else:
        scene.kill()
        scene.forget_store()
        scene.type("s", *"abcde", age=5000.0)
        scene.start(grew(answer))
        scene.scan([scene.path("s")], 0.0)
    scene.settle(7 * 3600)
    scene.settle(7 * 3600)
    assert ids(scene) == ["u1", "u2", "u3", "u4", "u5"] and scene.parked() == []
