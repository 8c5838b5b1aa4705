"""The session-start text fits into what Claude Code takes (SPEC L-50a, L-52)."""

from __future__ import annotations

import os
import re
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_cli import Cli
from support_examples import examples
from support_learner import Desk, row, stamp
from support_learner_skill import EMPTY_PROFILE, format_weakness
from tacitd.session_context.context_request import ContextRequest
from tacitd.testing import FakeClock
from tacitd_handlers.learner.context_section import SHARE, build_section
from tacitd_handlers.learner.learner_paths import load_paths
from tacitd_handlers.learner.learner_store import LearnerStore
from tacitd_handlers.learner.notices import (
    find_retests,
    format_repairs,
    format_retests,
    format_synced,
    format_waiting,
)
from tacitd_handlers.learner.profile_text import parse_profile
from tacitd_handlers.learner.session_start import BUDGET, build_context, fit_profile

NOW = FakeClock(datetime.fromisoformat("2026-09-01T09:00").timestamp())
SENTENCES = (
    "Quickly identified hash map approach. Forgot empty input check (3rd occurrence). "
    "Dict comprehension syntax noticeably improved since Feb 14."
)


def entry(number: int, status: str) -> str:
    """An entry of the seed's size."""
    text = format_weakness(
        f"edge:input_class_{number}",
        f"misses the check of input class {number} on array problems",
        stamp(number),
        stamp(number + 1),
        stamp(number),
        status,
    )
    return text.replace("start: .", f"start: {stamp(number + 1)}.")


def full_profile(history: int = 20, about: str = "Goal: interviews in May. Python, some Go.\n") -> str:
    """A profile with 20 active and 10 resolved entries, and sessions of the seed's size."""
    sessions = "".join(
        f"### {stamp(100 - n)} | problem-{n} | learning | solved_with_minor_hints\n"
        f"Gaps: edge:input_class_{n}; edge:duplicate_values\nReview: 2026-12-22\n---\n{SENTENCES}\n\n"
        for n in range(history)
    )
    statuses = ["resolved (short-term)", "recurring", "new", "improving"]
    active = "".join(entry(n, statuses[n % 4]) for n in range(20))
    resolved = "".join(entry(n, "resolved (long-term)") for n in range(20, 30))
    text = EMPTY_PROFILE.replace("Goal: interviews.\n", about)
    text = text.replace("### Resolved\n", f"{active}\n### Resolved\n\n{resolved}")
    return text.replace("## Session History\n", f"## Session History\n\n{sessions}")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path)
    made.where.profile.write_text(full_profile())
    return made


def test_L_50_a_full_profile_fits(desk: Desk) -> None:
    """SPEC L-50a: 20 active, 10 resolved, 20 sessions: at most 9,000 characters, notices whole, weaknesses whole."""
    store = desk.store()
    lines = format_synced([row(1), row(2)])
    with store.locked():
        store.change_state(lambda state: state.add_notices(lines))
        store.change_state(lambda state: state.set_waiting("edge:waits", stamp(1)))
    desk.where.profile.write_text(desk.text.replace("### Resolved\n", ""))
    made = build_context(desk.where, "s", NOW)
    assert len(made.text) <= BUDGET and len(desk.text) > 11_000
    printed = made.text.splitlines()
    for notice in (*format_repairs(["Resolved"]), *lines, *format_waiting(["edge:waits"], desk.profile)):
        assert notice in printed
    retests = format_retests(find_retests(desk.profile, "2026-09-01T09:00"))
    assert retests.count("last tested") == 5 and made.text.endswith(retests)
    assert "Goal: interviews in May. Python, some Go." in printed


def test_L_50_what_is_left_out_and_in_which_order(desk: Desk) -> None:
    """SPEC L-50a: active weaknesses whole, the newest sessions, no older one after a gap; the rest is named."""
    made = build_context(desk.where, "s", NOW)
    shown = parse_profile(made.text.encode())
    assert len(made.text) <= BUDGET
    whole = parse_profile(desk.where.profile.read_bytes())
    active = [placed.entry for placed in whole.weaknesses if not placed.resolved]
    assert [placed.entry for placed in shown.weaknesses] == active
    kept = [held.session.key for held in shown.sessions]
    assert 3 < len(kept) < 20 and kept == [held.session.key for held in whole.sessions][: len(kept)]
    left = f"[LEFT OUT] {20 - len(kept)} older sessions, 10 resolved weaknesses: no room in 9000 characters. "
    how = "To read all of it when needed: `cat ~/.claude/leetcode-teacher-profile.md`.\n"
    assert left + how in made.text and made.trouble


