"""From ledger rows to what is known: each weakness' course, each pattern's gaps, each problem's last reviews.

Pure, row by row, in the order of the stamps and then of the ledger (SPEC L-47). What a person changed in the profile
is replayed at its place (L-31); what a session tested comes in beside its row (L-21). Nothing here writes or places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from tacitd_handlers.learner import lifecycle
from tacitd_handlers.learner.intervals import scheduled
from tacitd_handlers.learner.ledger_md import Key, Row
from tacitd_handlers.learner.lifecycle import Weakness
from tacitd_handlers.learner.resolution import prove
from tacitd_handlers.learner.words import UNKNOWN, names_a_session

PASTS = 3
"""Earlier sessions of a problem that are remembered, for the trajectory (SPEC L-40)."""
NEWEST = 20
"""Sessions that Session History has room for (SPEC L-32)."""
REMEMBERED = 2 * NEWEST
"""Rows that are kept at hand: those that have just left Session History are looked at once more."""


@dataclass(frozen=True, slots=True)
class Past:
    """What is known of a problem: its last sessions, and the interval that it was scheduled with last."""

    sessions: tuple[tuple[str, str], ...] = ()
    """(stamp, verdict), oldest first."""
    interval: int | None = None
    review: str = ""
    """The latest date that parses; "" where none does."""


LAST = 1 << 30
"""After every row of a stamp."""


@dataclass(frozen=True, slots=True, order=True)
class Override:
    """A status that did not come from the rows: a person wrote it (SPEC L-31), or room had to be made (L-27). It holds
    from the `nth` row of the stamp `after` on, until the next session says otherwise."""

    after: str
    nth: int
    tag: str
    status: str


@dataclass(slots=True)
class Folded:
    """What the rows so far say."""

    last: str = ""
    """The newest stamp."""
    keys: set[Key] = field(default_factory=set)
    """The rows of that stamp, so that none counts twice (SPEC L-23)."""
    rows: int = 0
    tags: dict[str, Weakness] = field(default_factory=dict)
    patterns: dict[str, dict[str, None]] = field(default_factory=dict)
    """The gaps seen with each pattern, in the order of their first row."""
    problems: dict[str, Past] = field(default_factory=dict)
    newest: list[Row] = field(default_factory=list)
    """The newest rows, oldest first."""


@dataclass(frozen=True, slots=True)
class Beside:
    """What the ledger does not hold."""

    given: Mapping[str, Weakness] = field(default_factory=dict)
    """Weaknesses that a person had in the profile before any row showed them."""
    tested: Callable[[Row], Iterable[str] | None] = lambda row: None
    """The tags that a session tested; None: nobody said (SPEC L-21)."""
    also: Mapping[str, Iterable[str]] = field(default_factory=dict)
    """By stamp, tags that were tested beside that: Claude wrote so in the profile."""
    has_row: Callable[[str], bool] = lambda stamp: True


def in_order(rows: Iterable[Row]) -> list[Row]:
    """By stamp; rows of one stamp as they stand in the ledger. Each key once."""
    seen: set[Key] = set()
    ordered: list[Row] = []
    for row in sorted(rows, key=lambda row: row.stamp):
        if row.key not in seen:
            seen.add(row.key)
            ordered.append(row)
    return ordered


def step(folded: Folded, row: Row, beside: Beside) -> list[str]:
    """Take in one row that is not older than `folded.last`; return the tags it touched, those it showed first."""
    if row.stamp != folded.last:
        folded.keys = set()
    if row.key in folded.keys:
        return []
    folded.last, folded.rows = row.stamp, folded.rows + 1
    folded.keys.add(row.key)
    session = row.session if names_a_session(row.session) else f"{row.session}@{row.stamp}"
    shown = row.tags
    clean = [tag for tag in _tested(folded, row, beside) if tag not in shown]
    touched = [tag for tag in shown if _observe(folded, tag, row.stamp, session, beside)]
    touched += [tag for tag in clean if _pass(folded, tag, row.stamp, session, beside)]
    remember(folded, row)
    folded.newest.append(row)
    del folded.newest[:-REMEMBERED]
    return touched


def place(folded: Folded) -> tuple[str, int]:
    """Where the fold stands: the newest stamp, and how many of its rows."""
    return folded.last, len(folded.keys)


def replay(folded: Folded, waiting: list[Override], row: Row | None) -> None:
    """Let those overrides hold that were made before this row (None: all), and take them from `waiting` (in order)."""
    nth = 1 + (len(folded.keys) if row is not None and row.stamp == folded.last else 0)
    while waiting and (row is None or (waiting[0].after, waiting[0].nth) < (row.stamp, nth)):
        override = waiting.pop(0)
        weakness = folded.tags.get(override.tag)
        if weakness is not None:
            folded.tags[override.tag] = replace(weakness, status=override.status)


def _tested(folded: Folded, row: Row, beside: Beside) -> list[str]:
    """SPEC L-21: what the session says it tested, else the gaps seen before with its pattern."""
    named = beside.tested(row)
    if named is None:
        named = folded.patterns.get(row.pattern, {}) if row.pattern != UNKNOWN else ()
    return list(dict.fromkeys((*named, *beside.also.get(row.stamp, ()))))


def _observe(folded: Folded, tag: str, stamp: str, session: str, beside: Beside) -> bool:
    before = _current(folded, tag, stamp, beside)
    if before is None:
        folded.tags[tag] = lifecycle.new(tag, stamp, session)
    else:
        folded.tags[tag] = lifecycle.observed(before, stamp, session)
    return True


def _pass(folded: Folded, tag: str, stamp: str, session: str, beside: Beside) -> bool:
    before = _current(folded, tag, stamp, beside)
    if before is None:
        return False
    after = lifecycle.passed(before, stamp, session, lambda w: prove(w, beside.has_row).holds)
    folded.tags[tag] = after
    return after is not before


def _current(folded: Folded, tag: str, stamp: str, beside: Beside) -> Weakness | None:
    """A weakness as it stands before a session of this stamp; one that only the profile knew counts from there on."""
    weakness = folded.tags.get(tag)
    if weakness is None:
        given = beside.given.get(tag)
        return given if given is not None and given.tested < stamp else None
    return weakness


def remember(folded: Folded, row: Row) -> None:
    """What the next sessions must know of this one: its gaps, and its problem's interval."""
    if row.tags:
        folded.patterns.setdefault(row.pattern, {}).update(dict.fromkeys(row.tags))
    past = folded.problems.get(row.problem, Past())
    interval = scheduled(row.stamp, row.review)
    sessions = (*past.sessions[1 - PASTS :], (row.stamp, row.verdict))
    if interval is None:
        folded.problems[row.problem] = Past(sessions, past.interval, past.review)
    else:
        folded.problems[row.problem] = Past(sessions, interval, row.review)


def trajectory(past: Past | None) -> str:
    """One sentence on the earlier sessions of a problem (SPEC L-40). Only what the ledger says."""
    if past is None or not past.sessions:
        return "Trajectory: first session of this problem."
    said = ", ".join(f"{verdict} ({stamp[:10]})" for stamp, verdict in past.sessions)
    return f"Trajectory: before this, {said}."
