"""What `sync` waits for, and what it does not wait for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support_engine import Scene, Scripted, busy, gathered
from tacitd.events import Due, Event
from tacitd.handler import Done, Job


def test_sync_does_not_wait_for_an_editor_that_a_job_met(tmp_path: Path) -> None:
    """DESIGN "Control": `sync` answers when everything is handled, parked, or waits for an editor."""

    def answer(event: Event) -> Any:
        return busy(30.0) if isinstance(event, Due) else Done()

    scene = Scene(tmp_path, Scripted(answer), jobs=[Job("j", 1e9)])
    scene.dispatcher.post_event(Due("j"))
    scene.settle(0)
    future = scene.sync()
    assert future.done() and future.exception() is None
    assert scene.parked() == [] and scene.dispatcher.work_queue.items_by_event


def test_sync_waits_for_a_job_that_runs(tmp_path: Path) -> None:
    """A busy handler may still commit something."""
    scene = Scene(tmp_path, held=True)
    scene.dispatcher.post_event(Due("j"))
    scene.settle(0)
    future = scene.sync()
    assert not future.done()
    scene.work(9)
    scene.settle(0)
    assert future.done()


def test_what_is_appended_after_the_call_is_not_waited_for(tmp_path: Path) -> None:
    """DESIGN "Control": `sync` is about the bytes that existed at the call; later prompts are gathered as ever."""
    scene = Scene(tmp_path, gathered())
    scene.type("s", "one")
    size = scene.path("s").stat().st_size
    scene.settle()
    assert scene.sync().done()
    scene.type("s", "two")
    scene.settle()
    waiter = scene.engine.sync_waiters.add_waiter({scene.path("s"): size})
    scene.settle(0)
    assert waiter.future.done() and scene.handler.words == [["one"]]
