"""The session's id and its one timestamp: SPEC L-47 to L-49."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_learner import Desk, stamp
from tacitd.clock import local_minutes
from tacitd_handlers.learner.session_stamps import (
    SessionStamp,
    parse_state,
    resolve_session,
    state_text,
)
from tacitd_handlers.learner.vocabulary import time_of

NOW = "2026-02-19T18:00"
FILE = SessionStamp("abc", "2026-02-19T14:30")


def test_L_47_stamps_are_local_minutes() -> None:
    """SPEC L-47: no seconds, no zone; at the DST fold two instants have one stamp; nothing else parses."""
    assert local_minutes(1_771_507_859) == "2026-02-19T14:30"
    first = 1_792_888_200.0  # 2026-10-25T00:30Z, which is 02:30 summer time in Amsterdam
    assert local_minutes(first) == local_minutes(first + 3600) == "2026-10-25T02:30"
    for text in (
        "2026-02-19T14:30:00",
        "2026-02-19T14:30Z",
        "2026-02-19 14:30",
        "2026-02-29T10:00",
        "",
        "today",
    ):
        assert time_of(text) is None


def test_L_47_a_zone_change_loses_no_session(tmp_path: Path) -> None:
    """SPEC L-47: after a flight west a stamp can be before the last one; both count, in the order of the stamps."""
    desk = Desk(tmp_path)
    desk.record(days=1, gaps="edge:a")
    desk.record(days=0.75)
    desk.record(days=2)
    assert [held.session.stamp for held in desk.profile.sessions] == [stamp(2), stamp(1), stamp(0.75)]
    assert (desk.entry("edge:a").clean, desk.entry("edge:a").tested) == (1, stamp(2))


@pytest.mark.parametrize(
    ("session", "given", "printed", "state", "wanted"),
    [
        (
            "abc",
            "2026-01-01T10:00",
            {"abc": "2026-02-19T09:00"},
            FILE,
            SessionStamp("abc", "2026-01-01T10:00"),
        ),
        ("abc", "", {"abc": "2026-02-19T09:00"}, FILE, SessionStamp("abc", "2026-02-19T09:00")),
        ("abc", "", {}, FILE, SessionStamp("abc", "2026-02-19T14:30")),
        ("other", "", {}, FILE, SessionStamp("other", NOW)),
        ("other", "", {}, None, SessionStamp("other", NOW)),
        ("", "", {}, FILE, SessionStamp("manual", NOW)),
        ("", "", {"abc": "2026-02-19T09:00"}, FILE, SessionStamp("abc", "2026-02-19T09:00")),
        ("", "", {"abc": "2026-02-19T09:00", "new": NOW}, FILE, SessionStamp("manual", NOW)),
        ("", "", {}, None, SessionStamp("manual", NOW)),
        ("manual", "", {"manual": "2026-02-19T09:00"}, None, SessionStamp("manual", NOW)),
        ("", "", {}, SessionStamp("manual", "2026-02-19T14:30"), SessionStamp("manual", NOW)),
    ],
)
def test_L_48_L_49_precedence(
    session: str, given: str, printed: dict[str, str], state: SessionStamp | None, wanted: SessionStamp
) -> None:
    """SPEC L-48, L-49: the given stamp, the one printed at the start, the session-state file of the same session, the
    clock; the id from the caller, from the file of the newest session, otherwise `manual`.
    """
    assert resolve_session(session, given, printed, state, NOW) == wanted


def test_L_48_the_session_state_file_to_the_byte() -> None:
    """SPEC L-48 and L, first page: the file written before compaction, and how it is parsed."""
    text = state_text(FILE, "~/.claude/leetcode-teacher-profile.md")
    assert text == (
        "# LeetCode Session In Progress (saved before compaction)\n"
        "- You are in a leetcode-teacher session. Read ~/.claude/leetcode-teacher-profile.md for context.\n"
        "- Session ID: abc\n"
        "- Session Timestamp: 2026-02-19T14:30\n"
        "- Write-back required at session end: Step 8B (learning) or R7B (recall).\n"
        "- Write ledger row first, then profile entry.\n"
    )
    assert parse_state(text) == FILE
    for broken in ("", text.replace("14:30", "25:30"), text.replace("- Session ID: abc\n", "")):
        assert parse_state(broken) is None
