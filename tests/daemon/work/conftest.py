"""Closes the stores of a test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support_work import OPEN


@pytest.fixture(autouse=True)
def _stores_are_closed() -> Iterator[None]:
    yield
    while OPEN:
        OPEN.pop().kill()
