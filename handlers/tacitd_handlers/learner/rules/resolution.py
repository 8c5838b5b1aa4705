"""Long-term resolution: 28 days between two clean sessions, proved by the ledger (SPEC L-24 to L-26).

Also which retests are due, and the order for archiving. Pure: what the ledger contains is passed in as values and
functions; no row is read here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final

from msgspec import Struct

from tacitd_handlers.learner.rules.lifecycle import LIMIT, Weakness
from tacitd_handlers.learner.rules.vocabulary import IMPROVING, LONG, NEW, RECURRING, SHORT, time_of

SPAN: Final = timedelta(days=28)
RETEST: Final = timedelta(days=14)
_RANK = {LONG: 0, SHORT: 1, IMPROVING: 2, NEW: 3, RECURRING: 4}


class Proof(Struct, frozen=True):
    """The result of `prove_resolution`."""

    proved: bool
    why: str = ""
    """What is missing, if it does not hold."""


_HOLDS = Proof(True)
_TOO_FEW = Proof(False, "fewer than three clean sessions in a row")
_TOO_SOON = Proof(False, "its clean sessions do not span 28 days")


def prove_resolution(
    weakness: Weakness, has_row: Callable[[str], bool], failures: Sequence[str] = ()
) -> Proof:
    """Whether this weakness may become long-term resolved (SPEC L-25).

    `failures` are the stamps of ledger rows that show the gap; `has_row` returns whether any row has a stamp.
    """
    within = [stamp for stamp in failures if weakness.streak and weakness.streak <= stamp <= weakness.tested]
    if within:
        # The ledger wins over the streak.
        return Proof(False, f"the ledger shows it on {max(within)}")
    if weakness.clean < LIMIT:
        return _TOO_FEW
    begin, end = time_of(weakness.streak), time_of(weakness.tested)
    if begin is None or end is None or end - begin < SPAN:
        return _TOO_SOON
    for stamp in (weakness.streak, weakness.tested):
        if not has_row(stamp):
            return Proof(False, f"the ledger has no row of {stamp}")
    return _HOLDS


def retest_due(status: str, tested: str, now: str) -> int | None:
    """The days since the last test of a short-term resolved entry, if they are 14 or more (SPEC L-50).

    Otherwise None. `now` is the local time as a stamp.
    """
    then, today = time_of(tested), time_of(now)
    if status != SHORT or then is None or today is None or today - then < RETEST:
        return None
    return (today - then).days


def most_resolved(weaknesses: Sequence[Weakness]) -> list[Weakness]:
    """Sorted for archiving: by status, then the longer streak, then the older test (SPEC L-27)."""
    return sorted(weaknesses, key=lambda w: (_RANK.get(w.status, 5), -w.clean, w.tested, w.tag))


def longest_untested(weaknesses: Sequence[Weakness]) -> Weakness:
    """The weakness that leaves a full `### Resolved` (SPEC L-28).

    It has the oldest `Last tested`, and among equal ones the oldest `First observed`.
    """
    return min(weaknesses, key=lambda w: (w.tested, w.first, w.tag))
