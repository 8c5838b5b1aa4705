"""Every test of the learner runs in one time zone with daylight saving time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support_learner import Desk


@pytest.fixture(autouse=True)
def _amsterdam(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """SPEC L-47: stamps are local."""
    monkeypatch.setenv("TZ", "Europe/Amsterdam")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def desk(tmp_path: Path, _amsterdam: None) -> Iterator[Desk]:
    with Desk(tmp_path) as made:
        yield made
