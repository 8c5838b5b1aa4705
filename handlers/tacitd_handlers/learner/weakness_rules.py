"""What a session does to a weakness, and when it is resolved: the status table of SPEC L-16, on one counter. Pure.

`clean` counts the consecutive sessions that tested the gap without showing it. Stamps are local `YYYY-MM-DDTHH:MM`, ""
for none. Which rows a session has is known to `ledger_replay.py`, and where an entry is placed to `practice_sync.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from tacitd_handlers.learner.vocabulary import IMPROVING, LONG, NEW, RECURRING, SHORT, time_of

MAX_ACTIVE: Final = 20
MAX_RESOLVED: Final = 10
RECENT = 8
"""Sessions remembered for each weakness, so that none counts twice (SPEC L-22)."""
LIMIT = 3
"""Consecutive clean sessions that make a weakness short-term resolved (SPEC L-17)."""
SPAN: Final = timedelta(days=28)
RETEST: Final = timedelta(days=14)
AFTER_CLEAN = {
    NEW: (NEW, NEW, SHORT),
    RECURRING: (RECURRING, IMPROVING, SHORT),
    IMPROVING: (IMPROVING, IMPROVING, SHORT),
}
"""By status, the status after the first, second and third clean session (SPEC L-16, L-20)."""
_ARCHIVE_ORDER = {LONG: 0, SHORT: 1, IMPROVING: 2, NEW: 3, RECURRING: 4}


class Weakness(Struct, frozen=True):
    """A gap and its state."""

    tag: str
    status: str
    first: str
    tested: str
    failed: str
    streak: str = ""
    """The stamp of the first clean session since the last failure."""
    clean: int = 0
    """The field `Sessions since last failure`."""
    failed_in: str = ""
    """The session of the last failure."""
    counted: tuple[str, ...] = ()
    """The newest sessions that were counted as clean."""

    @property
    def course(self) -> tuple[str, str, str, int]:
        """What the ledger decides: all but the status and the first observation."""
        return self.tested, self.failed, self.streak, self.clean


HasRow = Callable[[str], bool]
"""Whether the ledger has a row of a stamp."""


def start_weakness(tag: str, stamp: str, session: str) -> Weakness:
    """The weakness after its first observation (SPEC L-13)."""
    return Weakness(tag, NEW, stamp, stamp, stamp, failed_in=session)


def record_failure(weakness: Weakness, stamp: str, session: str) -> Weakness:
    """The weakness after another observation (SPEC L-14, L-18, L-19).

    In the session of its last failure only the stamps change (SPEC L-22).
    """
    status = weakness.status if session == weakness.failed_in and not weakness.clean else RECURRING
    return replace(
        weakness,
        status=status,
        tested=max(stamp, weakness.tested),
        failed=max(stamp, weakness.failed),
        streak="",
        clean=0,
        failed_in=session,
        counted=(),
    )


def record_clean(weakness: Weakness, stamp: str, session: str, has_row: HasRow) -> Weakness:
    """The weakness after a session that tested it without showing it (SPEC L-15).

    A session counts once, and not if it showed the gap before (SPEC L-22).
    """
    tested = max(stamp, weakness.tested)
    if session == weakness.failed_in or session in weakness.counted:
        return replace(weakness, tested=tested)
    after = replace(
        weakness,
        tested=tested,
        streak=weakness.streak or stamp,
        clean=weakness.clean + 1,
        counted=(*weakness.counted[1 - RECENT :], session),
    )
    return replace(after, status=find_status(after, has_row))


def find_status(weakness: Weakness, has_row: HasRow) -> str:
    """The status after a session, whose counts the weakness has already: one step of the table.

    A weakness that becomes short-term in one session can become long-term in a later one (SPEC L-24).
    """
    if not weakness.clean:
        return RECURRING
    if weakness.status == SHORT:
        return LONG if is_long_term(weakness, has_row) else SHORT
    if weakness.status == LONG:
        return LONG
    return AFTER_CLEAN.get(weakness.status, AFTER_CLEAN[NEW])[min(weakness.clean, LIMIT) - 1]


def is_long_term(weakness: Weakness, has_row: HasRow) -> bool:
    """Whether the ledger proves 28 days between the first and the last clean session (SPEC L-24, L-25)."""
    begin, end = time_of(weakness.streak), time_of(weakness.tested)
    if weakness.clean < LIMIT or begin is None or end is None or end - begin < SPAN:
        return False
    return has_row(weakness.streak) and has_row(weakness.tested)


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
    return sorted(weaknesses, key=lambda w: (_ARCHIVE_ORDER.get(w.status, 5), -w.clean, w.tested, w.tag))


def longest_untested(weaknesses: Sequence[Weakness]) -> Weakness:
    """The weakness that leaves a full `### Resolved` (SPEC L-28): the oldest test, then the oldest observation."""
    return min(weaknesses, key=lambda w: (w.tested, w.first, w.tag))
