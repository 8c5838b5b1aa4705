"""Outcomes whose commit the disk or an editor refuses: nothing is lost or paid for twice, and no worker waits."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support_work import Toy, WorkBench
from support_world import make_world
from tacitd.config.settings import BudgetSettings
from tacitd.contract import Done, FileChange, Later, NewLine, Outcome, Part, Task, Tx
from tacitd.errors import FileBusyError, FileRefusedError, UnwritableError
from tacitd.files.disk import Disk as FileDisk
from tacitd.handler import Notice
from tacitd.model.budget import Budget, mark_used
from tacitd.model.port import ModelRequest
from tacitd.plugin import GatherRule
from tacitd.status import list_engine_problems
from tacitd.work.stored_problems import find_store_refusal
from tacitd.work.task_rows import NewTask, insert_task
from tacitd.work.task_runner import THREADS, WORKERS

PATIENCE = 60.0
"""Seconds until a test gives up."""


class Disk:
    """A disk that refuses commits from the moment on at which it is filled."""

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


class Payer:
    """A plugin that asks the model about the prompts of a task, through the budget."""

    def __init__(self, on_call: Callable[[], None]) -> None:
        self.budget: Budget
        self.calls = list[list[str]]()
        self._on_call = on_call

    def run(self, task: Task) -> Outcome:
        """Do a task. During the call, `on_call` is called."""
        texts = [one.text for one in task.prompts]
        if not texts:
            return Done()
        parts = [Part("prompt", number, str(one.number), one.text) for number, one in enumerate(task.prompts)]
        request = ModelRequest(
            "?", "fast", purpose="extraction", plugin="toy", about=tuple(parts), project=str(task.project)
        )
        found = self.budget.find_answer("toy", "extraction", parts)
        if found is None:
            number = self.budget.begin_call(request)
            assert isinstance(number, int)
            self.calls.append(texts)
            self._on_call()
            self.budget.end_call(number, "answered", usd=0.1, answer="NONE")
        else:
            number = int(found.call)
        return Done(lambda tx: mark_used(tx, [number]), notices=[Notice("learned", texts[0])])


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def payer(disk: Disk) -> Payer:
    full = iter([disk.fill])
    return Payer(lambda: next(full, lambda: None)())


@pytest.fixture
def bench(tmp_path: Path, disk: Disk, payer: Payer) -> Iterator[WorkBench]:
    bench = WorkBench(tmp_path, Toy(outcome=payer.run, rule=GatherRule(quiet=0.0)), on_step=disk.step)
    payer.budget = Budget(bench.store, BudgetSettings(), bench.clock)
    yield bench


def test_a_disk_that_is_full_during_a_call_costs_no_second_call(
    bench: WorkBench, disk: Disk, payer: Payer
) -> None:
    """RELIABILITY 3, 16: the answer is kept until it can be stored, the task is done again with it, and nothing else begins meanwhile:
    it could not be committed either."""
    bench.tell("first").advance()
    assert payer.calls == [["first"]] and set(bench.states().values()) == {"waiting"}
    bench.tell("second", session="s2", cwd=bench.project("other"))
    tasks = len(bench.toys[0].tasks)
    for seconds in (1, 5, 20, 60, 3600):
        bench.advance(seconds)
        assert len(bench.toys[0].tasks) == tasks, "nothing was begun, and nothing done again"
        assert bench.runner.running == {}, "no worker waits for the disk"
        assert find_store_refusal(bench.engine) is not None
    disk.is_full = False
    for _ in range(4):
        bench.advance(61)
    assert payer.calls == [["first"], ["second"]] and set(bench.states().values()) == {"done"}
    told = bench.rows("SELECT did, text FROM activity WHERE plugin = 'toy' ORDER BY number")
    assert told == [("learned", "first"), ("learned", "second")], "each outcome is committed once"
    assert list_engine_problems(bench.engine) == [] and find_store_refusal(bench.engine) is None


def test_a_disk_that_is_full_at_a_stop_loses_no_prompt(bench: WorkBench, disk: Disk, payer: Payer) -> None:
    """RELIABILITY 1, 14: a stop waits for no disk; what could not be committed is done by the next daemon. Its call counts as lost."""
    bench.tell("first").advance()
    bench.runner.stop()
    disk.is_full = False
    bench.crash()
    payer.budget = Budget(bench.store, BudgetSettings(), bench.clock)
    bench.advance(3600)
    assert bench.rows("SELECT outcome FROM call ORDER BY number") == [("lost",), ("answered",)]
    assert payer.calls == [["first"], ["first"]] and set(bench.states().values()) == {"done"}


def test_an_outcome_of_a_store_that_is_gone_changes_nothing_in_the_next(tmp_path: Path) -> None:
    """RELIABILITY 1: numbers of rows mean something else in a new store: other prompts would count as done."""

    def remove(task: Task) -> Done:
        if task.kind == "prompts" and task.prompts[0].text == "first":
            for path in (tmp_path / "state").glob("tacitd.sqlite*"):
                path.unlink()
        return Done()

    toy = Toy(outcome=remove, rule=GatherRule(quiet=600.0))
    bench = WorkBench(tmp_path, toy)
    bench.tell("first").advance().advance(601)
    assert toy.texts() == [["first"]]
    bench.tell("of the new store").advance()
    bench.advance(61)
    assert bench.states() == {"of the new store": "waiting"}
    bench.advance(601)
    assert ["of the new store"] in toy.texts()


@pytest.mark.parametrize(
    ("error", "reason", "seconds"),
    [
        (UnwritableError("the disk is full", "free some space"), "the disk is full", 1),
        (OSError(28, "No space left", "/x/a.json"), "/x/a.json: No space left", 30),
        (OSError(28, "No space left"), "toy failed: No space left", 30),
    ],
)
def test_a_command_that_the_disk_refuses_is_done_later(
    tmp_path: Path, error: Exception, reason: str, seconds: int
) -> None:
    """RELIABILITY 3: nobody is told that it is refused. It waits for the disk, and is done then."""
    refusals = [error]

    def run(task: Task) -> Done:
        if task.kind == "command" and refusals:
            raise refusals.pop()
        return Done()

    toy = Toy(outcome=run)
    bench = WorkBench(tmp_path, toy)
    with bench.store.write() as tx:
        insert_task(tx, NewTask("toy", "", "command", "c"), bench.clock.now())
    bench.advance()
    ((found, hint),) = bench.rows("SELECT reason, hint FROM task WHERE plugin = 'toy'")
    assert toy.kinds() == ["command"] and found == reason and "free" in hint
    bench.advance(seconds)
    assert toy.kinds() == ["command"] * 2 and bench.rows("SELECT 1 FROM task WHERE plugin = 'toy'") == []


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
def test_a_file_that_is_being_edited_parks_the_task(tmp_path: Path, at: str) -> None:
    """DESIGN "Files": the task waits until the editor's mark is gone; other lanes go on, and no failure of the prompts is counted."""
    change = FileChange(tmp_path / "x", None, lambda now, edits: {}, None)  # type: ignore[arg-type]
    toy = Toy(
        outcome=lambda task: Done(files=[change] if task.session == "s1" else []),
        rule=GatherRule(quiet=0.0),
    )
    bench = WorkBench(tmp_path / at, toy)
    steps = Steps(0, at)
    bench.runner.files = steps  # type: ignore[assignment]
    bench.tell("warm").advance()
    steps.busy, steps.swapped = 3, 0
    bench.tell("first").advance()
    assert toy.texts() == [["warm"], ["first"]] and steps.swapped == 0
    assert bench.rows("SELECT reason, hint, not_before - ? FROM task", bench.clock.now()) == [
        ("LEARNED.md is open in vim", "close it", 30.0)
    ]
    bench.tell("second", session="s2", cwd=bench.project("other")).advance()
    assert toy.texts()[2:] == [["second"]]
    for _ in range(3):
        bench.advance(31)
    assert steps.swapped == 1 and steps.busy == 0
    assert toy.texts().count(["first"]) == 1, "what it did is committed then, and not done again"
    assert set(bench.states().values()) == {"done"}
    assert bench.rows("SELECT max(tries) FROM prompt_task") == [(0,)]


