"""When failed work is tried again, and what it is tried with. Pure: no clock, no rows.

Work that waits for something outside (`blame` is "world": no model, no budget) is tried without end, with growing pauses. A
failure that the prompts themselves may have caused is counted for each: after the first, a prompt goes alone, and one that
fails alone is rejected. So no prompt is paid for a third time, and one that no answer fits costs the others nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from msgspec import Struct

from tacitd.contract import Later, StoredPrompt

FURTHEST = 40 * 86_400.0
"""Longest time in seconds until `not_before`: a clock that is wrong for a minute must not put work off for a century."""
FAILURES = 2
"""Failures of a prompt after which it is rejected."""


class Pauses(Struct, frozen=True):
    """Seconds of the first pause and of the longest one. Each is four times the one before."""

    first: float = 30.0
    longest: float = 21_600.0


PAUSES = Pauses()


class Postponed(Struct, frozen=True):
    """When work is tried again, and which of its prompts are not."""

    due: float
    """Seconds since 1970, UTC."""
    rejected: tuple[int, ...] = ()
    """Numbers of prompts."""


def choose_delay(tries: int, not_before: float | None, now: float, pauses: Pauses = PAUSES) -> float:
    """Given how often work failed (1 or more), return the seconds until it is tried again.

    If `not_before` is past or only seconds away, the growing pause counts: work with a wrong time is not tried in a loop.
    """
    pause = min(pauses.longest, pauses.first * 4.0 ** min(tries - 1, 20))
    ahead = not_before - now if not_before is not None else 0.0
    return min(ahead, FURTHEST) if ahead >= pauses.first else max(pause, ahead)


def postpone(
    later: Later, tries: int, prompts: Sequence[StoredPrompt], now: float, pauses: Pauses = PAUSES
) -> Postponed:
    """Given that a task failed for the `tries`-th time with these prompts, return what follows.

    `StoredPrompt.tries` are the failures before this one.
    """
    if later.blame == "world" or not prompts:
        return Postponed(now + choose_delay(tries, later.not_before, now, pauses))
    rejected = tuple(one.number for one in prompts if one.tries + 1 >= FAILURES)
    return Postponed(now + choose_delay(1, later.not_before, now, pauses), rejected)


Item = TypeVar("Item", bound=StoredPrompt)


def choose_prompts(waiting: Sequence[Item], most: int, most_bytes: int) -> list[Item]:
    """Given the prompts of a session that wait, in order, return those of the next task: one that failed before goes alone.

    The first is always among them; the others as long as the limits are kept.
    """
    chosen: list[Item] = []
    size = 0
    for prompt in waiting:
        size += len(prompt.text.encode(errors="replace"))
        if chosen and (prompt.tries or chosen[0].tries or len(chosen) >= most or size > most_bytes):
            break
        chosen.append(prompt)
    return chosen
