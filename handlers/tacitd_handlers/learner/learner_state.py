"""What tacitd knows besides the two files, as one JSON document with a table each for sessions, reports, tags and notices.

It holds no counts: those follow from the ledger. If it is lost, the tags that sessions reported as tested are lost, and
what a person removed. This module defines the format; it decides nothing.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct, field

from tacitd_handlers.learner.ledger_file import LedgerRow, RowKey

VERSION = 2
KEPT_SESSIONS = 200
"""Sessions whose stamps are kept, the newest."""


class SessionRecord(Struct):
    """A session, and its one stamp (SPEC L-48)."""

    stamp: str = ""
    first_start: bool = False
    """Whether it was the very first session (SPEC L-51)."""
    root: str = ""
    """The project in which it taught, "" if it did not."""


class ReportRecord(Struct, frozen=True):
    """One problem of a session as it was reported."""

    row: LedgerRow
    tested: tuple[str, ...] | None = None
    """The tags that the session tested. None if they were not given (SPEC L-21)."""
    observations: str = ""
    texts: dict[str, str] = field(default_factory=dict)
    """The descriptions of new gaps, by tag."""
    is_done: bool = False
    """Whether it is in both files. A report that is done keeps only `tested`."""


class TagRecord(Struct):
    """What was decided about a gap tag."""

    label: str = ""
    """The label of its entry, if that is not the tag (SPEC L-11)."""
    removed: bool = False
    """Whether a person removed its entry: it is not written again (SPEC L-30)."""
    waiting_since: str = ""
    """The stamp since which it waits for room, "" if it does not (SPEC L-27). Tags wait in the order of the table."""
    description: str = ""
    """That of its entry, also while the entry is not in the profile."""


class LearnerState(Struct):
    """The content of learner.json."""

    version: int = VERSION
    rows: int = 0
    """The ledger's rows that are in the profile, from the first on; later ones are if their report is done."""
    last_row: LedgerRow | None = None
    """The last of them. If it is elsewhere in the ledger, the ledger was changed by hand."""
    sessions: dict[str, SessionRecord] = field(default_factory=dict)
    reports: list[ReportRecord] = field(default_factory=list)
    tags: dict[str, TagRecord] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    """Lines that the next session start prints."""
    written: dict[str, tuple[str, ...]] | None = None
    """By label, First observed, Last tested and Last failed of each entry as of the last write. None: nothing is known."""
    restored: list[str] = field(default_factory=list)
    """Sections that a session start restored empty: their entries must be written again."""

    @property
    def places(self) -> list[str]:
        """The projects in which teaching sessions worked."""
        return list(dict.fromkeys(record.root for record in self.sessions.values() if record.root))

    @property
    def aliases(self) -> dict[str, str]:
        """The labels that persons gave, by tag."""
        return {tag: record.label for tag, record in self.tags.items() if record.label}

    @property
    def waiting(self) -> list[str]:
        """The tags that wait for room, in order."""
        return [tag for tag, record in self.tags.items() if record.waiting_since]

    @property
    def removed(self) -> list[str]:
        """The tags that a person removed."""
        return [tag for tag, record in self.tags.items() if record.removed]

    @property
    def tested(self) -> dict[RowKey, tuple[str, ...]]:
        """The tags that sessions reported as tested, by the keys of their rows."""
        return {report.row.key: report.tested for report in self.reports if report.tested is not None}

    def find_tag(self, tag: str) -> TagRecord:
        """The record of a tag, which is made if there is none."""
        return self.tags.setdefault(tag, TagRecord())

    def set_waiting(self, tag: str, since: str) -> None:
        """Let a tag wait as the last one; "" ends its waiting."""
        record = self.tags.pop(tag, TagRecord())
        record.waiting_since = since
        self.tags[tag] = record

    def add_notices(self, lines: list[str]) -> None:
        """Print these lines at the next session start, each once."""
        self.notices += [line for line in lines if line not in self.notices]

    def finish_reports(self, in_profile: set[RowKey], behind: set[RowKey]) -> None:
        """Mark the reports of these rows as done. `behind` are rows after the first `rows` ones."""
        kept: list[ReportRecord] = []
        for report in self.reports:
            if report.row.key in in_profile:
                report = ReportRecord(report.row, report.tested, is_done=True)
            if not report.is_done or report.tested is not None or report.row.key in behind:
                kept.append(report)
        self.reports = kept


_DECODER = msgspec.json.Decoder(LearnerState)


def decode_state(data: bytes) -> LearnerState:
    """Given the file's bytes, return the state; an empty one if they are not valid or of another version."""
    try:
        found = _DECODER.decode(data)
    except (msgspec.DecodeError, ValueError):
        return LearnerState()
    return found if found.version == VERSION else LearnerState()


def encode_state(state: LearnerState) -> bytes:
    """Encode the state as the file's bytes."""
    newest = [*state.sessions][-KEPT_SESSIONS:]
    by_root = {record.root: session for session, record in state.sessions.items() if record.root}
    kept = {*newest, *by_root.values()}
    state.sessions = {session: record for session, record in state.sessions.items() if session in kept}
    state.tags = {tag: record for tag, record in state.tags.items() if record != TagRecord()}
    return msgspec.json.encode(state)
