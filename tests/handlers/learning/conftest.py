"""A bench for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_learning import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A git work tree, and a model that says "use pnpm"."""
    return Bench(tmp_path)
