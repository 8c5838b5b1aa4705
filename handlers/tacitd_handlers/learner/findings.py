"""Problems in the two files and between them, as text for the `check` command. Pure: bytes in, findings out.

Nothing is repaired here. Findings that `--fix` can repair are marked. The others concern text of a person, which only
that person can correct.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from tacitd.errors import FileRefusedError
from tacitd_handlers.learner.entry_matching import match_entries
from tacitd_handlers.learner.formats.history_md import matches_row
from tacitd_handlers.learner.formats.ledger_md import BadLine, LedgerRow, has_header, is_torn, parse_ledger
from tacitd_handlers.learner.formats.profile_md import (
    ABOUT,
    LearnerProfile,
    find_missing,
    parse_profile,
)
from tacitd_handlers.learner.formats.weakness_md import format_entry
from tacitd_handlers.learner.ledger import Ledger
from tacitd_handlers.learner.ledger_repair import find_missing_rows
from tacitd_handlers.learner.reconcile_types import ReconcileResult
from tacitd_handlers.learner.render import find_doubles
from tacitd_handlers.learner.rules import capacity
from tacitd_handlers.learner.rules.description_check import is_specific
from tacitd_handlers.learner.rules.ledger_fold import NEWEST, in_order
from tacitd_handlers.learner.rules.vocabulary import VERDICTS
from tacitd_handlers.learner.session_pairing import PairedSession, is_among, key_of_row, pair_sessions
from tacitd_handlers.learner.start_lines import format_command, format_questions
from tacitd_handlers.learner.state import LearnerState, SessionKey


class CheckFinding(Struct, frozen=True):
    """One problem in one of the files."""

    file: str
    """`profile` or `ledger`."""
    where: str
    what: str
    fixable: bool = False
    """Whether `check --fix` repairs it."""


def check_files(
    profile: bytes | None, ledger: bytes, state: LearnerState, planned: ReconcileResult | None = None
) -> list[CheckFinding]:
    """All findings, those of the ledger first. `profile` is None if the file does not exist.

    `planned`: what the next comparison of the files would do. It also finds entries of one weakness that nothing has matched yet.
    """
    table = parse_ledger(ledger)
    rows = in_order(table.rows)
    found = [*_ledger(ledger, table.bad, table.rows)]
    if profile is None:
        if rows:
            found.append(CheckFinding("profile", "", "does not exist", True))
        return found
    try:
        read = parse_profile(profile)
    except FileRefusedError as error:
        return [*found, CheckFinding("profile", "", f"{error.what}: {error.hint}")]
    return [
        *found,
        *_sections(read),
        *_sessions(read, rows, state),
        *_missing_rows(profile, ledger),
        *_entries(read, state, planned),
    ]


def _ledger(ledger: bytes, bad: Sequence[BadLine], rows: Sequence[LedgerRow]) -> Iterator[CheckFinding]:
    if ledger and not has_header(ledger):
        yield CheckFinding("ledger", "line 1", "the table has no header")
    if is_torn(ledger):
        yield CheckFinding("ledger", "last line", "has no newline; the next row adds it")
    for one in bad:
        line = ledger.count(b"\n", 0, one.offset) + 1
        yield CheckFinding("ledger", f"line {line}", f"is skipped: {one.why}: {one.text}")
    for key, number in Counter(row.key for row in rows).items():
        if number > 1:
            yield CheckFinding("ledger", key.stamp, f"{key.problem} occurs {number} times; it counts once")
    for row in rows:
        if row.verdict not in VERDICTS.get(row.mode, ()):
            yield CheckFinding(
                "ledger", row.stamp, f"{row.verdict!r} is not a verdict of the mode {row.mode!r}"
            )


def _sections(profile: LearnerProfile) -> Iterator[CheckFinding]:
    for name in find_missing(profile):
        yield CheckFinding("profile", name, "the section is missing", True)
    for name, number in Counter(name for name, _ in profile.sections).items():
        if number > 1:
            what = "nothing is written into it" if name == ABOUT else "new entries go into the first"
            yield CheckFinding("profile", name, f"occurs {number} times; {what}")


def _sessions(
    profile: LearnerProfile, rows: Sequence[LedgerRow], state: LearnerState
) -> Iterator[CheckFinding]:
    by_stamp: dict[str, list[LedgerRow]] = {}
    for row in rows:
        by_stamp.setdefault(row.stamp, []).append(row)

    def rows_at(stamp: str) -> Sequence[LedgerRow]:
        return by_stamp.get(stamp, ())

    there: set[SessionKey] = {*profile.strays}
    doubles = find_doubles(profile, rows_at)
    for held in pair_sessions(profile.sessions, rows_at):
        yield from _one_session(held, there, fixable=bool(doubles))
    for row in rows[-NEWEST:]:
        key = key_of_row(row)
        if not is_among(key, there) and not is_among(key, state.gone) and row.stamp > state.aged:
            yield CheckFinding("profile", row.stamp, f"{row.problem} is only in the ledger", True)
    if len(profile.sessions) > NEWEST:
        yield CheckFinding(
            "profile", "Session History", f"{len(profile.sessions)} entries; {NEWEST} are kept", True
        )


def _one_session(held: PairedSession, there: set[SessionKey], *, fixable: bool) -> Iterator[CheckFinding]:
    """The findings of one entry, which is added to `there`. `fixable`: whether a double of it can be removed."""
    session, row = held.placed.session, held.row
    if is_among(held.key, there):
        yield CheckFinding("profile", session.stamp, f"{session.problem} has two entries", fixable)
    there.add(held.key)
    if session.verdict not in VERDICTS.get(session.mode, ()):
        yield CheckFinding(
            "profile",
            session.stamp,
            f"{session.verdict!r} is not a verdict of the mode {session.mode!r}",
            row is not None,
        )
    if session.missing_lines:
        yield CheckFinding(
            "profile", session.stamp, f"{', '.join(session.missing_lines)} missing", row is not None
        )
    elif row is not None and not matches_row(session, row):
        written = f"{session.verdict}, {session.gaps}, {session.review}"
        yield CheckFinding(
            "profile",
            session.stamp,
            f"{written}; the ledger has {row.verdict}, {row.gaps}, {row.review}",
            True,
        )


def _missing_rows(profile: bytes, ledger: bytes) -> Iterator[CheckFinding]:
    for row in find_missing_rows(profile, Ledger(ledger)):
        yield CheckFinding("ledger", row.stamp, f"{row.problem} is only in the profile", True)


def _entries(
    profile: LearnerProfile, state: LearnerState, planned: ReconcileResult | None
) -> Iterator[CheckFinding]:
    known = state if planned is None else planned.state
    after = parse_profile(planned.data) if planned is not None and planned.data is not None else profile
    kept = {placed.entry.label for placed in after.weaknesses}
    for placed in profile.weaknesses:
        entry = placed.entry
        if entry.missing_fields:
            what = f"cannot be read: {', '.join(entry.missing_fields)}"
            yield CheckFinding("profile", entry.label, what, entry.status is not None)
        if not is_specific(entry.description):
            yield CheckFinding("profile", entry.label, "the description names no input class or code pattern")
    for text in format_questions(known.asked):
        yield CheckFinding("profile", "Known Weaknesses", text)
    matched = match_entries(profile, known.folded.tags, known.aliases, known.separate)
    for tag, placed in matched.by_tag.items():
        if others := matched.find_others(tag):
            is_ours = not any(other.entry.label in kept for other in others)
            other = "is removed" if is_ours else "is not changed"
            what = f"has two entries; {placed.entry.label} is kept up to date, the other {other}"
            yield CheckFinding("profile", tag, what, is_ours)
    active = sum(not placed.resolved for placed in profile.weaknesses)
    if active > capacity.MAX_ACTIVE:
        yield CheckFinding(
            "profile",
            "Known Weaknesses",
            f"{active} active entries; the maximum is {capacity.MAX_ACTIVE}, so new ones wait",
            True,
        )
    resolved = len(profile.weaknesses) - active
    if resolved > capacity.MAX_RESOLVED:
        what = f"{resolved} resolved entries; the maximum is {capacity.MAX_RESOLVED}, and yours are never removed"
        yield CheckFinding("profile", "Resolved", what)
    for tag, weakness in state.folded.tags.items():
        if tag in state.lists.pending:
            yield CheckFinding("profile", tag, "waits for room in Known Weaknesses")
        if tag in state.removed:
            how = format_command("forget --undo", tag)
            first = format_entry(tag, state.texts.get(tag, tag), weakness)[0]
            yield CheckFinding(
                "profile", tag, f"was removed and is not added again (`{how}` restores it): {first}"
            )
