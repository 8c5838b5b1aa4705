"""What tests of several slices need."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest


@pytest.fixture
def far_west(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A zone five hours behind UTC, where it is still the day before."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "EST5")
        time.tzset()
        yield
    time.tzset()
