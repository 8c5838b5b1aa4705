"""Parts of the status that take long to compute are kept for twenty times as long; small ones are exact."""

from __future__ import annotations

from tacitd.dispatch.costly_parts import CHEAP, CostlyParts
from tacitd.testing import FakeClock


class _Work:
    """Computes for so many seconds of CPU time, and counts how often."""

    def __init__(self) -> None:
        self.cpu, self.seconds, self.count = 0.0, 0.0, 0

    def compute(self) -> int:
        self.cpu += self.seconds
        self.count += 1
        return self.count


def test_a_cheap_part_is_always_new() -> None:
    """What a person sees after a command is exact, whatever the time."""
    clock, work = FakeClock(), _Work()
    parts = CostlyParts(clock.monotonic, lambda: work.cpu)
    work.seconds = CHEAP
    assert [parts.get_part("a", work.compute) for _ in range(3)] == [1, 2, 3]


def test_a_costly_part_takes_a_twentieth_of_the_time() -> None:
    """Polled four times a second for a minute, it is computed for three seconds at most."""
    clock, work = FakeClock(), _Work()
    parts = CostlyParts(clock.monotonic, lambda: work.cpu)
    work.seconds = 0.1
    for _ in range(240):
        parts.get_part("a", work.compute)
        clock.advance(0.25)
    assert 2.5 < work.cpu <= 3.1
    before = work.count
    parts.forget_all()
    parts.get_part("a", work.compute)
    assert work.count == before + 1
    assert parts.get_part("b", lambda: "of another name") == "of another name"
