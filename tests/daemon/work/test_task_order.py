"""Which task begins next: the order of lanes, the order in a lane, and what is behind many tasks that may not begin."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

from tacitd.contract import Done, Outcome, Priority, Task
from tacitd.files.shared_files import SharedFiles
from tacitd.store import Store
from tacitd.testing import FakeClock
from tacitd.work.task_rows import NewTask, Pauses, insert_task, list_ready
from tacitd.work.task_runner import WORKERS, Runnable, TaskRunner

NOW = 1_000_000.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store.open(tmp_path / "state", FakeClock(NOW), {})
    yield made
    made.close()


def add(
    store: Store, lane: str, key: str, kind: str = "message", due: float = 0.0, priority: Priority = "live"
) -> None:
    with store.write() as tx:
        insert_task(tx, NewTask("toy", lane, kind, key, None, key, priority=priority), NOW, NOW + due)


def keys(store: Store, most: int = 9, **more: object) -> list[str]:
    return [one.session for one in list_ready(store.rows, NOW, (), most=most, **more)]  # type: ignore[arg-type]


def test_live_lanes_go_first_then_those_that_wait_for_longest(store: Store) -> None:
    """DESIGN "The way of a prompt", 3: live work goes before that of `scan`, whenever it was queued."""
    add(store, "/a", "scan", due=-9, priority="scan")
    add(store, "/b", "young", due=-1)
    add(store, "/c", "old", due=-5)
    assert keys(store) == ["old", "young", "scan"] and keys(store, 1) == ["old"]


@pytest.mark.parametrize("plugin", ["a", "toy", "z"])
def test_the_lane_with_what_a_person_waits_for_goes_first(store: Store, plugin: str) -> None:
    """A decision does not wait until a worker is free of what everything else makes, and no message of its lane passes it."""
    for number in range(100):
        add(store, f"/{number}", f"made {number}", due=-9)
    add(store, "/asked", "later")
    with store.write() as tx:
        insert_task(tx, NewTask(plugin, "/asked", "decision", "asked", None, "asked"), NOW)
    assert keys(store, 1) == ["asked"] and keys(store, 2) == ["asked", "made 0"]


def test_in_a_lane_what_is_typed_goes_before_what_is_made_of_it(store: Store) -> None:
    """A synthesis comes after the prompts of its lane, and a person's decision before both, whatever is due for longest."""
    add(store, "/a", "synthesis", "message", due=-9)
    add(store, "/a", "typed", "prompts", due=-1)
    assert keys(store) == ["typed"]
    add(store, "/a", "decided", "decision")
    assert keys(store) == ["decided"]


def test_a_task_behind_hundreds_that_are_held_begins(store: Store) -> None:
    """A pause of one project holds no other, however much of it waits."""
    for number in range(300):
        add(store, "/paused", f"held {number}", due=-9)
    add(store, "/other", "free")
    assert keys(store, is_held=lambda task: task.lane == "/paused") == ["free"]


@pytest.mark.parametrize(
    ("busy", "single"), [((), ()), ((("toy", "/long"),), ()), ((("toy", ""),), ("toy",))]
)
def test_a_task_behind_hundreds_of_another_lane_begins(
    store: Store, busy: tuple[tuple[str, str], ...], single: tuple[str, ...]
) -> None:
    """Of a lane one task begins, however many wait there, and none if it is busy; a plugin may have one lane for all projects."""
    for number in range(300):
        add(store, "/long", f"long {number}", due=number - 900)
    add(store, "/other", "other")
    with store.write() as tx:
        insert_task(tx, NewTask("second", "/long", "message", "second", None, "second"), NOW)
    found = [one.session for one in list_ready(store.rows, NOW, busy, single, most=9)]
    assert found == ["long 0"] * (not busy) + ["other"] * (not single) + ["second"]


def test_a_task_that_is_asked_for_again_keeps_its_time_and_its_rank(store: Store) -> None:
    """What waits is due at the earlier time, and live if it was live before, whoever asks for it again."""
    add(store, "/a", "both", due=-9)
    add(store, "/a", "both", due=50, priority="scan")
    assert store.rows("SELECT due, priority FROM task") == [(NOW - 9, "live")]


class Workers(Executor):
    """They do nothing until the test lets them."""

    def __init__(self) -> None:
        self.works = list[Callable[[], object]]()

    def submit(self, work: Callable[..., Any], /, *about: Any, **more: Any) -> Future[Any]:
        self.works.append(lambda: work(*about, **more))
        return Future()

    def work(self) -> None:
        while self.works:
            self.works.pop(0)()


def test_between_two_passes_what_was_listed_begins_unless_it_is_held_or_done(store: Store) -> None:
    """DESIGN "The way of a prompt", 3: a person's pause counts at once, and what they decided goes first with the next pass."""
    done, held, workers = list[str](), set[str](), Workers()

    def run(task: Task) -> Outcome:
        done.append(task.key)
        return Done()

    clock = FakeClock(NOW)
    runner = TaskRunner(
        *(store, {"toy": Runnable(run)}, clock, SharedFiles(store, clock)),
        is_held=lambda task: task.lane in held,
        on_done=lambda: None,
        pauses=Pauses(),
        pool=workers,
    )
    for number in range(WORKERS + 4):
        add(store, f"/{number}", str(number), due=number - 99)
    runner.start_ready()
    workers.work()
    begun = [str(number) for number in range(WORKERS)]
    assert done == begun
    paused, dropped, *left = (str(WORKERS + number) for number in range(4))
    held.add(f"/{paused}")
    with store.write() as tx:
        tx.execute("DELETE FROM task WHERE key = ?", dropped)
    add(store, "/asked", "asked", "decision")
    runner.start_ready(anew=False)
    workers.work()
    assert done == begun + left
    held.clear()
    runner.start_ready()
    workers.work()
    assert done == [*begun, *left, "asked", paused]
