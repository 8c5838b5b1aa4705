"""What a session gets at its start, and its one stamp: SPEC L, first page, byte for byte; L-02, L-05, L-27, L-47 to L-52."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from support_learner import Desk, row, stamp
from support_learner_skill import EMPTY_PROFILE, format_weakness
from tacitd.session_context.context_request import ContextRequest
from tacitd_handlers.learner.learner_state import (
    KEPT_SESSIONS,
    SessionStamp,
    add_notices,
    find_stamp,
    format_state,
    note_session,
    read_session_state,
)
from tacitd_handlers.learner.profile_text import PROFILE_FORMAT, list_entries, list_sessions, parse_profile
from tacitd_handlers.learner.session_start import (
    BUDGET,
    SessionText,
    build_text,
    find_retests,
    fit_profile,
    format_retests,
    format_synced,
    make_text,
    note_start,
)

GOLDEN = Path(__file__).parents[2] / "fixtures/learner"
NOW = "2026-09-01T09:00"
FILE = SessionStamp("abc", "2026-02-19T14:30")
SENTENCES = "Quickly identified the hash map approach. " * 4


def golden(name: str) -> str:
    return (GOLDEN / name).read_bytes().decode()


def begin(desk: Desk, session: str, now: str = NOW, budget: int = BUDGET) -> SessionText:
    """A session begins, as with `tacitd learner context`."""
    made = build_text(desk.bench.rows, desk.where, session, now, budget)
    note_start(made)
    if not made.is_whole:
        desk.do("prepare")
    return made


def notify(desk: Desk, lines: list[str]) -> None:
    with desk.bench._app.store.write() as tx:
        add_notices(tx, lines)


# --- the blocks


def test_L_51_fresh(desk: Desk) -> None:
    """SPEC L-51: at the first session both files are created, the header says so, and the last line asks for About Me; also after a
    compaction, with the same stamp, and not in the next session.
    """
    id = "5f0c1a77-8d9e-4a55-9a3e-0b6a4f1f2c11"
    first = begin(desk, id, "2026-02-19T14:30").text
    assert first == golden("fresh.context.txt")
    assert desk.text == golden("template.profile.md") and desk.ledger.startswith("# Session Ledger\n\n| Time")
    assert {path.stat().st_mode & 0o777 for path in (desk.where.profile, desk.where.ledger)} == {0o600}
    assert begin(desk, id, "2026-02-19T17:00").text == first
    assert "[FIRST SESSION]" not in begin(desk, "t", "2026-02-20T09:00").text


def test_L_50_the_second_session(desk: Desk) -> None:
    """SPEC L-50, L-51: nothing is recorded yet, so nothing is suggested. SPEC L-48: the stamp of another session's file is not used, as
    the original did.
    """
    desk.put(golden("new.profile.md"))
    desk.where.session_state.write_text(format_state(SessionStamp("old", "2025-01-01T10:00"), "~/x"))
    assert begin(desk, "second", "2026-02-20T08:05").text == golden("new.context.txt")
    assert "Session Timestamp: 2025-01-01T10:00" in begin(desk, "old", "2026-02-20T08:05").text
    desk.where.session_state.unlink()
    assert "Session ID: manual\n" in begin(desk, "", "2026-02-20T08:05").text


def test_L_05_L_50_full(desk: Desk) -> None:
    """SPEC L-50: every block, 14 days inclusive; a notice is printed in one session. SPEC L-05: the ledger is never opened, which would
    wait for a writer here."""
    desk.put(golden("full.profile.md"))
    os.mkfifo(desk.where.ledger)
    notify(desk, ["[SYNC] Appended missing ledger row for 2026-04-08T21:15 session (pattern=unknown)."])
    text = begin(desk, "third", "2026-04-10T09:00").text
    assert text == golden("full.context.txt")
    assert begin(desk, "third", "2026-04-10T09:30").text == text
    again = begin(desk, "fourth", "2026-04-10T09:00").text
    assert "[SYNC]" not in again and desk.text == golden("full.profile.md")


def test_L_02_each_repair_is_said(desk: Desk) -> None:
    """SPEC L-02: a heading that is removed once more, after a session was told of it, is reported once more; each time once."""
    desk.record(gaps="edge:a")
    for number in range(3):
        desk.put(desk.text.replace("## About Me\n", ""))
        if number < 2:  # the third time, a session begins before the files are compared
            desk.look()
        assert begin(desk, f"first {number}").text.count("[REPAIRED]") == 1
        desk.look()
        assert "[REPAIRED]" not in begin(desk, f"second {number}").text


def test_L_27_what_waits_for_room_is_named(desk: Desk) -> None:
    """SPEC L-27: the notice suggests entries to archive, most resolved first, until there is room."""
    for number in range(21):
        desk.record(f"p{number}", pattern=f"x{number}", gaps=f"edge:{number}")
    for _ in range(2):
        desk.record("p4", pattern="x4")
    line = (
        "\n[CAP] Known Weaknesses is full (20). Waiting for room: edge:20. To archive, if the learner agrees, "
        "most resolved first: edge:4 (new), edge:0 (new), edge:1 (new). "
        "Command: `tacitd learner archive edge:4`.\n"
    )
    for session in ("a", "b"):
        assert line in begin(desk, session).text
    desk.do("archive", "edge:7")
    assert "[CAP]" not in begin(desk, "c").text


def test_a_profile_that_is_no_text_is_printed_as_it_is(desk: Desk) -> None:
    """SPEC L-02: a profile that cannot be parsed is printed unchanged, and nothing in it is repaired."""
    data = b"## About Me\n\xe9\xff\n"
    desk.put(data)
    assert data in begin(desk, "s").text.encode("utf-8", "surrogateescape")
    assert desk.where.profile.read_bytes() == data


# --- the budget (SPEC L-50a)


def full_profile(history: int = 20, about: str = "Goal: interviews in May. Python, some Go.\n") -> str:
    """A profile with 20 active and 10 resolved entries, and sessions of the seed's size."""
    sessions = "".join(
        f"### {stamp(100 - n)} | problem-{n} | learning | solved_with_minor_hints\n"
        f"Gaps: edge:input_class_{n}; edge:duplicate_values\nReview: 2026-12-22\n---\n{SENTENCES}\n\n"
        for n in range(history)
    )
    statuses = [
        *["resolved (short-term)", "recurring", "new", "improving"] * 5,
        *["resolved (long-term)"] * 10,
    ]
    words = "misses the check of this input class on array problems"
    entries = [
        format_weakness(f"edge:input_class_{n}", words, stamp(n), stamp(n + 1), stamp(n), status)
        for n, status in enumerate(statuses)
    ]
    active, resolved = "".join(entries[:20]), "".join(entries[20:])
    text = EMPTY_PROFILE.replace("Goal: interviews.\n", about)
    text = text.replace("### Resolved\n", f"{active}\n### Resolved\n\n{resolved}")
    return text.replace("## Session History\n", f"## Session History\n\n{sessions}")


