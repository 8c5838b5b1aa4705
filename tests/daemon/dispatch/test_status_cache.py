"""What handlers report of themselves: asked in threads of their own, kept, renewed when something became of their work."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from support_engine import Inline, Scene, Scripted
from support_waiting import PATIENCE, until
from tacitd.dispatch.status_cache import INTERVAL, StatusCache
from tacitd.dispatch.workers import ThreadPool, WorkerPool
from tacitd.events import Event
from tacitd.handler import Done, Later, Plugin
from tacitd.methods import STATUS_PATIENCE, build_methods


def _cache(scene: Scene) -> StatusCache:
    return scene.engine.dispatcher.outcomes.statuses


def _status_threads(name: str, count: int) -> WorkerPool:
    """Real threads for the status; the other work is done in the test's thread."""
    return ThreadPool(name, count) if name.startswith("status-") else Inline()


def _counting(calls: list[str]) -> Scripted:
    """A handler whose status is how often it was asked, and which notes the thread that asks."""

    def status() -> Mapping[str, Any]:
        calls.append(threading.current_thread().name)
        return {"calls": len(calls)}

    return Scripted(says=status)


def test_it_is_never_asked_in_the_engines_thread(tmp_path: Path) -> None:
    """DESIGN "Plugins": a slow `status` delays no event and no answer; the last part is given with its time."""
    calls: list[str] = []
    scene = Scene(tmp_path, _counting(calls), workers_for=_status_threads)
    calls.clear()
    loop = threading.Thread(target=scene.app.run, name="engine")
    loop.start()
    try:
        table = build_methods(scene.app)
        scene.type("s", "one")
        assert table["sync"]({})["done"]
        assert table["status"]({})["slices"]["a"]["calls"] >= 1
    finally:
        scene.app.request_stop()
        loop.join(PATIENCE)
        scene.app.close()
    assert set(calls) == {"tacitd-status-a"}


def test_a_stuck_status_keeps_the_last_one(tmp_path: Path) -> None:
    """The caller waits a moment and gets what was reported before; other handlers are up to date."""
    number, go_on = [1], threading.Event()
    go_on.set()

    def status() -> Mapping[str, Any]:
        found = number[0]
        go_on.wait(PATIENCE)
        return {"n": found}

    calls: list[str] = []
    scene = Scene(tmp_path, Scripted(says=status), _counting(calls), workers_for=_status_threads)
    cache = _cache(scene)
    assert cache.get_part("a").part == {"n": 1}
    number[0], before = 2, len(calls)
    go_on.clear()
    cache.renew_all()
    cache.refresh(0.2)
    assert cache.get_part("a").part == {"n": 1}
    assert cache.get_part("a").fault is None  # nobody waited for long yet
    go_on.set()
    assert cache.refresh(PATIENCE) == []
    assert cache.get_part("a").part == {"n": 2} and cache.get_part("b").part["calls"] > before
    scene.app.close()


def test_it_is_renewed_after_each_outcome_and_each_minute(tmp_path: Path) -> None:
    """A commit, a parked item and a released one; within a second of the last time only when somebody asks."""
    calls: list[str] = []
    answers: list[Any] = [Done(), Later("no model"), Done()]
    scene = Scene(tmp_path, _counting(calls))

    def answer(event: Event) -> Any:
        return answers.pop(0) if hasattr(event, "records") else Done()

    scene.handler.answer = answer
    cache, engine = _cache(scene), scene.engine
    for words in ("one", "two"):
        scene.type("s", words)
        scene.clock.advance(INTERVAL)
        before = len(calls)
        engine._poll_files(full=True)
        for _ in range(5):
            engine.run_iteration()
        assert len(calls) == before + 1, words
    before = len(calls)
    assert scene.sync().done() and answers == []  # the parked item was tried again
    assert len(calls) > before
    cache.note_outcome("a")
    before = len(calls)
    cache.note_outcome("a")
    assert len(calls) == before
    cache.refresh()
    assert len(calls) == before + 1
    scene.clock.advance(61)
    engine.run_iteration()
    assert len(calls) == before + 2


def test_a_caller_gets_what_no_outcome_announced(tmp_path: Path) -> None:
    """A person repaired the rights of a file: the next `status` says so, without an outcome in between."""
    told = ["cannot be written"]
    scene = Scene(tmp_path, Scripted(says=lambda: {"file": told[0]}))
    told[0] = "can be written"
    assert _cache(scene).refresh() == []
    assert _cache(scene).get_part("a").part == {"file": "can be written"}