def test_what_changes_rows_while_an_outcome_waits(tmp_path: Path) -> None:
    """DESIGN "Files": the task waits in its lane, so that no other task of it changes the rows that its outcome is about. A person's
    command goes first, and then the task is done again; so it is where it was asked for anew."""
    change = FileChange(tmp_path / "x", None, lambda now, edits: {}, None)  # type: ignore[arg-type]
    toy = Toy(outcome=lambda task: Done(files=[change] if task.key == "a" else []))
    bench = WorkBench(tmp_path, toy)
    steps = Steps(1, "read")
    bench.runner.files = steps  # type: ignore[assignment]

    def ask(*new: tuple[str, str]) -> list[str]:
        with bench.store.write() as tx:
            for kind, key in new:
                insert_task(tx, NewTask("toy", "/a", kind, key), bench.clock.now())
        bench.advance()
        return [one.key for one in toy.tasks]

    assert ask(("message", "a")) == ["a"]
    assert ask(("message", "b")) == ["a"]
    bench.advance(31)
    assert ask() == ["a", "b"] and steps.swapped == 1
    steps.busy = 1
    assert ask(("message", "a"), ("command", "c")) == ["a", "b", "c", "a"]
    assert ask(("command", "d")) == ["a", "b", "c", "a", "d"]
    bench.advance(31)
    assert ask() == ["a", "b", "c", "a", "d", "a"] and steps.swapped == 2
    steps.busy = 1
    ask(("message", "a"))
    assert ask(("message", "a")) == ["a", "b", "c", "a", "d", "a", "a", "a"] and steps.swapped == 3


