"""How sessions end that stand in more than one file, or in none any more."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_engine import Scene, with_words
from tacitd.contract import Done, Later, Outcome, Task
from tacitd.work import reader as reader_module


def test_words_in_the_queue_are_said_in_every_file_of_the_session(tmp_path: Path) -> None:
    """CLAUDE_CODE section 6, rule 4: a session that went on in another file leaves nothing behind in the first one."""
    scene = Scene(tmp_path)
    scene.version = "2.0.76"
    scene.append("s", scene.said("s", "Hello"), scene.queued("s", "while it works"))
    scene.settle(1)
    scene.append("s", scene.typed("s", "elsewhere"), path=scene.path("other"))
    scene.settle(1)
    assert scene.handler.words == [["elsewhere"]]
    scene.settle(1801)
    assert scene.handler.words == [["elsewhere"], ["while it works"]]


def test_a_session_whose_folder_was_moved_is_let_go(tmp_path: Path) -> None:
    """RELIABILITY row 8: what was read of a file that is gone stays until it is handled, and no longer."""
    scene = Scene(tmp_path)
    scene.version = "2.0.76"
    scene.append("s", scene.said("s", "Hello"), scene.queued("s", "while it works"))
    scene.settle()
    scene.folder.rename(scene.folder.with_name("moved"))
    scene.settle()
    scene.settle(1801)
    scene.settle(61)
    assert scene.handler.words == [["while it works"]]


def test_an_end_that_is_told_late_has_the_time_of_what_was_handled_last(tmp_path: Path) -> None:
    """`session.last` is when it was last active, also where its transcript is gone by then."""
    scene = Scene(tmp_path)
    scene.type("s", "one")
    scene.settle()
    worked = scene.clock.wall
    scene.path("s").unlink()
    scene.clock.advance(40 * 86400)
    scene.restart()
    scene.settle()
    assert len(scene.handler.ends) == 1
    ((last,),) = scene.app.store.rows("SELECT last FROM session")
    assert worked - 60 <= last <= worked + 60


def test_an_end_that_waits_for_a_file_that_is_gone_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes after every prompt of the session was handled, and not never where its transcript is gone."""
    closed = [False]

    def answer(task: Task) -> Outcome:
        return Later("no model") if closed[0] else Done()

    scene = Scene(tmp_path, with_words(answer))
    scene.type("s", "one")
    scene.settle()
    closed[0] = True
    scene.type("s", "two")
    scene.settle()
    monkeypatch.setattr(reader_module, "TAILS", 0)
    scene.settle(1801)
    scene.settle(61)
    assert scene.parked() == ["no model"] and scene.handler.ends == []
    scene.path("s").unlink()
    closed[0] = False
    scene.settle(25000)
    assert len(scene.handler.ends) == 1 and scene.parked() == []
