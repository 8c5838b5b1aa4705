"""Every test of the learner runs in one time zone with daylight saving time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from support_cli import Cli
from support_learner import Desk
from tacitd.clock import SystemClock


@pytest.fixture(autouse=True)
def _amsterdam(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """SPEC L-47: stamps are local."""
    monkeypatch.setenv("TZ", "Europe/Amsterdam")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def desk(tmp_path: Path, _amsterdam: None) -> Iterator[Desk]:
    with Desk(tmp_path) as made:
        yield made


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """The commands, on 2026-02-19 at half past two."""
    made = Cli(tmp_path, monkeypatch, capsys)
    made.set(TZ="Europe/Amsterdam")
    time.tzset()
    begun = datetime(2026, 2, 19, 14, 30).timestamp() - time.monotonic()
    monkeypatch.setattr(SystemClock, "now", lambda self: begun + time.monotonic())
    return made