def test_L_50_what_is_left_out_and_in_which_order(desk: Desk) -> None:
    """SPEC L-50a: notices and active weaknesses whole, the newest sessions, no older one after a gap; the rest is named. With room for
    all of it, the file is printed byte for byte.
    """
    desk.put(full_profile())
    made = begin(desk, "s")
    shown = PROFILE_FORMAT.read_leaves(made.text.encode())
    assert len(made.text) <= BUDGET
    assert list_entries(shown) == [one for one in desk.weaknesses if not one.resolved]
    kept = [one.key for one in list_sessions(shown)]
    assert 3 < len(kept) < 20 and kept == [one.key for one in desk.sessions][: len(kept)]
    left = "[LEFT OUT] Parts of the profile: no room in 9000 characters. "
    how = f"To read all of it when needed: `cat {desk.where.profile}`.\n"
    assert left + how in made.text
    assert desk.text in begin(desk, "s", budget=30_000).text
    lines = format_synced([row(1), row(2)])
    notify(desk, lines)
    text, retests = begin(desk, "s").text, format_retests(find_retests(desk.weaknesses, NOW))
    assert len(text) <= BUDGET and {*lines} <= {*text.splitlines()} and text.count("Status: ") >= 20
    assert text.endswith(retests) and retests.count("last tested") == 5


def test_L_50_a_long_about_me_leaves_room(desk: Desk) -> None:
    """SPEC L-50a, L-03: About Me is cut at a line, and all active weaknesses are printed; a profile with a conflict in it is cut at a
    line too.
    """
    desk.put(full_profile(about="".join(f"Line {n} about me.\n" for n in range(900))))
    text = begin(desk, "s").text
    assert len(text) <= BUDGET and "Line 0 about me.\nLine 1 about me.\n" in text
    assert text.count("Status: ") >= 20 and "\n### 2" in text
    desk.put("<<<<<<< ours\n" + full_profile())
    text = begin(desk, "s").text
    assert len(text) <= BUDGET and "[LEFT OUT]" in text and "<<<<<<< ours" in text


@examples(100)
@given(
    room=st.integers(0, 15_000),
    history=st.integers(0, 25),
    about=st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=300),
)
def test_L_50_any_room_is_kept(room: int, history: int, about: str) -> None:
    """SPEC L-50a: never more than the room; what is printed are parts of the profile in their order."""
    blocks = parse_profile(full_profile(history, about + "\n").encode())
    text = fit_profile(blocks, room)
    assert len(text) <= max(room, 80), "the headings are always there"
    lines = iter(re.findall(r".*\n", "".join(block.text for block in blocks)))
    assert all(line in lines for line in re.findall(r".*\n", text))


