"""RELIABILITY 1 and 2 for the learning plugin: the process ends before each change of the disk, one after the other.

Afterwards a new handler has only what was written. In the end every fact is in LEARNED.md exactly once, nothing is
claimed, nothing waits, and the model was asked at most once more.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support_learning import EXTRACTION, PNPM, SHORT, SYNTHESIS, Bench, lines
from tacitd.files.disk import RealDisk

pytestmark = pytest.mark.undated


TABS = "Prefers tabs"


class Crash(BaseException):
    """The process ended here."""


@contextmanager
def crash_at(number: int) -> Iterator[list[str]]:
    """Counts the changes of the disk. Before the change with this number the process ends, and nothing changes after it."""
    trail: list[str] = []

    def counted(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            trail.append(name)
            if len(trail) >= number:
                raise Crash(f"{number}: {name}")
            return real(*args, **options)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in ("write", "rename", "replace", "unlink", "link", "mkdir"):
            patch.setattr(os, name, counted(name, getattr(os, name)))
        for name in ("exchange", "place"):  # these do not use `os`
            patch.setattr(RealDisk, name, counted(name, getattr(RealDisk, name)))
        yield trail


def again(bench: Bench) -> None:
    """Do what the engine does at a start: offer events without a commit again, then run the recovery of orphans."""
    bench.restart()
    bench.end()
    bench.due("recover")
    bench.play_posted()


def calm(bench: Bench, *bullets: str) -> None:
    """Nothing waits, no file is left over, and each line is there once."""
    assert sorted(bench.bullets) == sorted(bullets)
    assert not bench.files.raw_file.exists() and not bench.claimed and not bench.degraded
    assert bench.status["facts_waiting"] == {} and not bench.history.pending
    hidden = bench.excluded()
    assert sorted(hidden) == sorted(set(hidden)) and "/LEARNED.md" in hidden
    assert all(f"- {line}" in bench.files.summary_file.read_text() for line in bullets)
    litter = [p.name for p in bench.root.rglob(".tacitd-*")]
    before = {p: p.read_bytes() for p in bench.root.rglob("*") if p.is_file() and p.name not in litter}
    again(bench)
    assert {p: p.read_bytes() for p in before} == before


def moments() -> Iterator[int]:
    yield from range(1, 200)


def test_a_crash_before_every_change_of_a_synthesis(tmp_path: Path) -> None:
    """SPEC S-31, S-32: with facts of ours and of another tool."""
    for number in moments():
        bench = Bench(tmp_path / str(number), (SYNTHESIS, lines(PNPM, TABS)), (EXTRACTION, PNPM))
        bench.type("use pnpm, not npm")
        with bench.files.raw_file.open("a") as file:
            file.write(f'{{"facts": ["{TABS}"]}}\n')
        trail: Sequence[str] = ()
        try:
            with crash_at(number) as trail:
                bench.end()
        except Crash:
            again(bench)
        calm(bench, PNPM, TABS)
        assert len(bench.asked(SYNTHESIS)) <= 2
        assert bench.status["total"]["lines"] == 2
        if len(trail) < number:
            assert number > 20, trail
            return
    raise AssertionError("the synthesis never ended")


def test_a_crash_before_every_change_of_an_extraction(tmp_path: Path) -> None:
    """DESIGN "Data flow", 4: facts and position are one record, and the raw file is written from it."""
    for number in moments():
        bench = Bench(tmp_path / str(number))
        event = bench.grew(bench.record("use pnpm, not npm"))
        trail: Sequence[str] = ()
        try:
            with crash_at(number) as trail:
                bench.play(event)
        except Crash:
            bench.restart()
            if not list(bench.commits()):
                bench.play(event)
        assert [line.facts for line in bench.raw] == [(PNPM,)]
        assert len(bench.asked(EXTRACTION)) <= 2
        bench.end()
        calm(bench, PNPM)
        if len(trail) < number:
            return
    raise AssertionError("the extraction never ended")


def test_a_crash_during_a_synthesis_that_writes_nothing(tmp_path: Path) -> None:
    """SPEC S-29: the answer was NONE; the facts count as handled."""
    for number in moments():
        bench = Bench(tmp_path / str(number), (SYNTHESIS, "NONE"), (EXTRACTION, SHORT))
        bench.type("short answers, for now")
        trail: Sequence[str] = ()
        try:
            with crash_at(number) as trail:
                bench.end()
        except Crash:
            again(bench)
        assert bench.status["facts_waiting"] == {} and not bench.files.raw_file.exists() and not bench.claimed
        assert len(bench.asked(SYNTHESIS)) <= 2 and not bench.files.learned_file.exists()
        if len(trail) < number:
            return
    raise AssertionError("the synthesis never ended")
