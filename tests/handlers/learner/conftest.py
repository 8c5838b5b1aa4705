"""Every test of the learner runs in one time zone, with a summer time, on a disk that need not survive a power cut."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _amsterdam(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """SPEC L-47: stamps are local."""
    monkeypatch.setenv("TZ", "Europe/Amsterdam")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture(autouse=True)
def _no_syncs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Syncing takes most of the time of these tests, and none of them pulls a plug."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    monkeypatch.setattr(os, "fdatasync", lambda fd: None)
