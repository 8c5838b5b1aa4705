"""What costs no reading: a handler that reads no records, and a transcript that was handled and evicted."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_engine import Scene, Scripted
from tacitd.dispatch import pool
from tacitd.events import SessionEnded, SessionStarted, TranscriptGrew
from tacitd.sources.transcript import Tail


def test_a_handler_that_reads_no_records_gets_none(tmp_path: Path) -> None:
    """Its position moves all the same, so that it never lags and never waits; the other handler gets everything."""
    reader, other = Scripted(), Scripted(reads_records=False)
    scene = Scene(tmp_path, reader, other)
    for number in range(3):
        scene.type("s1", f"use pnpm {number}")
        scene.settle()
    scene.settle(1e5)  # the session ends
    assert [type(event) for event in other.events] == [SessionStarted]
    assert len(reader.words) == 3 and any(isinstance(event, SessionEnded) for event in reader.events)
    assert [scene.engine.lag.get_lag(name) for name in "ab"] == [(0, 0), (0, 0)]
    offsets = {consumer.list_positions()[0][2] for consumer in scene.engine.consumers.values()}
    assert len(offsets) == 1


def test_a_handled_transcript_that_was_evicted_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each handler examines it once more after it handled it. While thousands are caught up, reading it for that would cost as
    much as all other work."""
    monkeypatch.setattr(pool, "KEPT", 1)
    scene = Scene(tmp_path, Scripted(), Scripted(), Scripted(reads_records=False))
    opened: list[Path] = []
    read = Tail.read_next_slice

    def count(tail: Tail, limit: int = 1 << 20) -> object:
        opened.append(tail.path)
        return read(tail, limit)

    monkeypatch.setattr(Tail, "read_next_slice", count)
    for session in ("s1", "s2", "s3"):
        scene.type(session, f"use pnpm in {session}")
    scene.settle()
    assert [sorted(handler.did) for handler in scene.handlers[:2]] == [sorted(scene.handlers[0].did)] * 2
    assert len(scene.handlers[0].did) == 3
    before = len(opened)
    for _ in range(3):
        scene.settle()
    assert len(opened) == before
    assert before <= 3 * 3, "once when it grew, and at most once for each handler that reads"
    events = [event for event in scene.handlers[2].events if isinstance(event, TranscriptGrew)]
    assert not events
