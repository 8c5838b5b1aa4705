"""Handlers and disks that fail: what is retried, halved, rejected, and not done twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support_engine import Scene, Scripted, done, grew, prompts_of
from tacitd.errors import FileBusyError, FileRefusedError
from tacitd.events import Event, TranscriptGrew
from tacitd.handler import Done, Rejected

# failing


def test_an_exception_is_a_later_with_a_count(tmp_path: Path) -> None:
    """Issue "Dispatch": a failing handler does not affect another."""

    def broken(event: Event) -> Any:
        raise ZeroDivisionError("oops")

    scene = Scene(tmp_path, Scripted(broken), Scripted())
    scene.type("s", "one")
    scene.settle()
    other = scene.handlers[1]
    assert other.did == ["u1"]
    assert any("ZeroDivisionError: oops" in why for why in scene.parked())
    for _ in range(3):
        scene.settle(600)
    assert len(scene.rescued()) == 1, "a single record that fails three times is rejected"
    assert scene.engine.fault is None


def test_a_file_that_is_being_edited_is_ordinary_waiting(tmp_path: Path) -> None:
    """After a FileBusyError the batch is offered again: nothing is parked, and no attempt is counted."""
    editing = [True]

    def answer(event: TranscriptGrew) -> Any:
        if editing:
            raise FileBusyError("x is open in vim", seconds=5.0, editor="vim")
        return done(event)

    scene = Scene(tmp_path, grew(answer))
    scene.type("s", "one")
    for _ in range(5):
        scene.settle(10)
    assert scene.parked() == [] and scene.handler.did == [] and len(scene.rescued()) == 0
    editing.clear()
    scene.settle(10)
    assert scene.handler.did == ["u1"]


@pytest.mark.parametrize("answer", [None, "done", 7, SystemExit(1)], ids=str)
def test_an_invalid_outcome_is_a_failure_of_the_handler(tmp_path: Path, answer: Any) -> None:
    """A third-party handler must not leave its project's lane busy for ever."""

    def odd(event: TranscriptGrew) -> Any:
        if isinstance(answer, BaseException):
            raise answer
        return answer

    scene = Scene(tmp_path, grew(odd))
    scene.type("s", "one")
    scene.settle()
    assert scene.parked() and not scene.engine.runner.running and scene.sync().done()


@pytest.mark.parametrize("nowhere", [0, -1, 246, 10**9])
def test_done_that_does_not_move_is_an_error_and_not_a_loop(tmp_path: Path, nowhere: int) -> None:
    """A handler that answers Done without moving would be called, and paid for, for ever."""
    scene = Scene(tmp_path, grew(lambda event: Done(nowhere, {"did": prompts_of(event)})))
    scene.type("s", "one")
    scene.settle()
    far = nowhere == 10**9  # an offset after the end means all of it
    assert len(scene.handler.words) == 1 and bool(scene.parked()) is not far
    assert scene.handler.did == (["u1"] if far else [])


def test_rejected_that_does_not_move_is_an_error_and_not_a_loop(tmp_path: Path) -> None:
    """The same for Rejected, which would also fill the list of rejected work."""
    scene = Scene(tmp_path, grew(lambda event: Rejected("never", upto=0)))
    scene.type("s", "one")
    scene.settle()
    assert len(scene.handler.words) == 1 and len(scene.rescued()) == 0 and scene.parked()


def test_done_in_part_then_the_rest(tmp_path: Path) -> None:
    """Issue "Dispatch": `Done(upto)` commits a part; the rest is offered at once, and the part is not offered again."""
    scene = Scene(tmp_path, grew(lambda event: done(event, event.records[0].end, 1)))
    scene.type("s", "one", "two", "three")
    scene.settle()
    assert scene.handler.words == [["one", "two", "three"], ["two", "three"], ["three"]]
    assert scene.handler.did == ["u1", "u2", "u3"]


def test_rejected_in_part_then_the_rest(tmp_path: Path) -> None:
    """It is rejected, and the position moves past it and no further."""
    answers: list[Any] = [lambda e: Rejected("never", e.records[0].end), done]
    scene = Scene(tmp_path, grew(lambda event: answers.pop(0)(event)))
    scene.type("s", "one", "two")
    scene.settle()
    assert scene.handler.did == ["u2"] and [k["text"] for k in scene.rescued()] == ["one"]
    scene.restart()
    scene.settle()
    assert scene.handler.words == [] and len(scene.rescued()) == 1


@pytest.mark.parametrize(
    "error", [FileRefusedError("read-only", "chmod"), OSError(28, "full"), KeyError("bug")]
)
def test_files_that_cannot_be_written_are_retried_without_the_handler(
    tmp_path: Path, error: Exception
) -> None:
    """DESIGN "Commit": the commit is durable; project files are projections of it."""
    broken = [True]

    def project(commit: Any) -> None:
        if broken[0]:
            raise error

    scene = Scene(tmp_path, Scripted(project=project))
    scene.type("s", "one")
    scene.settle()
    assert len(scene.parked()) == 1 and scene.handler.words == [["one"]]
    broken[0] = False
    scene.settle(31)
    assert scene.handler.words == [["one"]] and scene.handler.did == ["u1"] and scene.parked() == []
    scene.restart()
    assert scene.handler.did == ["u1"], "only once"


def test_a_process_that_ends_in_a_handler_is_no_failure(tmp_path: Path) -> None:
    """RELIABILITY 16: a kill while a handler works says nothing about the prompt. It is not counted, and if the process goes on all
    the same, the task is not begun again in a loop."""
    calls = [0]

    def answer(event: TranscriptGrew) -> Any:
        calls[0] += 1
        if calls[0] <= 4:
            raise KeyboardInterrupt
        return done(event)

    scene = Scene(tmp_path, grew(answer))
    scene.type("s", "one")
    with pytest.raises(KeyboardInterrupt):
        scene.settle()
    scene.settle()
    assert calls[0] == 1 and scene.parked() == []
    for number in (2, 3):
        with pytest.raises(KeyboardInterrupt):
            scene.settle(61)
        assert calls[0] == number
    with pytest.raises(KeyboardInterrupt):
        scene.restart()
        scene.settle()
    scene.settle(61)
    assert scene.handler.did == ["u1"] and scene.rescued() == []
