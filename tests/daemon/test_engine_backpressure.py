"""Reading waits for handlers that take what was read, so that nothing is evicted before they get it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_engine import Scene, Scripted, grew
from tacitd.dispatch import pool
from tacitd.dispatch.dispatcher import LONGEST_WAIT
from tacitd.handler import Gather, Later
from tacitd.sources.transcript import Tail

FILES = 40


class Reads:
    """How often each transcript was read."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.paths: list[Path] = []
        read = Tail.read_next_slice

        def count(tail: Tail, limit: int = 1 << 20) -> object:
            self.paths.append(tail.path)
            return read(tail, limit)

        patch.setattr(Tail, "read_next_slice", count)


def grow(scene: Scene) -> None:
    """Ten sessions in each of four projects, because the growth breaker counts those of a directory."""
    places = [scene.project(f"p{number}") for number in range(4)]
    for number in range(FILES):
        scene.type(f"s{number}", f"use pnpm {number} {'x' * 2000}", cwd=places[number % 4])


def work_off(scene: Scene) -> None:
    for _ in range(20 * FILES):
        scene.work()
        scene.engine.run_iteration()
    assert len(scene.handler.did) == FILES


def test_what_handlers_take_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty transcripts grew, of which ten fit into memory: each is read when there is room for it."""
    monkeypatch.setattr(pool, "KEPT", 10 * 3000)
    reads, scene = Reads(monkeypatch), Scene(tmp_path, Scripted(), Scripted(), held=True)
    grow(scene)
    scene.engine._poll_files(full=True)
    for _ in range(5):
        scene.engine.run_iteration()
        scene.work()
    assert pool.SLICES <= len(reads.paths) < 20
    work_off(scene)
    assert len(reads.paths) == FILES and len(scene.handlers[1].did) == FILES
    assert not scene.engine.pool.is_filling, "what both have handled is forgotten"


def test_a_handler_that_takes_nothing_delays_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may wait for the model for minutes. The engine sleeps until it returns or the moment is over, and reads on."""
    monkeypatch.setattr(pool, "KEPT", 10 * 3000)
    reads, scene = Reads(monkeypatch), Scene(tmp_path, Scripted(), held=True)
    grow(scene)
    scene.engine._poll_files(full=True)
    for _ in range(4):
        scene.engine.run_iteration()
        scene.work()
    scene.engine.run_iteration()
    before = len(reads.paths)
    scene.engine.run_iteration()
    assert len(reads.paths) == before and scene.engine._sleep_seconds() == LONGEST_WAIT
    scene.clock.advance(LONGEST_WAIT)
    assert scene.engine._sleep_seconds() == 0.0
    scene.engine.run_iteration()
    assert len(reads.paths) > before
    work_off(scene)


def test_a_delay_that_only_saves_writes_ends_when_memory_fills(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is gathered to save calls of the model stays gathered."""
    reads = Reads(monkeypatch)
    scene = Scene(
        tmp_path, Scripted(gather=Gather(delay=20.0)), Scripted(gather=Gather(quiet=600.0)), held=True
    )
    grow(scene)
    scene.engine._poll_files(full=True)
    for _ in range(2 * FILES):
        scene.work()
        scene.engine.run_iteration()
    assert not scene.handlers[0].did and not scene.handlers[1].did and len(reads.paths) == FILES
    monkeypatch.setattr(pool, "KEPT", 10 * 3000)
    grow(scene)
    scene.engine._poll_files(full=True)
    for _ in range(2 * FILES):
        scene.work()
        scene.engine.run_iteration()
    assert len(scene.handlers[0].did) > 0 and not scene.handlers[1].did


def test_a_delay_is_kept_while_memory_is_full_of_parked_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without budget the prompts of days stay in memory. Nothing is caught up then, so the other handlers' writes are saved."""
    monkeypatch.setattr(pool, "KEPT", 10 * 3000)
    scene = Scene(
        tmp_path,
        grew(lambda event: Later("no budget")),
        Scripted(gather=Gather(delay=20.0)),
        pays=[True, False],
    )
    grow(scene)
    scene.settle(30.0)
    assert scene.engine.pool.is_filling and len(scene.handlers[1].did) == FILES
    scene.type("live", "use uv")
    scene.settle(0.0)
    assert len(scene.handlers[1].did) == FILES
    scene.settle(20.0)
    assert len(scene.handlers[1].did) == FILES + 1
