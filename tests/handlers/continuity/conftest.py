"""A world for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from loguru import logger

from support_continuity import World
from tacitd_handlers.usermemory import document


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nobody is in the middle of saving what is broken in these tests."""
    monkeypatch.setattr(document, "PATIENCE", 0.0)
    yield
    logger.remove()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.kill()
