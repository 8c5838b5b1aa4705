"""Where the learner's files are, and what tacitd knows besides them: the rows of schema.sql as values, and a session's one timestamp.

Without pydantic, because a session start waits for it. No counts are stored: those follow from the ledger. If the store is lost,
the tags that sessions reported as tested are lost, and what a person removed.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import astuple

from tacitd.clock import local_minutes
from tacitd.state import paths
from tacitd_handlers.learner.ledger_file import (
    MANUAL,
    LedgerRow,
    RowKey,
    format_row,
    name_of,
    names_a_session,
    parse_ledger,
    time_of,
)

if TYPE_CHECKING:
    from tacitd.contract import Rows, Tx
    from tacitd.handler import Footprint

PROFILE, LEDGER = "leetcode-teacher-profile.md", "leetcode-teacher-ledger.md"
SESSION_STATE = "leetcode-session-state.md"
PREFIX = "TACITD_LEARNER__"
KEPT_SESSIONS = 200
"""Sessions that are kept, the newest; the last one of each project in which was taught is kept besides."""


class LearnerPaths(Struct, frozen=True):
    profile: Path
    ledger: Path
    session_state: Path
    """Written at a compaction."""
    user: Path
    """The person's home directory, for `~`."""

    def shorten_profile(self) -> str:
        inside = self.profile.is_relative_to(self.user)
        return f"~/{self.profile.relative_to(self.user)}" if inside else str(self.profile)


def resolve_paths(environ: Mapping[str, str], profile: str = "", ledger: str = "") -> LearnerPaths:
    """The paths (SPEC L-01). `profile` and `ledger` are as configured, "" for the default. Links stay as they are."""
    base, user = paths.config_dir(environ), paths.find_home(environ)

    def expand(text: str) -> Path:
        return Path(os.path.abspath(f"{user}{text[1:]}" if text.startswith("~/") else text))  # noqa: PTH100

    return LearnerPaths(
        expand(profile) if profile else base / PROFILE,
        expand(ledger) if ledger else base / LEDGER,
        base / SESSION_STATE,
        user,
    )


def load_paths(environ: Mapping[str, str]) -> LearnerPaths:
    """The paths as configured, unvalidated; variables override the file.

    A file that is not TOML counts as empty: `tacitd config check` reports it, and a session start must not fail for
    it.
    """
    file, section = paths.config_file(environ), None
    if file.exists():
        import tomllib  # most people have no such file

        with suppress(OSError, ValueError):
            section = tomllib.loads(paths.read_file(file).decode("utf-8-sig")).get("learner")
    given = section if isinstance(section, dict) else {}
    profile, ledger = (
        environ.get(f"{PREFIX}{name.upper()}", given.get(name, "")) for name in ("profile", "ledger")
    )
    return resolve_paths(environ, str(profile), str(ledger))


def learner_footprint(environ: Mapping[str, str]) -> Footprint:
    """The files that a purge removes and those that it keeps, which belong to the person, and their directories."""
    from tacitd.handler import Footprint

    at = load_paths(environ)
    places = dict.fromkeys(file.parent for file in (at.profile, at.ledger, at.session_state))
    return Footprint([at.session_state], [at.ledger, at.profile], list(places))


# --- what is known


class ReportRecord(Struct):
    """A row of the ledger that was reported, or that is in the profile."""

    row: LedgerRow
    tested: tuple[str, ...] | None = None
    """The tags that the session tested. None if they were not given (SPEC L-21)."""
    observations: str = ""
    texts: dict[str, str] = field(default_factory=dict)
    """The descriptions of new gaps, by tag."""
    is_done: bool = False
    """Whether it is in both files: then only `tested` is needed."""


class TagRecord(Struct):
    """What was decided about a gap tag; see schema.sql."""

    label: str = ""
    removed: bool = False
    waits: bool = False
    description: str = ""


class LearnerState(Struct):
    reports: dict[RowKey, ReportRecord] = field(default_factory=dict)
    tags: dict[str, TagRecord] = field(default_factory=dict)

    @property
    def aliases(self) -> dict[str, str]:
        return {tag: record.label for tag, record in self.tags.items() if record.label}

    @property
    def waiting(self) -> list[str]:
        return [tag for tag, record in self.tags.items() if record.waits]

    @property
    def removed(self) -> list[str]:
        return [tag for tag, record in self.tags.items() if record.removed]

    @property
    def tested(self) -> dict[RowKey, tuple[str, ...]]:
        """The tags that sessions reported as tested, by the keys of their rows."""
        return {key: one.tested for key, one in self.reports.items() if one.tested is not None}

    def find_tag(self, tag: str) -> TagRecord:
        return self.tags.setdefault(tag, TagRecord())

    def set_waiting(self, tag: str, *, waits: bool) -> None:
        """Let a tag wait as the last one, or no more."""
        record = self.tags.pop(tag, TagRecord())
        record.waits = waits
        self.tags[tag] = record

    def finish_row(self, row: LedgerRow) -> None:
        """Note that a row is in the profile."""
        record = self.reports.setdefault(row.key, ReportRecord(row))
        record.is_done, record.observations, record.texts = True, "", {}


