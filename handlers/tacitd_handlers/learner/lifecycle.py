"""What a session does to a weakness: the table of SPEC L-16, on one counter. Pure; nothing here knows a file.

`clean` counts the sessions in a row that tested the gap and did not show it. What proves that it is gone for good is in
`resolution.py`; who stands where in the profile is in `caps.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tacitd_handlers.learner.words import IMPROVING, LONG, NEW, RECURRING, SHORT

RECENT = 8
"""Sessions that are remembered for a weakness, so that none counts twice (SPEC L-22)."""
LIMIT = 3
"""Clean sessions in a row that resolve a weakness for now (SPEC L-17)."""

AFTER_CLEAN = {
    NEW: (NEW, NEW, SHORT),
    RECURRING: (RECURRING, IMPROVING, SHORT),
    IMPROVING: (IMPROVING, IMPROVING, SHORT),
}
"""From each status, the one after the first, second and third clean session (SPEC L-16, L-20)."""


@dataclass(frozen=True, slots=True)
class Weakness:
    """A gap and its course. Stamps are `YYYY-MM-DDTHH:MM`, "" for none."""

    tag: str
    status: str
    first: str
    tested: str
    failed: str
    streak: str = ""
    """The first clean session since the last failure."""
    clean: int = 0
    """`Sessions since last failure`."""
    failed_in: str = ""
    """The session of the last failure."""
    counted: tuple[str, ...] = ()
    """The newest sessions that were counted as clean."""


Proved = Callable[[Weakness], bool]
"""Whether the ledger proves that this one is gone for good."""


def new(tag: str, stamp: str, session: str) -> Weakness:
    """Seen for the first time (SPEC L-13)."""
    return Weakness(tag, NEW, stamp, stamp, stamp, failed_in=session)


def observed(weakness: Weakness, stamp: str, session: str) -> Weakness:
    """Seen again (SPEC L-14, L-18, L-19). In a session that showed it already, only the stamps can change (L-22)."""
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


def passed(weakness: Weakness, stamp: str, session: str, proved: Proved) -> Weakness:
    """Tested and not seen (SPEC L-15). A session counts once, and not at all where it showed the gap before (L-22)."""
    tested = max(stamp, weakness.tested)
    if session == weakness.failed_in or session in weakness.counted:
        return weakness if tested == weakness.tested else replace(weakness, tested=tested)
    clean = weakness.clean + 1
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
    """One step of the table: what turns short-term in this session can be long-term after the next (SPEC L-24)."""
    match weakness.status:
        case "resolved (short-term)":
            return LONG if proved(weakness) else SHORT
        case "resolved (long-term)":
            return LONG
        case status:
            return AFTER_CLEAN.get(status, AFTER_CLEAN[NEW])[min(weakness.clean, LIMIT) - 1]
