"""Fixtures for the tests of several plugins."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest


@pytest.fixture
def far_west(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set a time zone five hours behind UTC, so that local dates differ from UTC's."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "EST5")
        time.tzset()
        yield
    time.tzset()
