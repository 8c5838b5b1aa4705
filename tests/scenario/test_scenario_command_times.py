"""How soon commands answer: CPU time of whole processes against a start of Python. benchmarks/commands.py prints the table."""

from __future__ import annotations

import pytest

from commands import PLAIN, Timings, learn_lines, list_cases, list_slow, measure_cases
from support_daemon import MakeDaemon

pytestmark = pytest.mark.scenario

ROUNDS = 12
"""Rounds of all commands at most. One ends the test if each command was fast enough once."""


def test_no_command_takes_more_than_twice_what_is_asked(make: MakeDaemon) -> None:
    """The fastest runs are compared, in turns: other work on the machine adds to all, and never makes one faster."""
    daemon = make()
    learn_lines(daemon)
    cases = list_cases(daemon)
    found = {one.name: Timings() for one in cases}
    for _ in range(ROUNDS):
        for name, times in measure_cases(cases, daemon, runs=2).items():
            found[name].cpu += times.cpu
        if not list_slow(cases, found):
            break
    assert list_slow(cases, found) == [] and len(found[PLAIN].cpu) >= 2
