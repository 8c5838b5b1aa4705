"""Which crashes the stories are run with: see support_crashes.py."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import ClassVar

OPEN: dict[str, str] = {}
"""Stories whose files differ after some crash, and what is to be mended: a difference of theirs is noted and fails nothing."""


class CrashPlan:
    """At which steps stories are run again, by the options of pytest. Of the 118,000 steps of all stories 1,500 have another way to
    them, so each way is crashed once, in the first story of this process that has it, at one of its steps there."""

    taken: ClassVar[set[int]] = set()  # the ways that earlier stories of this process had

    def __init__(self, share: float, seed: int, at: Sequence[int] = (), *, each: bool = False) -> None:
        """`share` of the ways, 1: all. `at`: these steps only. `each`: of all steps, not of the ways to them."""
        self.share, self.seed, self.at, self.each = share, seed, at, each

    def choose_steps(self, story: str, ways: Sequence[int]) -> Sequence[int]:
        """The steps of a story, given the way to each."""
        if self.at:
            return [number for number in self.at if number <= len(ways)]
        found, chance = dict[int, list[int]](), random.Random(f"{self.seed} {story}")
        if self.each:
            return [number for number in range(1, len(ways) + 1) if chance.random() < self.share]
        for number, way in enumerate(ways, 1):
            if way not in self.taken:
                found.setdefault(way, []).append(number)
        self.taken.update(found)
        return sorted(chance.choice(numbers) for way, numbers in found.items() if self._is_chosen(way))

    def _is_chosen(self, way: int) -> bool:
        return random.Random(f"{self.seed} {way}").random() < self.share