class Paid:
    """A plugin that notes its runs. The first ones end at the same moment, when the disk is full."""

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
        text = task.prompts[0].text
        with self._lock:
            if self._disk.is_full:
                self.begun_while_full.append(text)
            self.runs[text] += 1
            is_first_run = self.runs[text] == 1
            self.running += 1
            self.most = max(self.most, self.running)
        if text.startswith("first") and is_first_run:
            self._all_there.wait()
        with self._lock:
            self.running -= 1
        if "later" in text and is_first_run:
            return Later("the network is down")
        return Done(notices=[Notice("learned", text)])


@pytest.mark.parametrize("first", ["first", "first, and later"])
def test_a_disk_that_is_full_for_a_while_under_all_workers(tmp_path: Path, disk: Disk, first: str) -> None:
    """RELIABILITY 3, 14: with the real pool, no worker waits for the disk, nothing begins that could not be committed, and after it all
    work is done, each outcome once; a stop then ends at once."""
    paid, woken = Paid(disk, WORKERS), threading.Event()
    bench = WorkBench(
        tmp_path,
        Toy(outcome=paid.run, rule=GatherRule(quiet=0.0)),
        on_step=disk.step,
        pool=ThreadPoolExecutor(THREADS, thread_name_prefix="task"),
        on_done=woken.set,
    )

    def run_until(is_reached: Callable[[], bool], seconds: float) -> None:
        give_up = time.monotonic() + PATIENCE
        while not is_reached():
            assert time.monotonic() < give_up, bench.rows("SELECT * FROM task")
            bench.engine.run_pass()
            woken.wait(0.01)
            woken.clear()
            bench.clock.advance(seconds)

    for number in range(6):
        kind = first if number < WORKERS else "next"
        bench.tell(f"{kind} {number}", session=f"s{number}", cwd=bench.project(f"p{number}"))
    run_until(lambda: disk.refused["task"] >= WORKERS and disk.refused["MainThread"] >= 3, 5.0)
    assert bench.runner.running == {} and paid.most == WORKERS
    assert bench.runner.refused is not None and find_store_refusal(bench.engine) is not None
    disk.is_full = False
    run_until(lambda: set(bench.states().values()) == {"done"} and not bench.runner.running, 30.0)
    assert paid.begun_while_full == []
    done = bench.rows("SELECT text FROM activity WHERE plugin = 'toy' AND did <> 'parked'")
    assert sorted(text for (text,) in done) == sorted(paid.runs), "each outcome is committed once"
    assert bench.runner.refused is None and bench.engine.problem is None
    assert list_engine_problems(bench.engine) == [] and bench.runner.stop(PATIENCE)


