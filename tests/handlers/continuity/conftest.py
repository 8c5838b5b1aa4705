"""A world for each test, on a disk that need not survive a power cut."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from loguru import logger

from support_continuity import World
from tacitd_handlers.usermemory import document


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Syncing takes most of the time of these tests, and nobody is in the middle of saving what is broken in them."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    monkeypatch.setattr(os, "fdatasync", lambda fd: None)
    monkeypatch.setattr(document, "PATIENCE", 0.0)
    yield
    logger.remove()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.kill()