def test_L_50_a_long_weakness_hides_no_other(desk: Desk) -> None:
    """SPEC L-50a: of the active weaknesses only one that does not fit is left out, and the others are printed whole."""
    profile = full_profile()
    long = format_weakness("edge:long", "word " * 2000, stamp(0), stamp(1), stamp(0))
    desk.put(profile.replace("## Known Weaknesses\n", f"## Known Weaknesses\n\n{long}", 1))
    shown = list_entries(PROFILE_FORMAT.read_leaves(begin(desk, "s").text.encode()))
    active = [one for one in desk.weaknesses if not one.resolved and one.label != "edge:long"]
    assert [one for one in shown if not one.resolved] == active and len(active) == 20


# --- where it is printed


def test_L_50_where_a_teaching_session_worked(desk: Desk) -> None:
    """SPEC L-50a: in projects that taught, in 5,000 characters; not for a session that goes on, nor for a sub-agent."""
    taught, other = desk.home / "taught", desk.home / "other"
    (taught / "deep").mkdir(parents=True)
    other.mkdir()
    desk.put(full_profile())
    asked = ContextRequest(taught / "deep", 5_000, session="s1", rows=desk.bench.rows)
    elsewhere = ContextRequest(other, 1_500, rows=desk.bench.rows)
    assert make_text(asked) == ""
    with desk.bench._app.store.write() as tx:
        note_session(tx, "s0", teaches=True, root=str(taught))
    text = make_text(asked)
    assert text.startswith("=== SESSION METADATA ===\nSession ID: s1\n") and "[LEFT OUT]" in text
    assert len(text) <= 5_000 and make_text(asked) == text
    assert make_text(elsewhere) == ""
    for occasion in ("resume", "agent"):
        assert make_text(ContextRequest(taught, occasion=occasion, rows=desk.bench.rows)) == ""


# --- the stamp


PRINTED = {"abc": "2026-02-19T09:00"}


@pytest.mark.parametrize(
    ("session", "given", "printed", "state", "wanted"),
    [
        ("abc", "2026-01-01T10:00", PRINTED, FILE, SessionStamp("abc", "2026-01-01T10:00")),
        ("abc", "", PRINTED, FILE, SessionStamp("abc", "2026-02-19T09:00")),
        ("abc", "", {}, FILE, FILE),
        ("other", "", {}, FILE, SessionStamp("other", NOW)),
        ("other", "", {}, None, SessionStamp("other", NOW)),
        ("", "", {}, FILE, SessionStamp("manual", NOW)),
        ("", "", PRINTED, FILE, SessionStamp("abc", "2026-02-19T09:00")),
        ("", "", PRINTED | {"new": NOW}, FILE, SessionStamp("manual", NOW)),
        ("manual", "", {"manual": "2026-02-19T09:00"}, None, SessionStamp("manual", NOW)),
        ("", "", {}, SessionStamp("manual", "2026-02-19T14:30"), SessionStamp("manual", NOW)),
    ],
)
def test_L_48_L_49_precedence(
    desk: Desk,
    session: str,
    given: str,
    printed: dict[str, str],
    state: SessionStamp | None,
    wanted: SessionStamp,
) -> None:
    """SPEC L-48, L-49: the given stamp, the one printed at the start, the session-state file of the same session, the
    clock; the id from the caller, from the file of the newest session, otherwise `manual`.
    """
    with desk.bench._app.store.write() as tx:
        for id, printed_stamp in printed.items():
            note_session(tx, id, stamp=printed_stamp)
    if state is not None:
        desk.where.session_state.write_text(format_state(state, "~/x"))
    assert find_stamp(desk.bench.rows, session, given, desk.where.session_state, NOW) == wanted


def test_L_48_the_session_state_file_to_the_byte(tmp_path: Path) -> None:
    """SPEC L-48 and L, first page: the file written before compaction, and how it is parsed."""
    text, path = format_state(FILE, "~/.claude/leetcode-teacher-profile.md"), tmp_path / "state.md"
    assert text == (
        "# LeetCode Session In Progress (saved before compaction)\n"
        "- You are in a leetcode-teacher session. Read ~/.claude/leetcode-teacher-profile.md for context.\n"
        "- Session ID: abc\n"
        "- Session Timestamp: 2026-02-19T14:30\n"
        "- Write-back required at session end: Step 8B (learning) or R7B (recall).\n"
        "- Write ledger row first, then profile entry.\n"
    )
    for content, wanted in (
        (text, FILE),
        ("", None),
        (text.replace("14:30", "25:30"), None),
        (text.replace("- Session ID: abc\n", ""), None),
    ):
        path.write_text(content)
        assert read_session_state(path) == wanted


def test_sessions_of_long_ago_are_forgotten(desk: Desk) -> None:
    """Two hundred are kept, and the last one of each project in which was taught, which gets the learner's blocks."""
    with desk.bench._app.store.write() as tx:
        for number in range(KEPT_SESSIONS + 5):
            note_session(
                tx, f"s{number}", stamp="2026-02-19T14:30", teaches=True, root="/old" if number < 2 else ""
            )
    kept = [session for (session,) in desk.bench.rows("SELECT session FROM learner_session ORDER BY rowid")]
    assert kept == ["s1", *(f"s{number}" for number in range(5, KEPT_SESSIONS + 5))]
