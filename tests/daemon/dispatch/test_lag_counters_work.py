"""The counts of work items by handler."""

from __future__ import annotations

from pathlib import Path

from support_engine import Scene, Scripted, gathered
from tacitd.dispatch.lag_counters import WorkCounts, count_work
from tacitd.events import TranscriptGrew
from tacitd.handler import Done, Later


def test_each_handler_has_its_own_counts(tmp_path: Path) -> None:
    """One gathers two prompts, one is parked with both, one has handled everything."""
    parked = Scripted(lambda event: Later("no") if isinstance(event, TranscriptGrew) else Done())
    scene = Scene(tmp_path, gathered(), parked, Scripted())
    scene.type("s", "one")
    scene.type("s", "two")
    scene.settle()
    items = scene.engine.dispatcher.work_queue.items_by_transcript.values()
    found = count_work(
        items, lambda path, offset: len(scene.engine.pool.peek_prompts(path, offset)), scene.clock.monotonic()
    )
    goes_out = found["a"].gather_until
    assert goes_out is not None and goes_out > scene.clock.monotonic()
    assert found == {
        "a": WorkCounts(gathering=1, waiting=2, gather_until=goes_out),
        "b": WorkCounts(parked=1, waiting=2),
        "c": WorkCounts(),
    }
