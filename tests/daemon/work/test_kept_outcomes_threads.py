"""Kept outcomes with the real pool: workers that commit at the same time, a disk that refuses all of them for a while."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support_work import Toy, WorkBench
from tacitd.contract import Done, Later, Outcome, Task
from tacitd.errors import UnwritableError
from tacitd.handler import Notice
from tacitd.plugin import GatherRule
from tacitd.work.stored_problems import find_refusal
from tacitd.work.task_runner import THREADS, WORKERS

PATIENCE = 60.0
"""Seconds until a test gives up."""


class Disk:
    """A disk that is full from the moment on at which all workers have done their work."""

    def __init__(self) -> None:
        self.is_full = False
        self.refused = Counter[str]()
        """Commits by the kind of the thread."""
        self._lock = threading.Lock()

    def fill(self) -> None:
        """It refuses from now on."""
        self.is_full = True

    def step(self, step: str) -> None:
        """A durable step of the store."""
        with self._lock:
            if step == "before commit" and self.is_full:
                self.refused[threading.current_thread().name.partition("_")[0]] += 1
                raise UnwritableError("the disk is full", "free some space")


class Paid:
    """A plugin whose every run is paid for. The first ones end at the same moment, when the disk is full."""

    def __init__(self, disk: Disk, together: int) -> None:
        self.runs = Counter[str]()
        self.running = 0
        self.most = 0
        """Runs at once."""
        self.begun_while_full = list[str]()
        self._disk = disk
        self._all_there = threading.Barrier(together, disk.fill, PATIENCE)
        self._lock = threading.Lock()

    def run(self, task: Task) -> Outcome:
        """Do a task."""
        if task.kind != "prompts":
            return Done()
        with self._lock:
            if self._disk.is_full:
                self.begun_while_full += [one.text for one in task.prompts]
            self.runs.update(one.text for one in task.prompts)
            self.running += 1
            self.most = max(self.most, self.running)
        text = task.prompts[0].text
        is_first_run = self.runs[text] == 1
        if text.startswith("first") and is_first_run:
            self._all_there.wait()
        with self._lock:
            self.running -= 1
        if "later" in text and is_first_run:
            return Later("the network is down")
        return Done(notices=[Notice("learned", text)])


class Drive:
    """Runs the loop as the daemon does: it sleeps until a task ends, or until something is due."""

    def __init__(self, tmp: Path, disk: Disk, paid: Paid) -> None:
        self._woken = threading.Event()
        self.toy = Toy(outcome=paid.run, rule=GatherRule(quiet=0.0))
        self.bench = WorkBench(
            tmp,
            self.toy,
            on_step=disk.step,
            pool=ThreadPoolExecutor(THREADS, thread_name_prefix="task"),
            on_done=self._woken.set,
        )

    def until(self, is_reached: Callable[[], bool], seconds: float = 5.0) -> None:
        """Run passes until this is so; `seconds` pass on the clock between two."""
        give_up = time.monotonic() + PATIENCE
        while not is_reached():
            assert time.monotonic() < give_up, self.bench.rows("SELECT * FROM task")
            self.bench.loop.run_pass()
            self._woken.wait(0.01)
            self._woken.clear()
            self.bench.clock.advance(seconds)


@pytest.mark.parametrize("first", ["first", "first, and later"])
def test_a_disk_that_is_full_for_a_while_under_all_workers(tmp_path: Path, first: str) -> None:
    """RELIABILITY 3, 16: no worker waits for the disk, nothing begins that could not be committed, nothing that was paid for is
    done again, and after it other projects' work goes on."""
    disk = Disk()
    paid = Paid(disk, WORKERS)
    drive = Drive(tmp_path, disk, paid)
    bench = drive.bench
    for number in range(6):
        project = bench.new_project(f"p{number}")
        kind = first if number < WORKERS else "next"
        bench.type(f"{kind} {number}", session=f"s{number}", cwd=project)
    drive.until(lambda: disk.refused["task"] >= 3 * WORKERS and disk.refused["MainThread"] >= 3)
    drive.until(lambda: not bench.runner.running)
    assert bench.runner.refused is not None and paid.most == WORKERS
    assert find_refusal(bench.loop) is not None
    disk.is_full = False
    drive.until(lambda: set(bench.states().values()) == {"done"}, seconds=30.0)
    drive.until(lambda: not bench.runner.running)
    tries = 2 if "later" in first else 1
    assert paid.runs == Counter(
        {f"{first} {number}": tries for number in range(WORKERS)}
        | {f"next {number}": 1 for number in range(WORKERS, 6)}
    )
    assert paid.begun_while_full == []
    done = [
        text for (text,) in bench.rows("SELECT text FROM activity WHERE plugin = 'toy' AND did <> 'parked'")
    ]
    assert sorted(done) == sorted(paid.runs), "each outcome is committed once"
    assert bench.runner.refused is None and bench.loop.problem is None
    assert bench.loop.list_degradations() == []
    assert bench.runner.stop(PATIENCE)


def test_a_stop_while_the_disk_is_full_ends_and_the_work_is_done_after_the_next_start(tmp_path: Path) -> None:
    """RELIABILITY 1, 14: a stop waits for no disk; what could not be committed is done by the next daemon, in order."""
    disk = Disk()
    paid = Paid(disk, WORKERS)
    drive = Drive(tmp_path, disk, paid)
    bench = drive.bench
    for number in range(4):
        bench.type(f"first {number}", session=f"s{number}", cwd=bench.new_project(f"p{number}"))
    drive.until(lambda: disk.refused["task"] >= WORKERS and not bench.runner.running)
    assert bench.runner.stop(PATIENCE)
    assert set(bench.states().values()) == {"waiting"}
    disk.is_full = False
    paid._all_there.abort()
    bench.pool = None
    bench.crash()
    bench.toys[0].outcome = lambda task: Done()
    bench.advance(3600)
    assert set(bench.states().values()) == {"done"} and bench.runner.refused is None
