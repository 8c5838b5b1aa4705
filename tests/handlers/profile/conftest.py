"""A box for each test, on a disk that need not survive a power cut."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support_profile import Box
from tacitd_handlers.usermemory import document


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Syncing takes most of the time of these tests, and nobody is in the middle of saving what is broken in them."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    monkeypatch.setattr(os, "fdatasync", lambda fd: None)
    monkeypatch.setattr(document, "PATIENCE", 0.0)


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)
