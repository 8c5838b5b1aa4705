"""The fold of the ledger: each weakness's state, each pattern's gaps, each problem's last reviews.

Pure. Rows are taken one by one, ordered by stamp, then by their position in the ledger (SPEC L-47). A person's edits
of the profile are replayed at the stamp where they were made (SPEC L-31). The tags that a session tested come from
`FoldInputs` (SPEC L-21). Reading files and assigning lists (`capacity.py`) belong elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from tacitd_handlers.learner.formats.ledger_md import LedgerRow, RowKey
from tacitd_handlers.learner.rules import lifecycle
from tacitd_handlers.learner.rules.intervals import read_interval
from tacitd_handlers.learner.rules.lifecycle import Weakness
from tacitd_handlers.learner.rules.resolution import prove_resolution
from tacitd_handlers.learner.rules.vocabulary import UNKNOWN, names_a_session

PASTS = 3
"""Earlier sessions kept for each problem, for the trajectory (SPEC L-40)."""
NEWEST = 20
"""The cap of Session History (SPEC L-32)."""
REMEMBERED = 2 * NEWEST
"""Rows kept in the state: twice the cap, because rows that have just left Session History are compared once more."""


class ProblemHistory(Struct, frozen=True):
    """The last sessions of a problem, and the interval with which it was last scheduled."""

    sessions: tuple[tuple[str, str], ...] = ()
    """(stamp, verdict), oldest first."""
    interval: int | None = None
    review: str = ""
    """The latest review date that parses, "" if none does."""


LAST = 1 << 30
"""An `Override.nth` after every row of a stamp."""


class Override(Struct, frozen=True, order=True):
    """A status that does not follow from the rows.

    A person wrote it (SPEC L-31), or a promotion made room (SPEC L-27). It is applied after row number `nth` of the
    stamp `after`, and holds until the next session changes the status.
    """

    after: str
    nth: int
    tag: str
    status: str


class FoldedLedger(Struct):
    """The result of the rows folded so far."""

    last: str = ""
    """The newest stamp."""
    keys: set[RowKey] = field(default_factory=set)
    """The keys of the rows with that stamp, so that none counts twice (SPEC L-23)."""
    rows: int = 0
    tags: dict[str, Weakness] = field(default_factory=dict)
    patterns: dict[str, dict[str, None]] = field(default_factory=dict)
    """The gaps seen with each pattern, in the order of their first row."""
    problems: dict[str, ProblemHistory] = field(default_factory=dict)
    newest: list[LedgerRow] = field(default_factory=list)
    """The newest rows, oldest first; at most `REMEMBERED`."""


class FoldInputs(Struct, frozen=True):
    """Input of the fold that is not in the ledger."""

    given: Mapping[str, Weakness] = field(default_factory=dict)
    """Weaknesses that a person had in the profile before any row showed them."""
    tested: Callable[[LedgerRow], Iterable[str] | None] = lambda row: None
    """The tags that a session tested. None if they were not recorded (SPEC L-21)."""
    also: Mapping[str, Iterable[str]] = field(default_factory=dict)
    """By stamp, further tested tags, taken from `Last tested` in entries that Claude wrote."""
    has_row: Callable[[str], bool] = lambda stamp: True


def in_order(rows: Iterable[LedgerRow]) -> list[LedgerRow]:
    """The rows sorted by stamp, with ledger order for equal stamps, and each key once (SPEC L-23, L-47)."""
    seen: set[RowKey] = set()
    ordered: list[LedgerRow] = []
    for row in sorted(rows, key=lambda row: row.stamp):
        if row.key not in seen:
            seen.add(row.key)
            ordered.append(row)
    return ordered


def fold_row(folded: FoldedLedger, row: LedgerRow, beside: FoldInputs) -> list[str]:
    """Fold one row, which must not be older than `folded.last`.

    Returns the tags that it touched, first those that it observed.
    """
    if row.stamp != folded.last:
        folded.keys = set()
    if row.key in folded.keys:
        return []
    folded.last, folded.rows = row.stamp, folded.rows + 1
    folded.keys.add(row.key)
    # `manual` and its like identify no session, so the stamp tells them apart (SPEC L-22).
    session = row.session if names_a_session(row.session) else f"{row.session}@{row.stamp}"
    shown = row.tags
    clean = [tag for tag in _tested(folded, row, beside) if tag not in shown]
    touched = [tag for tag in shown if _record_failure(folded, tag, row.stamp, session, beside)]
    touched += [tag for tag in clean if _record_clean(folded, tag, row.stamp, session, beside)]
    remember_row(folded, row)
    folded.newest.append(row)
    del folded.newest[:-REMEMBERED]
    return touched


def fold_position(folded: FoldedLedger) -> tuple[str, int]:
    """The position of the fold: the newest stamp, and the number of its rows."""
    return folded.last, len(folded.keys)


def replay_overrides(folded: FoldedLedger, waiting: list[Override], row: LedgerRow | None) -> None:
    """Apply the overrides that come before `row` (None: all), and remove them from `waiting`, which is sorted."""
    # The number of this row within its stamp.
    nth = 1 + (len(folded.keys) if row is not None and row.stamp == folded.last else 0)
    while waiting and (row is None or (waiting[0].after, waiting[0].nth) < (row.stamp, nth)):
        override = waiting.pop(0)
        weakness = folded.tags.get(override.tag)
        if weakness is not None:
            folded.tags[override.tag] = replace(weakness, status=override.status)


def _tested(folded: FoldedLedger, row: LedgerRow, beside: FoldInputs) -> list[str]:
    """The tags that the session tested: as recorded, otherwise the gaps seen before with its pattern (SPEC L-21)."""
    named = beside.tested(row)
    if named is None:
        named = folded.patterns.get(row.pattern, {}) if row.pattern != UNKNOWN else ()
    return list(dict.fromkeys((*named, *beside.also.get(row.stamp, ()))))


def _record_failure(folded: FoldedLedger, tag: str, stamp: str, session: str, beside: FoldInputs) -> bool:
    before = _current(folded, tag, stamp, beside)
    if before is None:
        folded.tags[tag] = lifecycle.start_weakness(tag, stamp, session)
    else:
        folded.tags[tag] = lifecycle.record_failure(before, stamp, session)
    return True


def _record_clean(folded: FoldedLedger, tag: str, stamp: str, session: str, beside: FoldInputs) -> bool:
    before = _current(folded, tag, stamp, beside)
    if before is None:
        return False
    after = lifecycle.record_clean(
        before, stamp, session, lambda w: prove_resolution(w, beside.has_row).proved
    )
    folded.tags[tag] = after
    return after is not before


def _current(folded: FoldedLedger, tag: str, stamp: str, beside: FoldInputs) -> Weakness | None:
    """The weakness before a session of this stamp. One that only the profile has counts from its own stamp on."""
    weakness = folded.tags.get(tag)
    if weakness is None:
        given = beside.given.get(tag)
        return given if given is not None and given.tested < stamp else None
    return weakness


def remember_row(folded: FoldedLedger, row: LedgerRow) -> None:
    """Add a row's gaps to its pattern, and its verdict and interval to its problem."""
    if row.tags:
        folded.patterns.setdefault(row.pattern, {}).update(dict.fromkeys(row.tags))
    past = folded.problems.get(row.problem, ProblemHistory())
    interval = read_interval(row.stamp, row.review)
    sessions = (*past.sessions[1 - PASTS :], (row.stamp, row.verdict))
    if interval is None:
        folded.problems[row.problem] = ProblemHistory(sessions, past.interval, past.review)
    else:
        folded.problems[row.problem] = ProblemHistory(sessions, interval, row.review)


def describe_trajectory(past: ProblemHistory | None) -> str:
    """One sentence on the earlier sessions of a problem, from the ledger (SPEC L-40)."""
    if past is None or not past.sessions:
        return "Trajectory: first session of this problem."
    sessions = ", ".join(f"{verdict} ({stamp[:10]})" for stamp, verdict in past.sessions)
    return f"Trajectory: before this, {sessions}."
