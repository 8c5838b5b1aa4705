"""The bench of these tests, on a disk that need not survive a power cut."""

from __future__ import annotations

import os

import pytest

from support_lessons import lessons

__all__ = ["lessons"]


@pytest.fixture(autouse=True)
def _no_syncs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Syncing takes most of the time of these tests, and none of them pulls a plug."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    monkeypatch.setattr(os, "fdatasync", lambda fd: None)