def test_only_the_first_caller_waits_for_a_status_that_hangs(tmp_path: Path) -> None:
    """Later callers get the old part at once, with a degradation, until it returns."""
    go_on = threading.Event()

    def status() -> Mapping[str, Any]:
        go_on.wait(PATIENCE)
        return {"n": 1}

    scene = Scene(tmp_path, Scripted(says=status), _counting([]), workers_for=_status_threads)
    cache = _cache(scene)
    cache.patience = 0.2
    assert cache.refresh() == ["a"]
    cache.patience = PATIENCE
    begin = time.monotonic()
    for _ in range(5):
        assert cache.refresh() == ["a"]
    assert time.monotonic() - begin < PATIENCE
    fault = cache.get_part("a").fault
    assert fault is not None and fault.id == "handler.status" and "does not answer" in fault.what
    assert cache.get_part("b").fault is None and cache.get_part("b").part["calls"] >= 6
    go_on.set()
    until(lambda: cache.get_part("a").fault is None)
    assert cache.refresh(PATIENCE) == [] and cache.get_part("a").part == {"n": 1}
    scene.app.close()


def test_a_renewal_of_the_minute_that_hangs_is_late_too(tmp_path: Path) -> None:
    """No caller waited for it, but the clock says since when the handler has been asked."""
    go_on, asked = threading.Event(), threading.Event()

    def status() -> Mapping[str, Any]:
        asked.set()
        go_on.wait(PATIENCE)
        return {}

    scene = Scene(tmp_path, Scripted(says=status), workers_for=_status_threads)
    cache = _cache(scene)
    cache.renew_all()
    assert asked.wait(PATIENCE) and cache.get_part("a").fault is None
    for more in (cache.patience, 60.0):  # late, and still late
        scene.clock.advance(more)
        fault = cache.get_part("a").fault
        assert fault is not None and fault.id == "handler.status"
    go_on.set()
    scene.app.close()


@pytest.mark.parametrize("reported", [{"waits": [{"project": "/w", "what": "1 fact"}]}, {"n": 1}])
def test_sync_does_not_wait_for_a_status_that_hangs(tmp_path: Path, reported: Mapping[str, Any]) -> None:
    """`sync --write` chooses by the parts what to write: an old one that named something makes the answer "not done",
    one that names nothing changes no answer. Neither is waited for again and again."""
    go_on = threading.Event()
    go_on.set()

    def status() -> Mapping[str, Any]:
        go_on.wait(PATIENCE)
        return reported

    scene = Scene(tmp_path, Scripted(says=status), workers_for=_status_threads)
    loop = threading.Thread(target=scene.app.run, name="engine")
    loop.start()
    try:
        sync = build_methods(scene.app)["sync"]
        assert sync({"timeout": 5})["done"]
        go_on.clear()
        named, _cache(scene).patience = "waits" in reported, 0.2
        assert sync({"timeout": 0.1})["done"] != named
        begin = time.monotonic()
        for _ in range(5):
            assert sync({})["done"] != named
        assert time.monotonic() - begin < STATUS_PATIENCE  # the first one waits so long
        degraded = sync({})["degraded"]
        assert [one["id"] for one in degraded if one["id"].startswith("handler")] == ["handler.status"]
        go_on.set()
        until(lambda: _cache(scene).get_part("a").fault is None)
        assert sync({})["done"]
    finally:
        go_on.set()
        scene.app.request_stop()
        loop.join(PATIENCE)
        scene.app.close()


def test_the_lines_for_a_person_come_from_the_hook(tmp_path: Path) -> None:
    """`status_lines` gets the part and becomes its `says`; a broken one is a degradation, and the part is empty."""
    scene = Scene(tmp_path, Scripted(says=lambda: {"n": 2}))
    consumer = scene.engine.consumers["a"]
    for hook, expected in (
        (f"{__name__}:lines_of", {"n": 2, "says": ["2 things"]}),
        (f"{__name__}:nothing", {}),
    ):
        consumer.plugin = Plugin("a", Scripted, status_lines=hook)
        _cache(scene).renew_all()
        found = _cache(scene).get_part("a")
        assert found.part == expected and (found.fault is None) == bool(expected)
        assert found.as_of == scene.clock.now()


def lines_of(part: Mapping[str, Any]) -> list[str]:
    """A hook of the test above."""
    return [f"{part['n']} things"]


def test_threads_that_cannot_be_made_are_tried_again(tmp_path: Path) -> None:
    """A full process table fails no event: the next minute tries again."""
    scene = Scene(tmp_path)

    class Full(Inline):
        def submit(self, work: Any) -> None:
            raise RuntimeError("can't start new thread")

    cache = StatusCache(
        scene.engine.consumers, scene.clock.now, scene.clock.monotonic, lambda name, count: Full()
    )
    cache.note_outcome("a")
    cache.refresh(0.1)
    assert cache.get_part("a").as_of is None
    cache._renewals["a"].pool = Inline()
    cache.renew_all()
    assert cache.get_part("a").as_of == scene.clock.now()
