"""The fixture of a bench with the reach plugin."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support_reach import ReachBox


@pytest.fixture
def reach(tmp_path: Path) -> Iterator[ReachBox]:
    box = ReachBox(tmp_path)
    with box.bench:
        yield box
