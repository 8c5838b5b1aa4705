"""Faults of plugins, file systems and the process: what is lost is nothing, and what stops is only what must."""

from __future__ import annotations

import sqlite3
from asyncio import CancelledError
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from support_work import OPEN, Toy, WorkBench
from tacitd.contract import Batch, Done, Outcome, Task, Tx
from tacitd.errors import FileBusyError
from tacitd.work import reader
from tacitd.work.task_rows import NewTask, insert_task


class Crash(BaseException):
    """The process ended here."""


def count_into(table: str) -> Callable[[Batch, Tx], None]:
    """An observer that stores what it got."""

    def observe(batch: Batch, tx: Tx) -> None:
        tx.execute(f"CREATE TABLE IF NOT EXISTS {table}(start INTEGER, text TEXT, PRIMARY KEY(start, text))")
        for record in batch.records:
            text = record.text or "; ".join(one.text for one in record.prompts)
            tx.execute(f"INSERT INTO {table} VALUES(?, ?)", record.start, text)

    return observe


ERRORS: list[BaseException] = [
    RuntimeError("no"),
    KeyError("x"),
    sqlite3.OperationalError("no such table: toy"),
    sqlite3.IntegrityError("UNIQUE constraint failed"),
    sqlite3.DatabaseError("file is not a database"),
    sqlite3.ProgrammingError("Cannot operate on a closed database"),
    sqlite3.InterfaceError("bad parameter"),
    OSError(5, "Input/output error"),
    MemoryError(),
    RecursionError("maximum recursion depth exceeded"),
    SystemExit(3),
    FileBusyError("x", seconds=1.0),
]


@pytest.mark.parametrize("error", ERRORS, ids=[type(one).__name__ for one in ERRORS])
def test_an_observer_that_raises_stops_no_other_and_gets_its_records_again(
    tmp_path: Path, error: BaseException
) -> None:
    """DESIGN "The way of a prompt": `behind`. The others go on, the fault is named, and nothing is folded twice or lost."""
    broken = True
    inner = count_into("toy_records")

    def observe(batch: Batch, tx: Tx) -> None:
        inner(batch, tx)
        if broken:
            raise error

    toy, other = Toy("toy", observe=observe), Toy("other", observe=count_into("other_records"))
    bench = WorkBench(tmp_path, toy, other)
    bench.say("I run npm.").tell("use pnpm").advance().tell("use ruff").advance()
    assert [text for (text,) in bench.rows("SELECT text FROM other_records ORDER BY start")] == [
        "I run npm.",
        "use pnpm",
        "use ruff",
    ]
    ((plugin, reason),) = bench.rows("SELECT plugin, reason FROM behind")
    assert plugin == "toy" and reason.startswith(type(error).__name__)
    told = "the plugin toy failed with records of 1 transcript"
    assert [one.id for one in bench.app.list_degradations() if told in one.what] == ["handler.behind"]
    broken = False
    bench.crash()
    for _ in range(4):
        bench.advance(120)
    assert bench.rows("SELECT start, text FROM toy_records ORDER BY start") == bench.rows(
        "SELECT start, text FROM other_records ORDER BY start"
    )
    assert bench.rows("SELECT * FROM behind") == []
    bench.leave()
    assert toy.texts() == other.texts() == [["use pnpm", "use ruff"]]


def test_an_observer_that_is_behind_in_a_transcript_that_was_rewritten_shorter_gets_all_of_it(
    tmp_path: Path,
) -> None:
    """What it could not fold stood behind the new end, so that the records before it were never given."""
    broken, got = False, list[str]()

    def observe(batch: Batch, tx: Tx) -> None:
        if broken:
            raise RuntimeError("no")
        got.extend(one.text for one in batch.prompts)

    bench = WorkBench(tmp_path, Toy("toy", observe=observe))
    bench.tell("use pnpm, and never npm", "use ruff").advance()
    broken = True
    bench.tell("use uv").advance()
    bench.path("s1").write_bytes(b"")
    bench.tell("short").advance()
    broken = False
    for _ in range(4):
        bench.advance(600)
    assert got == ["use pnpm, and never npm", "use ruff", "short"]
    assert bench.rows("SELECT * FROM behind") == []