def read_state(rows: Rows) -> LearnerState:
    state = LearnerState()
    found = rows("SELECT row, tested, observations, descriptions, done FROM learner_report ORDER BY number")
    for line, tested, observations, texts, done in found:
        for row in parse_ledger(line.encode()).rows:
            named = None if tested is None else tuple(json.loads(tested))
            state.reports[row.key] = ReportRecord(row, named, observations, json.loads(texts), bool(done))
    for tag, label, removed, waits, description in rows("SELECT * FROM learner_tag ORDER BY rowid"):
        state.tags[tag] = TagRecord(label, bool(removed), bool(waits), description)
    return state


def store_state(tx: Tx, state: LearnerState) -> None:
    add_reports(tx, state.reports.values())
    kept = [(tag, *astuple(one)) for tag, one in state.tags.items() if one != TagRecord()]
    tx.execute("DELETE FROM learner_tag")
    tx.executemany("INSERT INTO learner_tag VALUES(?, ?, ?, ?, ?)", kept)


def add_reports(tx: Tx, reports: Iterable[ReportRecord]) -> None:
    """Store reports; one whose row is known gets the other fields."""
    values = [
        (
            format_row(one.row),
            json.dumps(one.tested),
            one.observations,
            json.dumps(one.texts, ensure_ascii=False),
            one.is_done,
        )
        for one in reports
    ]
    tx.executemany(
        "INSERT INTO learner_report(row, tested, observations, descriptions, done) VALUES(?, nullif(?, 'null'), ?, ?, ?) "
        "ON CONFLICT(row) DO UPDATE SET observations = excluded.observations, "
        "descriptions = excluded.descriptions, done = excluded.done WHERE done < excluded.done",
        values,
    )


def read_waiting(rows: Rows) -> list[str]:
    return [tag for (tag,) in rows("SELECT tag FROM learner_tag WHERE waits ORDER BY rowid")]


def add_notices(tx: Tx, lines: Iterable[str]) -> None:
    """Print these lines at the next session start, each once, unless the last session got them already."""
    tx.executemany("INSERT OR IGNORE INTO learner_notice(text) VALUES(?)", [(line,) for line in lines])


def note_session(
    tx: Tx,
    session: str,
    *,
    stamp: str = "",
    teaches: bool = False,
    root: str = "",
    first_start: bool = False,
) -> None:
    """Store what is known of a session, and forget sessions long ago. Its stamp stays as it was first."""
    if names_a_session(session):
        tx.execute(
            "INSERT INTO learner_session VALUES(?, ?, ?, ?, ?) ON CONFLICT(session) DO UPDATE SET "
            "stamp = coalesce(nullif(stamp, ''), excluded.stamp), teaches = max(teaches, excluded.teaches), root = coalesce(nullif(excluded.root, ''), root), "
            "first_start = max(first_start, excluded.first_start)",
            *(session, stamp, teaches, root, first_start),
        )
    tx.execute(
        "DELETE FROM learner_session WHERE rowid <= (SELECT max(rowid) FROM learner_session) - ? AND rowid NOT IN "
        "(SELECT max(rowid) FROM learner_session WHERE root <> '' GROUP BY root)",
        KEPT_SESSIONS,
    )


# --- a session's id and its one timestamp (SPEC L-47 to L-49)

_STATE = """\
# LeetCode Session In Progress (saved before compaction)
- You are in a leetcode-teacher session. Read {profile} for context.
- Session ID: {session}
- Session Timestamp: {stamp}
- Write-back required at session end: Step 8B (learning) or R7B (recall).
- Write ledger row first, then profile entry.
"""


class SessionStamp(Struct, frozen=True):
    session: str
    stamp: str


def format_state(at: SessionStamp, profile: str) -> str:
    return _STATE.format(profile=profile, session=at.session, stamp=at.stamp)


def read_session_state(path: Path) -> SessionStamp | None:
    """The session in the session-state file; None if it is missing or incomplete."""
    try:
        text = paths.read_file(path).decode("utf-8", "replace")
    except OSError:
        return None
    found = dict(re.findall(r"^- Session (ID|Timestamp): (.+?)[ \t]*$", text, re.M))
    session, stamp = found.get("ID", ""), found.get("Timestamp", "")
    return SessionStamp(session, stamp) if session and time_of(stamp) else None


def find_stamp(rows: Rows, session: str, stamp: str, session_state: Path, now: str) -> SessionStamp:
    """The session's id and stamp. `session` and `stamp`: as given, "" for unknown ones; `now`: the clock's local stamp.

    The precedence is the seed's: what is given or was printed at the session's start, then the session-state file, then the session's
    first record, then the clock. The file counts only for its own session, because it can be left over from another one (SPEC L-48).
    """
    known: dict[str, str] = dict(
        rows("SELECT session, stamp FROM learner_session WHERE stamp <> '' ORDER BY rowid")
    )
    left, newest = read_session_state(session_state), [*known][-1:]
    who = name_of(session) or (left.session if left is not None and [left.session] == newest else MANUAL)
    if not stamp and names_a_session(who):
        stamp = known.get(who, "") or (left.stamp if left is not None and left.session == who else "")
    began = rows("SELECT started FROM session WHERE id = ? AND started > 0.0 ORDER BY started", who)
    return SessionStamp(who, stamp or (local_minutes(began[0][0]) if began else now))
