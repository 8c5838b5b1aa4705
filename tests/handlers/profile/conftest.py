"""Fixtures: a profile in a temporary directory for each test, see `support_profile.Box`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support_profile import Box


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with Box(tmp_path) as made:
        yield made
