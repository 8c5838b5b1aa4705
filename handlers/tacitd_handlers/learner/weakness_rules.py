"""What a session does to a weakness, and when it is resolved: the status table of SPEC L-16, on one counter. Pure.

`clean` counts the consecutive sessions that tested the gap without showing it. Stamps are local `YYYY-MM-DDTHH:MM`, ""
for none. Where an entry is placed is decided in `weakness_entries`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from tacitd_handlers.learner.ledger_file import (
    IMPROVING,
    LONG,
    NEW,
    RECURRING,
    SHORT,
    UNKNOWN,
    LedgerRow,
    RowKey,
    names_a_session,
    time_of,
)

MAX_ACTIVE: Final = 20
MAX_RESOLVED: Final = 10
RECENT = 8
"""Sessions remembered for each weakness, so that none counts twice (SPEC L-22)."""
LIMIT = 3
"""Consecutive clean sessions that make a weakness short-term resolved (SPEC L-17)."""
SPAN: Final = timedelta(days=28)
AFTER_CLEAN = {
    NEW: (NEW, NEW, SHORT),
    RECURRING: (RECURRING, IMPROVING, SHORT),
    IMPROVING: (IMPROVING, IMPROVING, SHORT),
}
"""By status, the status after the first, second and third clean session (SPEC L-16, L-20)."""
_ARCHIVE_ORDER = {LONG: 0, SHORT: 1, IMPROVING: 2, NEW: 3, RECURRING: 4}


class Weakness(Struct, frozen=True):
    tag: str
    status: str
    first: str
    tested: str
    failed: str
    streak: str = ""
    """The stamp of the first clean session since the last failure."""
    clean: int = 0
    failed_in: str = ""
    """The session of the last failure."""
    counted: tuple[str, ...] = ()
    """The newest sessions that were counted as clean."""

    @property
    def course(self) -> tuple[str, str, str, int]:
        """What the ledger decides: all but the status and the first observation."""
        return self.tested, self.failed, self.streak, self.clean


def record_failure(weakness: Weakness, stamp: str, session: str) -> Weakness:
    """The weakness after another observation (SPEC L-14, L-18, L-19); again in one session, only the stamps change (SPEC L-22)."""
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


def record_clean(weakness: Weakness, stamp: str, session: str, stamps: Collection[str]) -> Weakness:
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
    return replace(after, status=find_status(after, stamps))


def find_status(weakness: Weakness, stamps: Collection[str]) -> str:
    """The status after a session, whose counts the weakness has already: one step of the table.

    A weakness that becomes short-term in one session can become long-term in a later one (SPEC L-24).
    """
    if not weakness.clean:
        return RECURRING
    if weakness.status == LONG or (weakness.status == SHORT and is_long_term(weakness, stamps)):
        return LONG
    if weakness.status == SHORT:
        return SHORT
    return AFTER_CLEAN.get(weakness.status, AFTER_CLEAN[NEW])[min(weakness.clean, LIMIT) - 1]


def is_long_term(weakness: Weakness, stamps: Collection[str]) -> bool:
    """Whether the ledger proves 28 days between the first and the last clean session (SPEC L-24, L-25). `stamps`: those of its rows."""
    begin, end = time_of(weakness.streak), time_of(weakness.tested)
    if weakness.clean < LIMIT or begin is None or end is None or end - begin < SPAN:
        return False
    return weakness.streak in stamps and weakness.tested in stamps


def most_resolved(weaknesses: Iterable[Weakness]) -> list[Weakness]:
    """Sorted for archiving: by status, then the longer streak, then the older test (SPEC L-27)."""
    return sorted(weaknesses, key=lambda w: (_ARCHIVE_ORDER.get(w.status, 5), -w.clean, w.tested, w.tag))


# --- the weaknesses that follow from the ledger, and what a session changes in the entries of a profile. Rows are taken by stamp,
# then by their position in the ledger (SPEC L-47). Nothing is kept between two calls (SPEC L-23, L-31).

Tested = Mapping[RowKey, tuple[str, ...]]
"""The tags that sessions reported as tested, by row (SPEC L-21)."""


class Replay(Struct):
    """The rows replayed so far, and the weaknesses that follow from them."""

    tested: Tested
    tags: dict[str, Weakness] = field(default_factory=dict)
    last: str = ""
    """The newest stamp."""
    stamps: set[str] = field(default_factory=set)
    by_problem: dict[str, dict[str, None]] = field(default_factory=dict)
    """The gaps seen with each problem."""
    by_pattern: dict[str, dict[str, set[str]]] = field(default_factory=dict)
    """By pattern and gap, the problems that showed it."""

    def add_row(self, row: LedgerRow) -> None:
        self.last = row.stamp
        self.stamps.add(row.stamp)
        # `manual` and its like identify no session, so the stamp tells them apart (SPEC L-22).
        session = row.session if names_a_session(row.session) else f"{row.session}@{row.stamp}"
        clean = [tag for tag in self._find_expected(row) if tag in self.tags and tag not in row.tags]
        for tag in row.tags:
            before = self.tags.get(tag)
            self.tags[tag] = (
                Weakness(tag, NEW, row.stamp, row.stamp, row.stamp, failed_in=session)  # SPEC L-13
                if before is None
                else record_failure(before, row.stamp, session)
            )
            self.by_problem.setdefault(row.problem, {})[tag] = None
            self.by_pattern.setdefault(row.pattern, {}).setdefault(tag, set()).add(row.problem)
        for tag in clean:
            self.tags[tag] = record_clean(self.tags[tag], row.stamp, session, self.stamps)

    def _find_expected(self, row: LedgerRow) -> Iterable[str]:
        """The tags that a session tested: as reported; otherwise the gaps seen before with its problem, and those of its
        pattern that at least two problems showed (SPEC L-21).
        """
        named = self.tested.get(row.key)
        if named is not None:
            return dict.fromkeys(named)
        pattern = self.by_pattern.get(row.pattern, {}) if row.pattern != UNKNOWN else {}
        shared = (tag for tag, problems in pattern.items() if len(problems) > 1)
        return dict.fromkeys((*self.by_problem.get(row.problem, ()), *shared))


def replay(rows: Iterable[LedgerRow], tested: Tested) -> Replay:
    made = Replay(tested)
    for row in in_order(rows):
        made.add_row(row)
    return made


def in_order(rows: Iterable[LedgerRow]) -> list[LedgerRow]:
    """The rows by stamp, with ledger order for equal stamps, and each key once (SPEC L-23, L-47)."""
    found: dict[RowKey, LedgerRow] = {}
    for row in sorted(rows, key=lambda row: row.stamp):
        found.setdefault(row.key, row)
    return list(found.values())


def arrive(
    entries: Mapping[str, Weakness], row: LedgerRow, before: Mapping[str, Weakness], after: Replay
) -> dict[str, Weakness]:
    """By tag, the weaknesses that a row changes or starts. Applied twice, it changes nothing the second time.

    `entries` are those of the profile, `before` is the replay without the row, and `after` the one with it.
    """
    changed: dict[str, Weakness] = {}
    for tag in dict.fromkeys((*row.tags, *after.tags)):  # what the row shows finds room first
        entry, was, now = entries.get(tag), before.get(tag), after.tags[tag]
        if entry is None:
            # One that left a full `### Resolved` stays out while it is resolved (SPEC L-28).
            if tag in row.tags and (was is None or now.status != LONG):
                changed[tag] = now
        elif now != was:
            then = _go_on(entry, row, was, now, after.stamps)
            if (then.first, then.course, then.status) != (entry.first, entry.course, entry.status):
                changed[tag] = then
    return changed


def _go_on(
    entry: Weakness, row: LedgerRow, was: Weakness | None, now: Weakness, stamps: Collection[str]
) -> Weakness:
    first = min(entry.first or now.first, now.first)
    if was is not None and (entry.course, entry.status) == (was.course, was.status):
        return replace(now, first=first)
    if entry.course == now.course:
        return replace(entry, first=first)  # applied already, before a crash
    if was is not None and entry.course == was.course:
        # Only the status is somebody's (SPEC L-31): the counts are the ledger's, and the status goes on.
        return replace(now, first=first, status=find_status(replace(now, status=entry.status), stamps))
    if entry.tag in row.tags and row.stamp > entry.tested:
        return record_failure(entry, row.stamp, row.session)
    if entry.failed < now.failed <= max(entry.tested, row.stamp):
        return replace(now, first=first)  # the entry misses a failure that the ledger shows (SPEC L-25)
    return entry if row.stamp <= entry.tested else record_clean(entry, row.stamp, row.session, stamps)
