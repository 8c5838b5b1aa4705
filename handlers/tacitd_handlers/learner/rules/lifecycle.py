"""What a session does to a weakness: the status table of SPEC L-16, on one counter. Pure; no files.

`clean` counts the consecutive sessions that tested the gap without showing it. The proof for a long-term status is in
`resolution.py`, the assignment to lists in `capacity.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from tacitd_handlers.learner.rules.vocabulary import IMPROVING, LONG, NEW, RECURRING, SHORT

RECENT = 8
"""Sessions remembered for each weakness, so that none counts twice (SPEC L-22)."""
LIMIT = 3
"""Consecutive clean sessions that make a weakness short-term resolved (SPEC L-17)."""

AFTER_CLEAN = {
    NEW: (NEW, NEW, SHORT),
    RECURRING: (RECURRING, IMPROVING, SHORT),
    IMPROVING: (IMPROVING, IMPROVING, SHORT),
}
"""By status, the status after the first, second and third clean session (SPEC L-16, L-20)."""


class Weakness(Struct, frozen=True):
    """A gap and its state. Stamps are local `YYYY-MM-DDTHH:MM`, "" for none."""

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


Proved = Callable[[Weakness], bool]
"""Whether the ledger proves that this weakness is long-term resolved."""


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


def record_clean(weakness: Weakness, stamp: str, session: str, proved: Proved) -> Weakness:
    """The weakness after a session that tested it without showing it (SPEC L-15).

    A session counts once, and not if it showed the gap before (SPEC L-22).
    """
    tested = max(stamp, weakness.tested)
    if session == weakness.failed_in or session in weakness.counted:
        return weakness if tested == weakness.tested else replace(weakness, tested=tested)
    clean = weakness.clean + 1
    # Built directly instead of by `replace`: this runs for every row of the ledger.
    after = Weakness(
        weakness.tag,
        weakness.status,
        weakness.first,
        tested,
        weakness.failed,
        weakness.streak or stamp,
        clean,
        weakness.failed_in,
        (*weakness.counted[1 - RECENT :], session),
    )
    status = _after_clean(after, proved)
    return after if status == after.status else replace(after, status=status)


def _after_clean(weakness: Weakness, proved: Proved) -> str:
    """One step of the table.

    A weakness that becomes short-term in one session can become long-term in a later one (SPEC L-24).
    """
    match weakness.status:
        case "resolved (short-term)":
            return LONG if proved(weakness) else SHORT
        case "resolved (long-term)":
            return LONG
        case status:
            return AFTER_CLEAN.get(status, AFTER_CLEAN[NEW])[min(weakness.clean, LIMIT) - 1]
