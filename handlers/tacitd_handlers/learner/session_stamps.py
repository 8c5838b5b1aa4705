"""The session's id and its one timestamp (SPEC L-47 to L-49). Pure: texts and tables in.

The precedence is the seed's: the value given or printed at session start, then the session-state file, then the
clock. The file counts only if its session id matches, because it can be left over from another session (SPEC L-48).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from tacitd_handlers.learner.vocabulary import MANUAL, STAMP, name_of, names_a_session, time_of

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


def resolve_session(
    session: str, stamp: str, printed: Mapping[str, str], state: SessionStamp | None, now: str
) -> SessionStamp:
    """Resolve the session from the known values, "" for unknown ones.

    `printed` are the stamps printed at session starts, by session id, oldest first. `now` is the clock's local stamp.
    """
    who = name_of(session) or _newest_shown(printed, state) or MANUAL
    if stamp:
        return SessionStamp(who, stamp)
    if names_a_session(who) and who in printed:
        return SessionStamp(who, printed[who])
    if state is not None and state.session == who and names_a_session(who):
        return SessionStamp(who, state.stamp)
    return SessionStamp(who, now)


def _newest_shown(printed: Mapping[str, str], state: SessionStamp | None) -> str:
    """The session-state file's id, if it is the id of the newest session that was given a stamp."""
    newest = [*printed][-1] if printed else ""
    return state.session if state is not None and state.session == newest else ""
