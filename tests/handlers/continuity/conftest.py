"""Fixtures: a home with the plugin of sessions for each test, see `support_continuity.World`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from loguru import logger

from support_continuity import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """The world of this test."""
    with World(tmp_path) as made:
        yield made
    logger.remove()
