"""Which session this is, and its one timestamp (SPEC L-47 to L-49). Pure: texts and tables in.

The order is the seed's: what was given or printed at session start, then the session-state file, then the clock. The
file counts only where it is this session's: one that another session left behind says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tacitd_handlers.learner.words import MANUAL, STAMP, name_of, names_a_session, time_of

STATE_TEXT = """\
# LeetCode Session In Progress (saved before compaction)
- You are in a leetcode-teacher session. Read {profile} for context.
- Session ID: {session}
- Session Timestamp: {stamp}
- Write-back required at session end: Step 8B (learning) or R7B (recall).
- Write ledger row first, then profile entry.
"""
_FIELD = re.compile(r"^- Session (ID|Timestamp): (.+?)[ \t]*$", re.M)


@dataclass(frozen=True, slots=True)
class Sitting:
    """A session, as every write of it names it."""

    session: str
    stamp: str


def state_text(sitting: Sitting, profile: str) -> str:
    """The session-state file."""
    return STATE_TEXT.format(profile=profile, session=sitting.session, stamp=sitting.stamp)


def parse_state(text: str) -> Sitting | None:
    """Given the session-state file's text, return what it says; None where it is not whole."""
    found = dict(_FIELD.findall(text))
    session, stamp = found.get("ID", ""), found.get("Timestamp", "")
    return Sitting(session, stamp) if session and re.fullmatch(STAMP, stamp) and time_of(stamp) else None


def sitting(session: str, stamp: str, printed: Mapping[str, str], state: Sitting | None, now: str) -> Sitting:
    """Given what is known ("" for what is not), return the session.

    `printed`: by session id, in the order of time, the stamps that were told at session start. `now`: the clock's.
    """
    who = name_of(session) or _told(printed, state) or MANUAL
    if stamp:
        return Sitting(who, stamp)
    if names_a_session(who) and who in printed:
        return Sitting(who, printed[who])
    if state is not None and state.session == who and names_a_session(who):
        return Sitting(who, state.stamp)
    return Sitting(who, now)


def _told(printed: Mapping[str, str], state: Sitting | None) -> str:
    """The session-state file's id, where it is that of the newest session that was told its stamp."""
    newest = [*printed][-1] if printed else ""
    return state.session if state is not None and state.session == newest else ""
