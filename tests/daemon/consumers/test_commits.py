"""A commit is in a handler's log once, however often it was tried."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support_engine import Scene, Scripted
from tacitd.consumers.commits import Commits
from tacitd.consumers.snapshots import parse_commit
from tacitd.files.log import Log
from tacitd.handler import Done


def failing(log: Any, times: int) -> None:
    """Let the next syncs of this log fail, although the written records are in the file."""
    real, left = log._disk.sync_data, [times]

    def sync(fd: int) -> None:
        if left[0]:
            left[0] -= 1
            raise OSError(5, "Input/output error")
        real(fd)

    log._disk.sync_data = sync


def test_a_commit_whose_sync_failed_is_not_done_twice_after_a_restart(tmp_path: Path) -> None:
    """RELIABILITY row 3: after a failed fsync and a success, no commit is lost or repeated, also not for `open`."""
    scene = Scene(tmp_path)
    scene.settle()
    failing(scene.engine.consumers["a"].log, 1)
    scene.type("s", "one")
    scene.settle()
    assert scene.parked() and scene.handler.did == []
    scene.settle(60)
    assert scene.parked() == [] and scene.handler.did == ["u1"] and len(scene.handler.words) == 1
    scene.type("s", "two")
    scene.settle()
    scene.restart()
    assert scene.handler.did == ["u1", "u2"]


def test_the_same_is_true_of_an_event_without_records(tmp_path: Path) -> None:
    """RELIABILITY row 3, for the end of a session. A later end is a commit of its own."""
    scene = Scene(
        tmp_path, Scripted(lambda event: Done(data={"did": ["x"]} if "Ended" in str(type(event)) else {}))
    )
    for word in ("one", "two"):
        scene.type("s", word)
        scene.settle()
        failing(scene.engine.consumers["a"].log, 1)
        scene.settle(1801)
        scene.settle(60)
        scene.settle(60)
    assert scene.parked() == []
    scene.restart()
    assert scene.handler.did == ["x", "x"]


def test_what_was_not_written_is_written(tmp_path: Path) -> None:
    """Only a record that is already in the log is left out: two equal commits are two records."""
    log, commits = Log(tmp_path / "log.jsonl"), Commits()
    record = {"k": "done", "at": 1.0, "ev": "Due", "t": "", "s": "job", "o": -1, "d": {"n": 1}}
    failing(log, 1)
    with pytest.raises(OSError, match="Input"):
        commits.append_once(log, record)
    assert commits.append_once(log, record | {"at": 2.0}) == parse_commit(record)
    assert commits.append_once(log, record | {"at": 3.0}).at == 3.0
    assert [one["at"] for one in log.read()] == [1.0, 3.0]