@pytest.mark.parametrize("part", [1, 1 << 20])
def test_an_observer_that_raised_in_a_pause_gets_its_records_as_those_of_a_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    """Pause is privacy, also where records are given again after it: neither the words nor what the assistant made of them, and in
    whatever parts they are given."""
    monkeypatch.setattr(reader, "BEHIND_PART", part)
    broken, got = True, list[tuple[str, str, str]]()

    def observe(batch: Batch, tx: Tx) -> None:
        if broken:
            raise RuntimeError("no")
        for record in batch.records:
            words = record.text or record.prompts[0].text
            got.append((batch.passed, words, record.prompts[0].context if record.prompts else ""))

    bench = WorkBench(tmp_path, Toy("toy", observe=observe))
    bench.say("well").tell("use pnpm").advance()
    with bench.store.write() as tx:
        tx.execute("INSERT INTO choice VALUES('all', '', 'pause', '', ?)", bench.clock.now())
    bench.tell("hidden").say("you said hidden").advance()
    with bench.store.write() as tx:
        tx.execute("INSERT INTO pause_span SELECT scope, name, at, ? FROM choice", bench.clock.now())
        tx.execute("DELETE FROM choice")
    bench.say("so hidden it is").tell("use ruff").advance()
    broken = False
    for _ in range(12):
        bench.advance(61)
    assert got == [
        ("", "well", ""),
        ("", "use pnpm", "well"),
        ("paused", "hidden", "well"),
        ("paused", "you said hidden", ""),
        ("paused", "so hidden it is", ""),
        ("", "use ruff", ""),
    ]


def test_a_plugin_whose_task_raises_stops_no_other(tmp_path: Path) -> None:
    """P-31: one broken plugin stops no other, and what it could not do is kept as rejected with the reason."""

    def fail(task: object) -> Done:
        raise ValueError("broken")

    toy, other = Toy("toy", outcome=fail), Toy("other")
    bench = WorkBench(tmp_path, toy, other)
    bench.tell("use pnpm").leave()
    for _ in range(5):
        bench.advance(60)
    assert other.texts() == [["use pnpm"]]
    assert bench.rows("SELECT plugin, state, reason FROM prompt_task ORDER BY plugin") == [
        ("other", "done", ""),
        ("toy", "rejected", "toy failed: ValueError: broken"),
    ]


def _story(bench: WorkBench) -> None:
    bench.say("I run npm.").tell("use pnpm", "use ruff").advance()
    bench.tell("keep it short", session="s2").leave()
    bench.tell("use uv", session="s2").leave()


def test_a_crash_at_any_durable_step_loses_and_repeats_nothing(tmp_path: Path) -> None:
    """RELIABILITY 2: before and after each commit the process ends; every prompt takes effect exactly once, in order."""
    steps = 0

    def count(step: str) -> None:
        nonlocal steps
        steps += 1

    facts = count_into("toy_records")
    _story(WorkBench(tmp_path / "whole", Toy(observe=facts), on_step=count))
    assert steps > 20
    wanted = ["use pnpm", "use ruff", "keep it short", "use uv"]
    for at in range(1, steps + 1):
        left = at

        def crash(step: str) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise Crash(step)

        def apply_of(task: object) -> Done:
            texts = [one.text for one in task.prompts]  # type: ignore[attr-defined]

            def apply(tx: Tx) -> None:
                tx.execute("CREATE TABLE IF NOT EXISTS toy_fact(text TEXT)")
                tx.executemany("INSERT INTO toy_fact VALUES(?)", [(text,) for text in texts])

            return Done(apply)

        toy = Toy(observe=facts, outcome=apply_of)
        where = tmp_path / str(at)
        try:
            bench = WorkBench(where, toy, on_step=crash)
            _story(bench)
        except Crash:
            OPEN.pop().kill()
            bench = WorkBench(where, toy)
            bench.serial = 1000
            bench.leave()
            written = "".join(path.read_text() for path in bench.folder.glob("*.jsonl"))
            missing = [text for text in wanted if f'"content": "{text}"' not in written]
            for text in missing:
                bench.tell(text, session="s2" if text in wanted[2:] else "s1")
            bench.leave()
        found = [text for (text,) in bench.rows("SELECT text FROM toy_fact")]
        assert sorted(found) == sorted(wanted), f"step {at}"
        assert bench.rows("PRAGMA integrity_check") == [("ok",)]
        OPEN.pop().kill()


def test_a_task_that_was_due_stays_due_when_the_clock_is_set_back(tmp_path: Path) -> None:
    """RELIABILITY 12: a caller of `sync` waits for it too."""
    toy = Toy()
    bench = WorkBench(tmp_path, toy)
    bench.advance(10)
    with bench.store.write() as tx:
        insert_task(tx, NewTask("toy", "", "message", "m"), bench.clock.now())
    bench.clock.wall -= 7200
    bench.advance(0.5)
    assert toy.kinds() == ["message"]


@pytest.mark.parametrize("error", [CancelledError, Crash])
def test_a_task_that_raises_what_is_no_error_is_not_run_in_a_loop(
    tmp_path: Path, error: type[BaseException]
) -> None:
    """DESIGN "Work": such as a cancelled coroutine's, or a panic in Rust. It is logged, and begun again after a pause."""
    runs = list[int]()

    def run(task: Task) -> Outcome:
        runs.append(task.number)
        raise error

    bench = WorkBench(tmp_path, Toy(outcome=run))
    bench.tell("use pnpm")
    for seconds in (700, 1, 1, 61):
        with suppress(Crash):
            bench.advance(seconds)
    assert runs.count(runs[0]) == 2
