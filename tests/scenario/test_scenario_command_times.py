"""How soon commands answer: CPU time of whole processes against a start of Python. benchmarks/commands.py prints the table."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from commands import PLAIN, Timings, learn_lines, list_cases, list_slow, measure_cases
from support_daemon import Daemon

pytestmark = pytest.mark.scenario

ROUNDS = 12
"""Rounds of all commands at most. One ends the test if each command was fast enough once."""
HEADROOM = 1.3
"""How much more than the benchmark asks is no failure: other tests run meanwhile, and share the processor's caches."""


@pytest.fixture
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """One in a directory with a short name: the socket of a long one has a digest for its name, which takes `status` longer."""
    made = Daemon(tmp_path_factory.mktemp("t") / "d")
    try:
        yield made
    finally:
        made.finish()


def test_no_command_takes_more_than_is_asked(daemon: Daemon) -> None:
    """The fastest runs are compared, in turns: other work on the machine adds to all, and never makes one faster."""
    learn_lines(daemon)
    cases = list_cases(daemon)
    found = {one.name: Timings() for one in cases}
    for _ in range(ROUNDS):
        for name, times in measure_cases(cases, daemon, runs=2).items():
            found[name].cpu += times.cpu
        if not list_slow(cases, found, HEADROOM):
            break
    assert list_slow(cases, found, HEADROOM) == [] and len(found[PLAIN].cpu) >= 2
