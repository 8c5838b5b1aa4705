"""The session's id and its one timestamp (SPEC L-47 to L-49).

The precedence is the seed's: the value given or printed at session start, then the session-state file, then the
clock. The file counts only if its session id matches, because it can be left over from another session (SPEC L-48).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from tacitd_handlers.learner.vocabulary import MANUAL, STAMP, name_of, names_a_session, time_of

if TYPE_CHECKING:
    from tacitd.contract import Rows

STATE_TEXT = """\
# LeetCode Session In Progress (saved before compaction)
- You are in a leetcode-teacher session. Read {profile} for context.
- Session ID: {session}
- Session Timestamp: {stamp}
- Write-back required at session end: Step 8B (learning) or R7B (recall).
- Write ledger row first, then profile entry.
"""
_FIELD = re.compile(r"^- Session (ID|Timestamp): (.+?)[ \t]*$", re.M)


class SessionStamp(Struct, frozen=True):
    """A session id and stamp, the same in every write of the session."""

    session: str
    stamp: str


def state_text(session: SessionStamp, profile: str) -> str:
    """The text of the session-state file."""
    return STATE_TEXT.format(profile=profile, session=session.session, stamp=session.stamp)


def parse_state(text: str) -> SessionStamp | None:
    """Given the session-state file's text, return its session. None if a field is missing or malformed."""
    found = dict(_FIELD.findall(text))
    session, stamp = found.get("ID", ""), found.get("Timestamp", "")
    return SessionStamp(session, stamp) if session and re.fullmatch(STAMP, stamp) and time_of(stamp) else None


def read_session_state(path: Path) -> SessionStamp | None:
    """The session in the session-state file; None if it is missing or incomplete."""
    try:
        return parse_state(path.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None


def resolve_session(
    session: str, stamp: str, printed: Mapping[str, str], state: SessionStamp | None, now: str
) -> SessionStamp:
    """Resolve the session from the known values, "" for unknown ones.

    `printed` are the stamps of known sessions by id, oldest first. `now` is the clock's local stamp.
    """
    newest = [*printed][-1] if printed else ""
    left = state.session if state is not None and state.session == newest else ""
    who = name_of(session) or left or MANUAL
    if not stamp and names_a_session(who):
        stamp = printed.get(who, "")
        stamp = stamp or (state.stamp if state is not None and state.session == who else "")
    return SessionStamp(who, stamp or now)


def find_stamp(rows: Rows, session: str, stamp: str, session_state: Path, now: str) -> SessionStamp:
    """The session's one stamp (SPEC L-48). `session` and `stamp`: as given, "" for unknown ones; `now`: the clock's local stamp."""
    known: dict[str, str] = dict(
        rows("SELECT session, stamp FROM learner_session WHERE stamp <> '' ORDER BY rowid")
    )
    began = rows("SELECT began FROM learner_session WHERE session = ? AND began <> ''", session)
    left = read_session_state(session_state)
    return resolve_session(session, stamp, known, left, began[0][0] if began else now)
