"""Fixtures: a profile in a temporary directory for each test, see `support_profile.Box`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support_profile import Box
from tacitd.files import json_document


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not read broken files again: no other program is writing them in these tests."""
    monkeypatch.setattr(json_document, "PATIENCE", 0.0)


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with Box(tmp_path) as made:
        yield made
