"""The clocks of the tests and their dates."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tacitd.clock import SystemClock
from tacitd.testing import DAY, FakeClock


def test_the_option_sets_each_clock(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """`pytest --days-ahead N`: the process's clock is N days ahead of the kernel's, FakeClock N days behind it."""
    ahead = float(pytestconfig.getoption("--days-ahead") or 0) * DAY
    kernel = _kernel_time(tmp_path)
    assert time.time() - kernel == pytest.approx(ahead, abs=120)
    assert SystemClock().now() - kernel == pytest.approx(ahead, abs=120)
    assert FakeClock().now() - kernel == pytest.approx(-ahead, abs=1.5 * DAY)


def test_a_fake_clock_moves_only_when_it_is_moved() -> None:
    """`advance` moves both clocks, `jump` the wall clock only."""
    clock = FakeClock()
    start = clock.now(), clock.monotonic()
    clock.advance(5)
    assert (clock.now() - start[0], clock.monotonic() - start[1]) == (5, 5)
    clock.jump(-60)
    assert (clock.now() - start[0], clock.monotonic() - start[1]) == (-55, 5)
    assert FakeClock(wall=1e9).now() == 1e9 and FakeClock().now() == start[0]


def _kernel_time(directory: Path) -> float:
    """The current time, as the kernel writes it into the time of a file: no library can move that."""
    path = directory / "now"
    path.touch()
    return os.stat(path).st_mtime
