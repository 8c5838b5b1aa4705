"""Outcomes whose commit the disk or an editor refuses: they are kept, no worker waits, and nothing is done twice."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from support_work import Toy, WorkBench
from tacitd.contract import Done, FileChange, Task, Tx
from tacitd.errors import FileBusyError, UnwritableError
from tacitd.plugin import GatherRule
from tacitd.work.stored_problems import find_refusal
from tacitd.work.task_runner import WORKERS


class Disk:
    """A disk that refuses commits from the moment on at which a task ran."""

    def __init__(self) -> None:
        self.is_full = False

    def step(self, step: str) -> None:
        """A durable step of the store."""
        if self.is_full and step == "before commit":
            raise UnwritableError("the disk is full", "free some space")


def test_an_outcome_that_the_disk_refuses_is_committed_later_and_nothing_begins_meanwhile(
    tmp_path: Path,
) -> None:
    """RELIABILITY 3: work that was paid for is not done again; no other begins, because it could not be committed either."""
    disk = Disk()

    def fill(task: Task) -> Done:
        disk.is_full = task.kind == "prompts" and "first" in task.prompts[0].text
        return Done()

    toy = Toy(outcome=fill, rule=GatherRule(quiet=0.0))
    bench = WorkBench(tmp_path, toy, on_step=disk.step)
    bench.type("first").advance()
    assert toy.texts() == [["first"]] and set(bench.states().values()) == {"waiting"}
    other = bench.new_project("other")
    bench.type("second", session="s2", cwd=other)
    for seconds in (1, 5, 20, 60, 3600):
        bench.advance(seconds)
        assert toy.texts() == [["first"]], "nothing was begun, and nothing done again"
        assert bench.runner.running == {}, "no worker waits for the disk"
        assert find_refusal(bench.loop) is not None
    disk.is_full = False
    for _ in range(4):
        bench.advance(61)
    assert toy.texts() == [["first"], ["second"]] and set(bench.states().values()) == {"done"}
    assert bench.loop.list_degradations() == []


def test_an_outcome_that_is_kept_at_a_stop_is_committed_then(tmp_path: Path) -> None:
    """The disk may have room again by then."""
    disk = Disk()

    def fill(task: Task) -> Done:
        disk.is_full = task.kind == "prompts"
        return Done()

    toy = Toy(outcome=fill, rule=GatherRule(quiet=0.0))
    bench = WorkBench(tmp_path, toy, on_step=disk.step)
    bench.type("first").advance()
    disk.is_full = False
    bench.runner.stop()
    bench.crash()
    bench.advance(3600)
    assert toy.texts() == [["first"]] and set(bench.states().values()) == {"done"}


class Steps:
    """Files of which one is being edited."""

    def __init__(self, busy: int, at: str) -> None:
        self.busy, self.at, self.swapped = busy, at, 0

    def _look(self, where: str) -> None:
        if where == self.at and self.busy:
            self.busy -= 1
            raise FileBusyError("LEARNED.md is open in vim", "close it", seconds=30.0)

    def read(self, plugin: str, task: Task, done: Done) -> None:
        self._look("read")

    def plan(self, tx: Tx, plugin: str, task: Task, done: Done) -> None:
        self._look("plan")

    def swap(self, plugin: str, task: Task) -> None:
        self.swapped += 1


@pytest.mark.parametrize("at", ["read", "plan"])
def test_a_file_that_is_being_edited_costs_no_second_run(tmp_path: Path, at: str) -> None:
    """The outcome waits, in `read` and in `plan`; other lanes go on, and no failure of the prompts is counted."""
    change = FileChange(tmp_path / "x", None, lambda now, edits: {}, None)  # type: ignore[arg-type]
    toy = Toy(
        outcome=lambda task: Done(files=[change] if task.session == "s1" else []),
        rule=GatherRule(quiet=0.0),
    )
    bench = WorkBench(tmp_path / at, toy)
    bench.type("warm").advance()
    steps = Steps(3, at)
    bench.runner._files = steps  # type: ignore[assignment]
    bench.type("first").advance()
    assert toy.texts() == [["warm"], ["first"]] and steps.swapped == 0
    assert bench.rows("SELECT reason FROM task WHERE kind = 'prompts'") == [("LEARNED.md is open in vim",)]
    bench.type("second", session="s2", cwd=bench.new_project("other")).advance()
    assert toy.texts()[2:] == [["second"]]
    for _ in range(4):
        bench.advance(31)
    assert toy.texts()[3:] == [] and steps.swapped == 1
    assert set(bench.states().values()) == {"done"}
    assert bench.rows("SELECT max(tries) FROM prompt_task") == [(0,)]


def test_the_loop_does_not_turn_for_an_outcome_that_cannot_begin(tmp_path: Path) -> None:
    """It turned 200 times a second, while every worker was busy and while a reload waited for a task."""
    change = FileChange(tmp_path / "x", None, lambda now, edits: {}, None)  # type: ignore[arg-type]
    bench = WorkBench(tmp_path, Toy(outcome=lambda task: Done(files=[change]), rule=GatherRule(quiet=0.0)))
    bench.runner._files = Steps(9, "read")  # type: ignore[assignment]
    bench.type("first").advance()
    assert bench.runner.next_in() == 30.0
    bench.clock.advance(31.0)
    assert bench.runner.next_in() == 0.0
    begun = bench.clock.monotonic()
    bench.runner._running.update({("other", str(n)): begun for n in range(WORKERS)})
    assert bench.runner.next_in() == math.inf
    bench.runner._running.clear()
    bench.runner.hold()
    assert bench.runner.next_in() == math.inf


def test_an_outcome_of_a_store_that_is_gone_changes_nothing_in_the_next(tmp_path: Path) -> None:
    """RELIABILITY 1: numbers of rows mean something else in a new store: other prompts would count as done."""
    disk = Disk()

    def fill(task: Task) -> Done:
        disk.is_full = task.kind == "prompts" and task.prompts[0].text == "first"
        return Done()

    toy = Toy(outcome=fill, rule=GatherRule(quiet=600.0))
    bench = WorkBench(tmp_path, toy, on_step=disk.step)
    bench.type("first").advance().advance(601)
    assert toy.texts() == [["first"]]
    for path in bench.state.glob("tacitd.sqlite*"):
        path.unlink()
    disk.is_full = False
    bench.advance(61)
    bench.type("of the new store").advance()
    bench.advance(61)
    assert "done" not in bench.states().values()
    bench.advance(601)
    assert ["of the new store"] in toy.texts()
