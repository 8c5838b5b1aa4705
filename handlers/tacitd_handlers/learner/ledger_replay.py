"""The weaknesses that follow from the ledger, and what a session changes in the entries of a profile. Pure.

Rows are taken by stamp, then by their position in the ledger (SPEC L-47). Nothing is kept between two calls: an entry that
equals the replay without a session was edited by nobody and gets the replay with it; any other goes on from what it says
(SPEC L-23, L-31).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from tacitd_handlers.learner import weakness_rules as rules
from tacitd_handlers.learner.ledger_file import LedgerRow, RowKey
from tacitd_handlers.learner.vocabulary import LONG, UNKNOWN, names_a_session
from tacitd_handlers.learner.weakness_rules import HasRow, Weakness

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

    def has_row(self, stamp: str) -> bool:
        """Whether a row has this stamp."""
        return stamp in self.stamps

    def add_row(self, row: LedgerRow) -> None:
        """Replay one row, which is not older than those before."""
        self.last = row.stamp
        self.stamps.add(row.stamp)
        # `manual` and its like identify no session, so the stamp tells them apart (SPEC L-22).
        session = row.session if names_a_session(row.session) else f"{row.session}@{row.stamp}"
        clean = [tag for tag in self._find_expected(row) if tag not in row.tags]
        for tag in row.tags:
            before = self.tags.get(tag)
            self.tags[tag] = (
                rules.start_weakness(tag, row.stamp, session)
                if before is None
                else rules.record_failure(before, row.stamp, session)
            )
            self.by_problem.setdefault(row.problem, {})[tag] = None
            self.by_pattern.setdefault(row.pattern, {}).setdefault(tag, set()).add(row.problem)
        for tag in clean:
            if tag in self.tags:
                self.tags[tag] = rules.record_clean(self.tags[tag], row.stamp, session, self.has_row)

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
    """Replay a ledger."""
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
            then = _go_on(entry, row, was, now, after.has_row)
            if (then.first, then.course, then.status) != (entry.first, entry.course, entry.status):
                changed[tag] = then
    return changed


def _go_on(entry: Weakness, row: LedgerRow, was: Weakness | None, now: Weakness, has_row: HasRow) -> Weakness:
    first = min(entry.first or now.first, now.first)
    if was is not None and (entry.course, entry.status) == (was.course, was.status):
        return replace(now, first=first)
    if entry.course == now.course:
        return replace(entry, first=first)  # applied already, before a crash
    if was is not None and entry.course == was.course:
        # Only the status is somebody's (SPEC L-31): the counts are the ledger's, and the status goes on.
        return replace(now, first=first, status=rules.find_status(replace(now, status=entry.status), has_row))
    if entry.tag in row.tags and row.stamp > entry.tested:
        return rules.record_failure(entry, row.stamp, row.session)
    if entry.failed < now.failed <= max(entry.tested, row.stamp):
        return replace(now, first=first)  # the entry misses a failure that the ledger shows (SPEC L-25)
    return entry if row.stamp <= entry.tested else rules.record_clean(entry, row.stamp, row.session, has_row)
