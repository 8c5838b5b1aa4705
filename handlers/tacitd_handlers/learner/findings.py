"""Problems in the two files and between them, as text for the `check` command. Pure: bytes in, findings out.

Nothing is repaired here. Findings that `--fix` can repair are marked. The others concern text of a person, which only
that person can correct.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tacitd.errors import FileRefusedError
from tacitd_handlers.learner import caps
from tacitd_handlers.learner.fold import NEWEST, in_order
from tacitd_handlers.learner.healing import unheard
from tacitd_handlers.learner.history_md import agrees
from tacitd_handlers.learner.ledger import Ledger
from tacitd_handlers.learner.ledger_md import Bad, Row, has_header, parse, torn
from tacitd_handlers.learner.profile_md import Held, Profile, missing
from tacitd_handlers.learner.profile_md import parse as parse_profile
from tacitd_handlers.learner.specific import is_specific
from tacitd_handlers.learner.state import State
from tacitd_handlers.learner.weakness_md import format_entry
from tacitd_handlers.learner.words import VERDICTS


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem in one of the files."""

    file: str
    """`profile` or `ledger`."""
    where: str
    what: str
    fixable: bool = False
    """Whether `check --fix` repairs it."""


def findings(profile: bytes | None, ledger: bytes, state: State) -> list[Finding]:
    """All findings, those of the ledger first. `profile` is None if the file does not exist."""
    table = parse(ledger)
    rows = in_order(table.rows)
    found = [*_ledger(ledger, table.bad, table.rows)]
    if profile is None:
        if rows:
            found.append(Finding("profile", "", "does not exist", True))
        return found
    try:
        read = parse_profile(profile)
    except FileRefusedError as error:
        return [*found, Finding("profile", "", f"{error.what}: {error.hint}")]
    return [
        *found,
        *_sections(read),
        *_sessions(read, rows, state),
        *_unheard(profile, ledger),
        *_entries(read, state),
    ]


def _ledger(ledger: bytes, bad: Sequence[Bad], rows: Sequence[Row]) -> Iterator[Finding]:
    if ledger and not has_header(ledger):
        yield Finding("ledger", "line 1", "the table has no header")
    if torn(ledger):
        yield Finding("ledger", "last line", "has no newline; the next row adds it")
    for one in bad:
        line = ledger.count(b"\n", 0, one.offset) + 1
        yield Finding("ledger", f"line {line}", f"is skipped: {one.why}: {one.text}")
    for key, number in Counter(row.key for row in rows).items():
        if number > 1:
            yield Finding("ledger", key.stamp, f"{key.problem} occurs {number} times; it counts once")
    for row in rows:
        if row.verdict not in VERDICTS.get(row.mode, ()):
            yield Finding("ledger", row.stamp, f"{row.verdict!r} is not a verdict of the mode {row.mode!r}")


def _sections(profile: Profile) -> Iterator[Finding]:
    for name in missing(profile):
        yield Finding("profile", name, "the section is missing", True)
    for name, number in Counter(name for name, _ in profile.sections).items():
        if number > 1:
            yield Finding("profile", name, f"occurs {number} times; new entries go into the first")


def _sessions(profile: Profile, rows: Sequence[Row], state: State) -> Iterator[Finding]:
    by_key: dict[tuple[str, str, str], Row] = {}
    for row in rows:
        by_key.setdefault((row.stamp, row.problem, row.mode), row)
    there: set[tuple[str, str, str]] = set()
    for held in profile.sessions:
        yield from _one_session(held, by_key.get(held.session.key), there)
    gone = {*state.gone}
    for row in rows[-NEWEST:]:
        key = (row.stamp, row.problem, row.mode)
        if key not in there and key not in gone and row.stamp > state.aged:
            yield Finding("profile", row.stamp, f"{row.problem} is only in the ledger", True)
    if len(profile.sessions) > NEWEST:
        yield Finding(
            "profile", "Session History", f"{len(profile.sessions)} entries; {NEWEST} are kept", True
        )


def _one_session(held: Held, row: Row | None, there: set[tuple[str, str, str]]) -> Iterator[Finding]:
    session = held.session
    if session.key in there:
        yield Finding("profile", session.stamp, f"{session.problem} has two entries")
    there.add(session.key)
    if session.verdict not in VERDICTS.get(session.mode, ()):
        yield Finding(
            "profile",
            session.stamp,
            f"{session.verdict!r} is not a verdict of the mode {session.mode!r}",
            row is not None,
        )
    if session.faults:
        yield Finding("profile", session.stamp, f"{', '.join(session.faults)} missing", row is not None)
    elif row is not None and not agrees(session, row):
        said = f"{session.verdict}, {session.gaps}, {session.review}"
        yield Finding(
            "profile", session.stamp, f"{said}; the ledger has {row.verdict}, {row.gaps}, {row.review}", True
        )


def _unheard(profile: bytes, ledger: bytes) -> Iterator[Finding]:
    for row in unheard(profile, Ledger(ledger)):
        yield Finding("ledger", row.stamp, f"{row.problem} is only in the profile", True)


def _entries(profile: Profile, state: State) -> Iterator[Finding]:
    for placed in profile.weaknesses:
        entry = placed.entry
        if entry.faults:
            what = f"cannot be read: {', '.join(entry.faults)}"
            yield Finding("profile", entry.label, what, entry.status is not None)
        if not is_specific(entry.description):
            yield Finding("profile", entry.label, "the description names no input class or code pattern")
    active = sum(not placed.resolved for placed in profile.weaknesses)
    if active > caps.ACTIVE:
        yield Finding(
            "profile",
            "Known Weaknesses",
            f"{active} active entries; the maximum is {caps.ACTIVE}, so new ones wait",
        )
    for tag, weakness in state.folded.tags.items():
        if tag in state.seats.pending:
            yield Finding("profile", tag, "waits for room in Known Weaknesses")
        if tag in state.removed:
            first = format_entry(tag, state.texts.get(tag, tag), weakness)[0]
            yield Finding(
                "profile", tag, f"was removed and is not added again (`forget --undo` restores it): {first}"
            )
