"""Fixtures for the tests of the adapter and of the budget."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support_budget import World
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


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A store whose caps are far away."""
    one = World(tmp_path / "state")
    yield one
    one.store.close()
