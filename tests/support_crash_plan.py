"""Which crashes the stories are run with: see support_crash_runs.py."""

from __future__ import annotations

import errno
import random
from collections.abc import Collection, Sequence
from typing import ClassVar

from support_faulty_disk import ERRORS

CRASHES = 3
"""At how many of its durable steps each story is run with a crash."""
FAULTS = 0.1
"""The same for failures of a disk."""
OPEN: dict[str, tuple[str, str, str]] = {
    "test_why_and_review_name_the_agent": (
        "an agent's `profile set` that ended after its write is typed again, and counts as said twice",
        r'^(      "seenCount": )([2-9]|\d\d)$', r"\g<1>1",
    ),
    "test_the_same_lesson_is_stored_once": (
        "`lesson add --force` that failed or ended after its write is typed again, and stands twice",
        r'^\{"id":"0(?!0[12])\d\d",.*"when":"editing tmux.conf","action":"do","do":"read first",.*\}$', "",
    ),
}  # fmt: skip
"""Stories whose files differ after some crash: why, in which lines, and what such a line is without the crash, "": none."""


class CrashPlan:
    """At which steps a story is run again, by the options of pytest: at some of its own; and of the 118,000 steps of all stories
    1,500 have another way to them, so at some of these ways, each in the first story of this process that has it."""

    def __init__(self, steps: float, ways: float, seed: int, at: Sequence[int] = ()) -> None:
        """`steps`: of each story; 0.1: one of every tenth story; 0: none at all. `ways`: the share of them, 1: all, 2: with two errors
        at each. `at`: these steps only."""
        self.steps, self.share, self.seed, self.at = steps, ways if steps else 0.0, seed, at

    is_joint: ClassVar[bool] = True
    taken: ClassVar[set[int]] = set()
    """The ways that earlier stories of this process had."""

    def choose_steps(
        self, story: str, steps: Sequence[str], ways: Sequence[int]
    ) -> Sequence[tuple[Collection[int], int]]:
        """The runs of a story, given its steps' names and the way to each: numbers of steps, with the error that they fail with; 0:
        a crash. Several crashes are in one run, an error in one of its own."""
        numbers = [number for number, step in enumerate(steps, 1) if self.find_errors(step)]
        chance = random.Random(f"{self.seed} {story}")
        count = int(self.steps) + (chance.random() < self.steps % 1)
        own = [number for number in self.at if number in numbers]
        own = own if self.at else chance.sample(numbers, min(count, len(numbers)))
        chosen = [own] if own and self.is_joint else [[number] for number in own]
        chosen += [[number] for number in ([] if self.at else self._choose_ways(numbers, ways, chance))]
        return [
            (group, error) for group in chosen for error in self._draw_errors(steps[group[0] - 1], chance)
        ]

    def _choose_ways(self, numbers: Sequence[int], ways: Sequence[int], chance: random.Random) -> list[int]:
        found = dict[int, list[int]]()
        for number in numbers if self.share else ():
            if ways[number - 1] not in self.taken:
                found.setdefault(ways[number - 1], []).append(number)
        self.taken.update(found)
        return [chance.choice(same) for way, same in found.items() if self._is_chosen(way)]

    def _draw_errors(self, step: str, chance: random.Random) -> Sequence[int]:
        errors = self.find_errors(step)
        return chance.sample(errors, min(max(1, int(self.share)), len(errors)))

    def find_errors(self, step: str) -> Sequence[int]:
        """With which errors a step can fail."""
        return (0,)

    def _is_chosen(self, way: int) -> bool:
        return random.Random(f"{self.seed} {way}").random() < self.share


class FaultPlan(CrashPlan):
    """The same for failures of a disk: each step fails once, with one of the errors that it can fail with."""

    is_joint = False
    taken: ClassVar[set[int]] = set()

    def find_errors(self, step: str) -> Sequence[int]:
        """Nothing fails after a commit. A read-only file system refuses to open a file, and writes to one that is open."""
        if step == "committed":
            return ()
        is_open = step in ("half a write", "sync", "truncate", "chmod")
        return [one for one in ERRORS if one != errno.EROFS or not is_open]
