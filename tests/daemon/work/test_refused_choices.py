"""A file that refuses what a task's end writes beside the store, such as choices.jsonl: the task waits, and the loop does not turn."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from support_work import Toy, WorkBench
from tacitd.contract import Done, Task
from tacitd.plugin import GatherRule
from tacitd.state.person_choices import Choice, choose


def _refuse(path: Path, data: bytes) -> None:
    """A full disk: the store's log has room left that it was given before."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


def test_a_choice_that_cannot_be_written_is_not_tried_in_a_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELIABILITY 4: under 1 % of CPU. The store can be written, so that proving it says nothing about the file."""
    runs = 0

    def run(task: Task) -> Done:
        nonlocal runs
        runs += 1
        state_dir = bench.app.paths.state_dir
        return Done(lambda tx: choose(tx, state_dir, Choice("text", "digest", "never", "", 1.0)))

    bench = WorkBench(tmp_path, Toy(outcome=run, rule=GatherRule(quiet=0.0)))
    monkeypatch.setattr("tacitd.files.append_file.append_text", _refuse)
    bench.tell("first")
    for _ in range(50):  # the end of each task wakes the loop
        bench.engine.run_pass(full=True)
    assert 0 < runs <= 3
