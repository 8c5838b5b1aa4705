"""Fixtures: an engine with the continuity handler for each test, see `support_continuity.World`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from loguru import logger

from support_continuity import World
from tacitd.files import json_document


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Do not read broken files again: no other program is writing them in these tests."""
    monkeypatch.setattr(json_document, "PATIENCE", 0.0)
    yield
    logger.remove()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.kill()