@pytest.mark.parametrize(
    "error",
    [FileRefusedError("/x/a.json is not JSON", "correct it"), PermissionError(13, "denied", "/x/a.json")],
)
def test_a_refused_file_is_a_problem_while_work_waits_for_it(tmp_path: Path, error: Exception) -> None:
    """The prompts are not blamed, however often it is tried; another task that succeeds does not end the problem."""
    refused = {"one"}

    def do(task: Task) -> Outcome:
        if refused & {one.text for one in task.prompts}:
            raise error
        return Done()

    bench = WorkBench(tmp_path, Toy(outcome=do))
    bench.tell("one").advance(700.0)
    for _ in range(5):
        bench.advance(4 * 3600.0)
    bench.tell("two", session="s2", cwd=bench.project("other")).advance(700.0)
    assert bench.states() == {"one": "waiting", "two": "done"}
    (problem,) = [one for one in bench.app.list_degradations() if one.id == "toy.files"]
    assert "/x/a.json" in problem.what and problem.hint and problem.what in bench.parked()
    refused.clear()
    bench.advance(8 * 3600.0)
    assert bench.states()["one"] == "done"
    assert not [one for one in bench.app.list_degradations() if one.id == "toy.files"]


def test_an_error_of_the_system_that_is_about_no_file_is_the_plugins(tmp_path: Path) -> None:
    """A timeout of a connection counts as the plugin's failure, and is logged."""

    def do(task: Task) -> Outcome:
        raise TimeoutError("no answer")

    bench = WorkBench(tmp_path, Toy(outcome=do))
    bench.tell("one").advance(700.0)
    assert bench.parked() == ["toy failed: TimeoutError: no answer"]
    assert not [one for one in bench.app.list_degradations() if one.id == "toy.files"]


def test_a_line_that_cannot_be_written_is_parked_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELIABILITY 3: there was room for the store and none for the file. `sync --write` ends with 75, `status` says so at once, and
    the next `sync` writes it."""
    full, write = [False], FileDisk.write

    def refuse(disk: FileDisk, fd: int, data: bytes) -> int:
        if full[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(disk, fd, data)

    monkeypatch.setattr(FileDisk, "write", refuse)
    with make_world(tmp_path, {"pnpm": "Use pnpm, not npm"}) as world:
        world.type("s1", "use pnpm, not npm")
        full[0] = True
        for words in (("sync", "--write"), ("sync",)):
            said = world.run(*words)
            assert said.code == 75 and "all handled" not in said.err
            path = world.path("LEARNED.md")
            assert f"a change of a file: {path} cannot be written: No space left on device" in said.err
            assert "free space" in said.err
        (row,) = [one for one in world.run("sync", "--json").json["parked"] if "LEARNED.md" in one["reason"]]
        assert (row["handler"], row["project"]) == ("learning", str(world.project))
        status = world.run("status", "--json").json
        problems = [one["what"] for one in status["degraded"] if one["id"] == "files.unfinished"]
        assert any(str(path) in one and "No space left on device" in one for one in problems)
        assert world.read("LEARNED.md") == ""
        full[0] = False
        assert world.run("sync").code == 0 and world.bullets("LEARNED.md") == ["Use pnpm, not npm"]
        assert [
            one for one in world.run("status", "--json").json["degraded"] if one["id"].startswith("f")
        ] == []


def test_an_appended_line_that_cannot_be_written_is_parked_too(tmp_path: Path) -> None:
    """The same for files that only grow, such as lessons.jsonl."""
    file = tmp_path / "log.jsonl"
    file.mkdir()
    bench = WorkBench(tmp_path, Toy(outcome=lambda task: Done(lines=[NewLine(file, "{}")])))
    bench.tell("first").leave()
    (row,) = bench.app.read_status()["parked"]
    assert str(file) in row["reason"] and row["hint"]
    assert [one.id for one in bench.app.list_degradations() if str(file) in one.what] == ["files.unfinished"]
    file.rmdir()
    bench.advance(61)
    assert file.read_text() == "{}\n" and bench.app.read_status()["parked"] == []
    assert not [one for one in bench.app.list_degradations() if str(file) in one.what]
