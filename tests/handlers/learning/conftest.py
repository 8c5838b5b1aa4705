"""A bench in a directory of its own for each test, on a disk that need not survive a power cut."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support_learning import Bench


@pytest.fixture(autouse=True)
def _no_syncs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Syncing takes most of the time of these tests, and none of them pulls a plug."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    monkeypatch.setattr(os, "fdatasync", lambda fd: None)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A git work tree, and a model that says "use pnpm"."""
    return Bench(tmp_path)
