"""What hooks add to a prompt, from prompts that were timed in turn, against what is asked. Pure."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

RESAMPLES = 2000
"""Enough that the ends of an interval move by less than the times are printed with."""
COVERED = 0.95


@dataclass(frozen=True, slots=True)
class Turn:
    """One round of prompts: milliseconds without hooks, with hooks that run `true`, with ours, and of our hook's process."""

    without: float
    trivial: float
    hooked: float
    process: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was asked and reached, in milliseconds more than without hooks."""

    asked: float
    reached: float
    interval: tuple[float, float]
    """In which `reached` is, were the turns drawn again."""
    excess: tuple[float, float]
    """In which `reached` minus `asked` is: both come from the same turns."""
    trivial: float
    """What hooks that run `true` add."""
    beyond: float
    """What our hooks add to that."""
    beyond_interval: tuple[float, float]

    @property
    def word(self) -> str:
        """`kept` or `MISSED` if the whole interval of the excess says so, otherwise `within noise`."""
        lower, upper = self.excess
        return "MISSED" if lower > 0 else "kept" if upper <= 0 else "within noise"


def judge_turns(turns: Sequence[Turn], *, waits: bool) -> Verdict:
    """Compare the turns of one client with what is asked of it.

    Asked is the noise, the distance of the quartiles without hooks. A client that `waits` for its hooks may take what hooks
    that run `true` add, and two processes of ours, if that is more.
    """

    def find_asked(some: Sequence[Turn]) -> float:
        lower, _, upper = statistics.quantiles([one.without for one in some], n=4)
        noise = upper - lower
        return max(noise, find_added_by_hooks(some)) if waits else noise

    def find_excess(some: Sequence[Turn]) -> float:
        return find_reached(some) - find_asked(some)

    return Verdict(
        find_asked(turns),
        find_reached(turns),
        estimate_interval(turns, find_reached),
        estimate_interval(turns, find_excess),
        find_trivial(turns),
        find_beyond_trivial(turns),
        estimate_interval(turns, find_beyond_trivial),
    )


def find_reached(turns: Sequence[Turn]) -> float:
    """What our hooks add to a prompt: the median of the differences within a turn."""
    return statistics.median(one.hooked - one.without for one in turns)


def find_trivial(turns: Sequence[Turn]) -> float:
    """What hooks that run `true` add to a prompt."""
    return statistics.median(one.trivial - one.without for one in turns)


def find_beyond_trivial(turns: Sequence[Turn]) -> float:
    """What our hooks add to a prompt with hooks that run `true`."""
    return statistics.median(one.hooked - one.trivial for one in turns)


def find_added_by_hooks(turns: Sequence[Turn]) -> float:
    """What a client takes that waits for two hooks, with two processes of ours."""
    return find_trivial(turns) + 2 * statistics.median(one.process for one in turns)


def estimate_interval(turns: Sequence[Turn], find: Callable[[Sequence[Turn]], float]) -> tuple[float, float]:
    """The interval that covers 95 % of what `find` says of turns drawn from these with replacement. The same each time."""
    chance = random.Random(0)
    found = sorted(find(chance.choices(turns, k=len(turns))) for _ in range(RESAMPLES))
    cut = int((1 - COVERED) / 2 * RESAMPLES)
    return found[cut], found[-1 - cut]
