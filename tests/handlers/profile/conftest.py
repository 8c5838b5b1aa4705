"""A box for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_profile import Box
from tacitd_handlers.usermemory import document


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is in the middle of saving what is broken in these tests."""
    monkeypatch.setattr(document, "PATIENCE", 0.0)


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)
