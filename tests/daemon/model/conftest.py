"""Fixtures for the tests of the adapter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support_claude import install_stand_in
from support_model import House
from tacitd.clock import SystemClock
from tacitd.store import Store


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """A home directory whose stand-in for the client answers `fine`."""
    stand_in = install_stand_in(tmp_path / "bin", [{"reply": "fine"}])
    one = House(tmp_path, stand_in, Store.open(tmp_path / "store", SystemClock()))
    yield one
    one.store.close()
