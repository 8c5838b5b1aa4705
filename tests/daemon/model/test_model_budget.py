"""What becomes of a call of the model: lost calls, stored answers, what was paid for, what it cost."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from support_budget import CALL, NOON, PLAIN, World, make_part
from support_calls import WIDE, spend
from support_faulty_disk import Crash
from tacitd.clock import local_date
from tacitd.contract import Part, Tx
from tacitd.errors import UnwritableError
from tacitd.model.budget import (
    NAMELESS,
    Budget,
    allow_again,
    list_running,
    mark_used,
    report_spending,
    sum_rows,
)
from tacitd.model.port import ModelRequest, NoAnswer, Why
from tacitd.store import Store
from tacitd.testing import DAY, FakeClock


def test_a_part_is_paid_for_at_most_twice(world: World) -> None:
    """DESIGN "The model": work whose calls were lost twice is rejected, also when its batch was split; other work is not."""
    world.begin(replace(CALL, about=(make_part("p1"), make_part("p2", number=2))))
    assert world.restart() == 1
    world.begin(CALL)
    assert world.restart() == 1
    refused = world.refuse(replace(CALL, about=(make_part("p3"), make_part("p1", number=2))))
    assert refused.why is Why.REPEATED and refused.repeated == ("p1",)
    world.begin(replace(CALL, about=(make_part("p2"),)))
    world.begin(replace(CALL, purpose="synthesis"))
    world.begin(replace(CALL, about=(make_part("p1", "another text"),)))


def test_what_calls_show_beside_their_prompts_is_not_counted(world: World) -> None:
    """RELIABILITY 16: lost calls, and one that goes on, refuse no other prompts whose calls show the same known lines."""
    shown = Part("work", 0, "known", "")
    for row in ("p1", "p2"):
        world.begin(replace(CALL, about=(make_part(row), shown)))
        world.restart()
    world.begin(replace(CALL, about=(make_part("p3"), shown)))
    number = world.begin(replace(CALL, about=(make_part("p4"), shown)))
    world.calls.end_call(number, "answered", answer="NONE")
    world.begin(replace(CALL, about=(make_part("p5"), shown)))
    for _ in range(2):
        world.begin(replace(CALL, about=(shown,), purpose="summary"))
        world.restart()
    assert world.refuse(replace(CALL, about=(shown,), purpose="summary")).repeated == ("known",)


def test_what_only_completes_a_call_goes_when_it_is_of_use(world: World) -> None:
    """It is no part of what `why` lists. An answer that waits for its task keeps it."""
    shown = Part("work", 0, "known", "")
    asked = [replace(CALL, about=(make_part(row), shown)) for row in ("p1", "p2", "p3")]
    _, waits, used = [world.begin(call) for call in asked]
    for number in (waits, used):
        world.calls.end_call(number, "answered", answer="NONE")
    world.restart()
    world.mark(used)
    kept = world.store.rows("SELECT call, kind, row FROM call_part ORDER BY call, kind")
    assert kept == [(1, "prompt", "p1"), (2, "prompt", "p2"), (2, "work", "known"), (3, "prompt", "p3")]
    assert world.calls.find_answer(CALL.plugin, CALL.purpose, asked[1].about) is not None


def test_a_person_can_allow_it_again(world: World) -> None:
    """`rescue retry`: what was lost before does not count any more; what it cost does."""
    for _ in range(2):
        world.begin(CALL)
        world.restart()
    spent = world.spending()
    with world.store.write() as tx:
        allow_again(tx, "prompt", ["p1"])
    assert world.spending() == spent
    world.begin(CALL)
    world.restart()
    number = world.begin(CALL)
    world.calls.end_call(number, "answered", answer="NONE")
    with world.store.write() as tx:
        allow_again(tx, "prompt", ["p1"])
    assert world.calls.find_answer(CALL.plugin, CALL.purpose, CALL.about) is not None, "its task takes it"


@pytest.mark.parametrize(
    ("become", "twice"),
    [
        (lambda w, n: w.calls.end_call(n, "stopped"), False),
        (lambda w, n: w.calls.end_call(n, "failed", usd=0.0, reason="overloaded"), False),
        (lambda w, n: w.calls.end_call(n, "failed", usd=0.02, reason="bad answer"), True),
        (lambda w, n: (w.calls.end_call(n, "answered", usd=0.02, answer="?"), w.mark(n, used=False)), True),
        (lambda w, n: w.calls.end_call(n, "answered", usd=0.02), True),
        (lambda w, n: (w.calls.end_call(n, "answered", usd=0.02, answer="?"), w.mark(n)), False),
    ],
    ids=["stopped", "not paid", "paid and failed", "of no use", "not committed", "used"],
)
def test_what_counts_as_paid_beside_a_lost_call(
    world: World, become: Callable[[World, int], object], twice: bool
) -> None:
    """Core part: a call that was cut by our own stop is no lost call, one that cost nothing was not paid for; a prompt of which one
    call was lost and one was paid for in vain is not paid for again. An answer that was of use ends the count."""
    lost = world.begin(CALL)
    assert world.restart() == 1
    become(world, world.begin(CALL))
    assert world.restart() == 0
    assert isinstance(world.calls.begin_call(CALL), NoAnswer) is twice
    assert world.store.rows("SELECT outcome, usd FROM call WHERE number=?", lost) == [("lost", 0.01)]


@pytest.mark.scenario
@pytest.mark.undated
def test_only_calls_of_ended_processes_are_lost(world: World) -> None:
    """At a start a command may be calling; a process id that was given to another one does not keep a call open for ever."""
    alive = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    numbers = [world.begin(replace(CALL, about=())) for _ in range(3)]
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    with world.store.write() as tx:
        for number, process in zip(numbers, (alive.pid, ended.pid, alive.pid), strict=True):
            tx.execute("UPDATE call SET process=? WHERE number=?", process, number)
        tx.execute("UPDATE call SET begun=begun-7200 WHERE number=?", numbers[2])
    mine = world.begin(replace(CALL, about=()))
    assert world.calls.mark_lost() == 2
    lost = world.store.rows("SELECT number FROM call WHERE outcome='lost' ORDER BY number")
    assert lost == [(number,) for number in numbers[1:]]
    world.calls.end_call(mine, "answered", usd=0.5, answer="NONE")
    assert world.store.rows("SELECT outcome FROM call WHERE number=?", mine) == [("answered",)]
    alive.communicate()


def test_an_answer_survives_a_crash_before_its_task(world: World) -> None:
    """DESIGN "The way of a prompt": a crash before a commit repeats the task, but not its model call. Once the task is committed the
    answer is gone, and other parts or other texts get none."""
    parts = [make_part("p1"), make_part("p2", "no", 2)]
    number = world.begin(replace(CALL, about=tuple(parts)))
    world.calls.end_call(
        number, "answered", usd=0.02, tokens_in=7, tokens_out=3, model="haiku", answer="NONE"
    )
    assert world.restart() == 0
    answer = world.calls.find_answer("learning", "extraction", parts)
    assert answer is not None
    assert (answer.text, answer.usd, answer.tokens_in, answer.model) == ("NONE", 0.02, 7, "haiku")
    assert answer.call == str(number)
    for plugin, purpose, other in (
        ("learning", "extraction", parts[:1]),
        ("learning", "extraction", [*parts, make_part("p3", "x", 3)]),
        ("learning", "extraction", [parts[0], parts[1]._replace(text="yes")]),
        ("learning", "extraction", [parts[0]._replace(number=2), parts[1]._replace(number=1)]),
        ("learning", "synthesis", parts),
        ("learner", "extraction", parts),
        ("learning", "extraction", []),
    ):
        assert world.calls.find_answer(plugin, purpose, other) is None
    world.mark(number)
    assert world.calls.find_answer("learning", "extraction", parts) is None
    assert world.store.rows("SELECT answer, used FROM call") == [(None, 1)]


def test_no_call_is_begun_that_cannot_be_stored(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """DESIGN "Faults": no paid call is begun while the store cannot be written; an end that cannot be stored is kept until it can."""
    number = world.begin(CALL)
    other = Store.open(world.state, world.clock, owner=False)
    with other.write():
        refused = world.refuse(CALL)
        assert refused.why is Why.BUDGET and "cannot be stored" in refused.detail
        world.calls.end_call(number, "answered", usd=0.5, answer="NONE")
    assert world.store.rows("SELECT outcome FROM call") == [(None,)]
    other.close()
    world.calls.save_ends()
    assert world.store.rows("SELECT outcome, answer FROM call") == [("answered", "NONE")]
    world.mark(number)
    world.begin(replace(CALL, purpose="another"))
    assert world.store.rows("SELECT answer FROM call") == [(None,), (None,)], "the end is stored once"


def test_a_task_with_a_call_crashes_at_each_step(tmp_path: Path) -> None:
    """DESIGN "The way of a prompt": wherever the process ends, the task is repeated until it is done once, and its call is made a
    second time only if its answer was not stored. Row and call agree: no call is made that no row counts."""
    most = counted = 0
    for at in range(1, 9):
        world, made = World(tmp_path / str(at)), 0
        steps = world.crash_at(at)
        while not world.store.rows("SELECT 1 FROM shown"):  # the task is there until its end is committed
            try:
                world.calls.mark_lost()
                answer = world.calls.find_answer("learning", "extraction", CALL.about)
                if answer is None:
                    number = world.begin(CALL)
                    made += 1
                    world.calls.end_call(number, "answered", usd=0.02, answer="use pnpm")
                    answer = world.calls.find_answer("learning", "extraction", CALL.about)
                assert answer is not None
                with world.store.write() as tx:
                    sql = "INSERT OR REPLACE INTO shown(session, name, digest, at) VALUES('s', 'fact', ?, 1)"
                    tx.execute(sql, answer.text)
                    mark_used(tx, [int(answer.call)])
            except Crash:
                world.restart()
        assert world.store.rows("SELECT digest FROM shown") == [("use pnpm",)]
        assert world.store.rows("SELECT count(*) FROM call WHERE used=1") == [(1,)]
        assert made <= world.spending().calls_total <= 2
        most, counted = max(most, made), len(steps.trail)
        world.store.close()
    assert most == 2 and counted == 8


def test_a_call_that_ended_is_told_once(world: World) -> None:
    """For a person who watches: what it was for, its cost, whether that is assumed, and why there was no answer."""
    for outcome, usd, reason in (("answered", 0.5, ""), ("failed", None, "timed out"), ("stopped", 0.0, "")):
        number = world.begin(replace(PLAIN, project="/home/ada/app"))
        assert [(one.purpose, one.project) for one in list_running(world.store.rows, NOON)] == [
            ("extraction", "/home/ada/app")
        ]
        world.calls.end_call(number, outcome, usd=usd, reason=reason, model="m")  # type: ignore[arg-type]
    assert list_running(world.store.rows, NOON) == []
    assert world.store.rows("SELECT did, text, place, about FROM activity ORDER BY number") == [
        ("asked", "extraction", "app", "$0.50, m"),
        ("asked", "extraction", "app", "~$0.50, m, no answer: timed out"),
        ("asked", "extraction", "app", "$0.00, m, no answer: stopped"),
    ]


def test_an_end_whose_commit_failed_and_is_durable_is_told_once(world: World) -> None:
    """design/core.md, section 0: a commit that raised may be durable, so every redo is by key. Two threads may store an end, too."""
    number, world.calls._store = world.begin(), StoreThatDoubts(world.store)  # type: ignore[assignment]
    world.calls.end_call(number, "answered", usd=0.5, model="m")
    world.calls.save_ends()
    assert world.store.rows("SELECT text, about FROM activity") == [("extraction", "$0.50, m")]
    assert world.store.rows("SELECT outcome, usd FROM call") == [("answered", 0.5)]


class StoreThatDoubts:
    """The store, whose first commit is reported as failed although it is durable, as after an error of fsync."""

    def __init__(self, store: Store) -> None:
        self._store, self._doubts = store, True

    @contextmanager
    def write(self) -> Iterator[Tx]:
        with self._store.write() as tx:
            yield tx
        if self._doubts:
            self._doubts = False
            raise UnwritableError("disk I/O error")


def test_the_sessions_of_calls_are_known(world: World) -> None:
    """SPEC S-61: a session of a call is never read, also one of another process or of a call that failed."""
    assert world.calls.list_sessions() == set()
    world.calls.end_call(world.begin(), "failed", session="s1")
    world.begin()
    world.restart()
    world.calls.end_call(world.begin(), "answered", session="s2")
    assert world.calls.list_sessions() == {"s1", "s2"}


def test_each_grouping_of_real_rows(tmp_path: Path) -> None:
    """Written by the budget itself: three calls on two days, one without an answer, one of them in flight."""
    clock = FakeClock()
    store = Store.open(tmp_path / "state", clock)
    budget = Budget(store, WIDE, clock)
    spend(budget, "extraction", 0.01, project="/home/ada/app", model="haiku")
    spend(budget, "synthesis", 0.05, project="/home/ada/app", why="timed out")
    clock.advance(2 * DAY)
    spend(budget, "extraction", None, project="/home/ada/other", model="haiku")
    budget.begin_call(ModelRequest("?", "accurate", purpose="session"))
    first, second = local_date(clock.now() - 2 * DAY), local_date(clock.now())
    days = report_spending(store.rows, "day")
    assert [(row.name, row.calls, row.unanswered) for row in days] == [(first, 2, 1), (second, 2, 1)]
    assert [(row.name, round(row.usd, 2)) for row in report_spending(store.rows, "project")] == [
        (NAMELESS, 0.25),
        ("/home/ada/app", 0.06),
        ("/home/ada/other", 0.01),
    ]
    models = {row.name: row.calls for row in report_spending(store.rows, "model")}
    assert models == {"haiku": 2, "(fast tier)": 1, "(accurate tier)": 1}
    late = report_spending(store.rows, "day", clock.now() - DAY)
    assert [row.name for row in late] == [second] and round(late[0].assumed_usd, 2) == 0.26
    (only,) = report_spending(store.rows, "purpose", root="/home/ada/other")
    assert (only.name, only.calls) == ("extraction", 1)
    total = sum_rows(days)
    assert (total.calls, total.tokens_in, total.tokens_out) == (4, 300, 30)
    numbers = {
        "calls": 2,
        "unanswered": 1,
        "usd": 0.06,
        "assumed_usd": 0.0,
        "tokens_in": 200,
        "tokens_out": 20,
    }
    assert days[0].as_data() == {"name": first, **numbers}
    store.close()