def test_L_50_a_profile_that_fits_is_printed_byte_for_byte(desk: Desk) -> None:
    """SPEC L-50a: nothing is left out below the budget."""
    desk.where.profile.write_text(full_profile(2))
    made = build_context(desk.where, "s", NOW, 20_000)
    assert desk.text in made.text and "[LEFT OUT]" not in made.text and not made.trouble


def test_L_50_a_long_about_me_leaves_room(desk: Desk) -> None:
    """SPEC L-50a, L-03: About Me is cut at a line, and all active weaknesses are printed."""
    desk.where.profile.write_text(full_profile(about="".join(f"Line {n} about me.\n" for n in range(900))))
    made = build_context(desk.where, "s", NOW)
    assert len(made.text) <= BUDGET and "Line 0 about me.\nLine 1 about me.\n" in made.text
    assert made.text.count("Status: ") == 20 and "lines of About Me, 20 older sessions" in made.text


def test_L_50_notices_that_do_not_fit_are_printed_next_time(desk: Desk) -> None:
    """SPEC L-50a: no notice is lost: what has no room is printed at the next session start."""
    notices = [
        f"[SYNC] Appended missing ledger row for {stamp(n)} session (pattern=unknown)." for n in range(90)
    ]
    with desk.store().locked():
        desk.store().change_state(lambda state: state.add_notices(notices))
    printed: list[str] = []
    for number in range(5):
        text = build_context(desk.where, f"s{number}", NOW).text
        assert len(text) <= BUDGET
        printed += [line for line in text.splitlines() if line.startswith("[SYNC]")]
    assert printed == notices


def test_L_52_a_profile_that_cannot_be_parsed_is_cut_at_a_line(desk: Desk) -> None:
    """SPEC L-52, L-50a: with a conflict in it, the profile's beginning is printed."""
    desk.where.profile.write_text("<<<<<<< ours\n" + full_profile())
    made = build_context(desk.where, "s", NOW)
    assert len(made.text) <= BUDGET and "the rest of the profile" in made.text and "<<<<<<< ours" in made.text


@examples(100)
@given(
    room=st.integers(0, 15_000),
    history=st.integers(0, 25),
    about=st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=300),
)
def test_L_50_any_room_is_kept(room: int, history: int, about: str) -> None:
    """SPEC L-50a: never more than the room; what is printed are lines of the profile in their order."""
    profile = parse_profile(full_profile(history, about + "\n").encode())
    made = fit_profile(profile, room)
    text, left_out = made
    assert len(text) <= max(room, 80), "the headings are always there"
    lines = iter(profile.lines)
    assert all(line in lines for line in re.findall(r".*\n", text) if line.endswith("\n"))
    assert left_out or text == "".join(profile.lines)


def test_L_50_inside_tacitd_context(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """SPEC L-50a: `tacitd context` has the blocks in the configured directories only, in 5,000 characters."""
    cli = Cli(tmp_path, monkeypatch, capsys)
    cli.config_dir.mkdir(exist_ok=True)
    (cli.config_dir / "leetcode-teacher-profile.md").write_text(full_profile())
    practice = tmp_path / "leetcode" / "arrays"
    practice.mkdir(parents=True)
    assert build_section(ContextRequest(practice, 9_000)) == ""
    cli.set(TACITD_LEARNER__DIRECTORIES=f"/nowhere,{tmp_path / 'leetcode'}", CLAUDE_CODE_SESSION_ID="abc")
    text = cli.run("context", "--json", cwd=practice).json["learner"]
    assert len(text) <= SHARE and "Session ID: abc\n" in text and "[LEFT OUT]" in text
    assert "learner" not in cli.run("context", "--json", cwd=tmp_path).json
    assert len(build_section(ContextRequest(practice, 1_500))) <= 1_500
    assert build_section(ContextRequest(practice, occasion="resume")) == ""


def test_where_a_teaching_session_worked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`learner.context`: in projects that taught, everywhere, or in none."""
    cli = Cli(tmp_path, monkeypatch, capsys)
    cli.config_dir.mkdir(exist_ok=True)
    taught, other = tmp_path.resolve() / "taught", tmp_path.resolve() / "other"
    (taught / "deep").mkdir(parents=True)
    other.mkdir()
    assert build_section(ContextRequest(taught)) == ""
    store = LearnerStore(load_paths(os.environ), NOW)
    with store.locked():
        store.stamp_session("s0", stamp(0), stamp(1), root=str(taught))
    assert build_section(ContextRequest(taught / "deep", session="s1")).startswith("=== SESSION METADATA ===")
    assert build_section(ContextRequest(other)) == ""
    cli.set(TACITD_LEARNER__CONTEXT="always")
    assert build_section(ContextRequest(other)) != ""
    cli.set(TACITD_LEARNER__CONTEXT="never")
    assert build_section(ContextRequest(taught)) == ""
