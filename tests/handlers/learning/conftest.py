"""A bench for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_learning import EXTRACTION, PNPM, SYNTHESIS, Bench, lines


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A git work tree, and a model that says "use pnpm"."""
    return Bench(tmp_path)


@pytest.fixture
def told(bench: Bench) -> Bench:
    """One session corrected the assistant, and a line was made of it."""
    bench.answer((EXTRACTION, f"[1] Corrected: {PNPM}"), (SYNTHESIS, lines(PNPM) + "\nFROM: 1"))
    bench.learn("no, use pnpm, not npm", session="s1")
    assert bench.bullets == [PNPM] and bench.count_said() == (1, 1, 1)
    return bench
