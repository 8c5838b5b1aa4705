"""Reconciliation of profile and ledger: SPEC L-02, L-10, L-21, L-25 to L-28, L-32, L-38 to L-40."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_learner import Desk, row, stamp
from tacitd_handlers.learner.history_text import RECOVERED
from tacitd_handlers.learner.profile_text import TEMPLATE
from tacitd_handlers.learner.vocabulary import LONG, NEW, RECURRING, SHORT
from tacitd_handlers.learner.weakness_rules import MAX_ACTIVE


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


# --- what the ledger decides --------------------------------------------------------------------------------------


def test_L_25_the_ledger_wins_over_an_entry_that_missed_a_failure(desk: Desk) -> None:
    """SPEC L-25: an entry of Claude's that misses a row with the gap becomes recurring, and N is recomputed."""
    rows = [row(0, "edge:a"), row(1), row(2, "edge:a"), row(3)]
    desk.write_rows(*rows)
    desk.where.profile.write_text(
        TEMPLATE.decode().replace(
            "### Resolved",
            "- **edge:a** — misses a in loops.\n"
            f"  First observed: {stamp(0)}. Last tested: {stamp(3)}. Last failed: {stamp(0)}.\n"
            f"  Last clean streak start: {stamp(1)}. Sessions since last failure: 3.\n"
            "  Status: resolved (short-term)\n\n### Resolved",
        )
    )
    desk.look()
    entry = desk.entry("edge:a")
    assert (entry.status, entry.failed, entry.clean, entry.streak) == (RECURRING, stamp(2), 1, stamp(3))


def test_L_26_promotion_and_return(desk: Desk) -> None:
    """SPEC L-26, L-24: to Resolved only with 28 days between clean sessions; back when it is observed again."""
    desk.record(days=0, gaps="edge:a")
    for days in (1, 2, 3, 20):
        desk.record(days=days)
    assert desk.entry("edge:a").status == SHORT
    desk.record(days=29)
    placed = desk.placed("edge:a")
    assert placed is not None and placed.resolved and placed.entry.status == LONG
    desk.record(days=40, gaps="edge:a")
    placed = desk.placed("edge:a")
    assert placed is not None and not placed.resolved and placed.entry.status == RECURRING


def test_L_27_the_twenty_first_waits_and_is_said(desk: Desk) -> None:
    """SPEC L-27, L-09: the row is written, the entry waits, and is added once there is room."""
    for number in range(22):
        desk.record(f"p{number}", pattern=f"x{number}", gaps=f"edge:{number}")
    assert len(desk.profile.weaknesses) == MAX_ACTIVE and desk.state.waiting == ["edge:20", "edge:21"]
    assert len(desk.rows) == 22
    desk.take_out("edge:3")
    desk.look()
    desk.record("later")
    assert desk.entry("edge:20").status == NEW and desk.state.waiting == ["edge:21"]


def test_L_28_a_full_resolved_section(desk: Desk) -> None:
    """SPEC L-28: the eleventh entry replaces the one tested longest ago; the ledger keeps it."""
    for number in range(11):
        for at, gaps in ((0, f"edge:{number}"), (1, "none"), (2, "none"), (40, "none")):
            desk.record(
                f"p{number}", days=number + at * 1.0 + at * number / 100, pattern=f"x{number}", gaps=gaps
            )
    for number in range(11):
        desk.record(f"p{number}", days=100 + number, pattern=f"x{number}")
    resolved = [placed.entry.label for placed in desk.profile.weaknesses if placed.resolved]
    assert len(resolved) == 10 and "edge:0" not in resolved and desk.placed("edge:0") is None
    assert not desk.state.removed and not desk.state.waiting


def test_L_38_verdict_gaps_and_review_are_the_ledgers(desk: Desk) -> None:
    """SPEC L-38: they are corrected in the profile; the observations stay."""
    desk.record(gaps="edge:a", observations="My words.")
    desk.edit(
        "| recall | pass\nGaps: edge:a\nReview: 2026-02-25",
        "| recall | strong_pass\nGaps: none\nReview: 2027-01-01",
    )
    desk.look()
    session = desk.profile.sessions[0].session
    assert (session.verdict, session.gaps, session.review) == ("pass", "edge:a", "2026-02-25")
    assert "My words." in session.observations


def test_L_38_every_session_that_only_the_profile_has(desk: Desk) -> None:
    """SPEC L-38: each becomes a `sync-heal` row, in order, with a notice; no text of the person is deleted."""
    desk.record()
    entries = "".join(
        f"### {stamp(-n)} | lru | learning | solved_independently\nGaps: edge:a\nReview: 2026-03-01\n---\nWords {n}.\n\n"
        for n in (1, 2)
    )
    desk.where.profile.write_text(desk.text.rstrip("\n") + "\n\n" + entries)
    done = desk.look()
    assert [one.stamp for one in done.added] == [stamp(-2), stamp(-1)]
    assert desk.rows[-1] == row(
        -1,
        "edge:a",
        "lru",
        session="sync-heal",
        pattern="unknown",
        mode="learning",
        verdict="solved_independently",
        review="2026-03-01",
    )
    assert "Words 1." in desk.text and "Words 2." in desk.text
    said = desk.state.notices
    assert said == [
        f"[SYNC] Appended missing ledger row for {stamp(-n)} session (pattern=unknown)." for n in (2, 1)
    ]
    assert not desk.look().added and desk.entry("edge:a").status == RECURRING


def test_L_38_half_an_entry_is_healed_without_inventing(desk: Desk) -> None:
    """SPEC L-38, L-39: missing gaps and date become `none` and `—`; an invalid verdict makes no row."""
    desk.record()
    theirs = "\n### 2026-01-02T10:00 | lru | recall | pass\nIt went well.\n\n### 2026-01-03T10:00 | lru | recall | great\n"
    desk.where.profile.write_text(desk.text + theirs)
    done = desk.look()
    assert [(one.gaps, one.review) for one in done.added] == [("none", "—")]
    assert "| great" in desk.text and "It went well." in desk.text and "great" not in desk.ledger


def test_L_38_rows_that_only_the_ledger_has(desk: Desk) -> None:
    """SPEC L-37, L-38: rows that Claude wrote get entries, newest first, twenty of them; nothing is invented."""
    desk.write_rows(*(row(n, "edge:a" if n % 2 else "none", problem=f"p{n}") for n in range(25)))
    desk.look()
    sessions = [held.session for held in desk.profile.sessions]
    assert [one.problem for one in sessions] == [f"p{n}" for n in range(24, 4, -1)]
    assert {one.observations for one in sessions} == {RECOVERED}
    assert desk.entry("edge:a").first == stamp(1)


def test_L_38_others_are_waited_for(desk: Desk) -> None:
    """SPEC L-38: while others may still be writing, their entries are neither completed nor duplicated."""
    desk.record()
    desk.write_rows(row(9, "edge:a"))
    store = desk.store()
    store.settle = 300.0
    store.clock.jump(desk.where.ledger.stat().st_mtime - store.clock.now() + 10)  # type: ignore[attr-defined]
    with store.locked():
        assert store.sync_files().result is None
    assert len(desk.profile.sessions) == 1
    store.clock.jump(600)  # type: ignore[attr-defined]
    with store.locked():
        assert store.sync_files().result is not None
    assert desk.profile.sessions[0].session.observations == RECOVERED
    theirs = (
        f"### {stamp(9)} | two-sum | recall | pass\nGaps: edge:a\nReview: 2026-12-24\n---\nMy own words.\n"
    )
    desk.edit(f"### {stamp(9)}", theirs + f"\n### {stamp(9)}")
    desk.look()
    assert desk.profile.sessions[0].session.observations == "My own words."
    assert len(desk.profile.sessions) == 2


def test_L_39_no_entry_without_a_row(desk: Desk) -> None:
    """SPEC L-39: every entry of Session History has a ledger row."""
    for number in range(30):
        desk.record(f"p{number % 7}", gaps="edge:a" if number % 3 else "none")
    keys = {(one.stamp, one.problem, one.mode) for one in desk.rows}
    assert {held.session.key for held in desk.profile.sessions} <= keys


def test_claude_that_keeps_the_books_itself_is_not_counted_twice(desk: Desk) -> None:
    """SPEC L-23, L-38: the skill writes row, entry and weaknesses itself; the fold gives the same and changes
    nothing.
    """
    desk.record(gaps="edge:a")
    desk.write_rows(row(5))
    text = desk.text
    entry = f"### {stamp(5)} | two-sum | recall | pass\nGaps: none\nReview: 2026-12-24\n---\nAll clean.\n\n### {stamp(1)} |"
    text = text.replace(f"### {stamp(1)} |", entry)
    text = text.replace(f"Last tested: {stamp(1)}", f"Last tested: {stamp(5)}")
    text = text.replace(
        "streak start: . Sessions since last failure: 0",
        f"streak start: {stamp(5)}. Sessions since last failure: 1",
    )
    desk.where.profile.write_text(text)
    desk.look()
    assert desk.text == text and desk.entry("edge:a").clean == 1


def test_L_32_the_cap_takes_the_oldest_by_its_stamp(desk: Desk) -> None:
    """SPEC L-32: newest first, twenty; in any file order the oldest is removed, and the rest stays."""
    for number in range(20):
        desk.record(f"p{number}", observations=f"Words {number}.")
    oldest = "\n".join(desk.profile.bare_lines(desk.profile.sessions[-1].span))
    desk.edit(oldest, "")
    desk.edit("### " + stamp(20), oldest + "\n\n### " + stamp(20))
    assert desk.profile.sessions[0].session.problem == "p0"
    desk.record("p20")
    assert [h.session.problem for h in desk.profile.sessions] == [f"p{n}" for n in range(20, 0, -1)]
    assert "Words 0." not in desk.text and all(f"Words {n}." in desk.text for n in range(1, 20))


def test_L_40_recall_entries_note_the_trajectory(desk: Desk) -> None:
    """SPEC L-40: one sentence in recall mode, from the ledger; none in learning mode."""
    desk.record(mode="learning", verdict="did_not_reach_solution", observations="Hard.")
    desk.record(observations="Better.")
    first, second = (held.session.observations for held in reversed(desk.profile.sessions))
    assert first == "Hard."
    assert second == "Better.\nTrajectory: before this, did_not_reach_solution (2026-02-20)."


# --- damage -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["file", "section", "resolved", "history"])
def test_L_02_what_is_lost_comes_back(desk: Desk, how: str) -> None:
    """SPEC L-02: a missing profile or section is damage: it is restored, filled, and reported."""
    desk.record(days=0, gaps="edge:a; edge:b")
    for days in (1, 2, 3, 30):
        desk.record(days=days, gaps="edge:b")
    before = desk.text
    if how == "file":
        desk.where.profile.unlink()
    elif how == "section":
        head, _, tail = before.partition("## Known Weaknesses")
        desk.where.profile.write_text(head + "## Session History" + tail.partition("## Session History")[2])
    elif how == "resolved":
        desk.edit("### Resolved\n", "")
    else:
        desk.where.profile.write_text(before.partition("## Session History")[0])
    desk.look()
    assert {p.entry.label: (p.entry.status, p.resolved) for p in desk.profile.weaknesses} == {
        "edge:a": (LONG, True),
        "edge:b": (RECURRING, False),
    }
    assert len(desk.profile.sessions) == 5 and not desk.state.removed
    names = {"section": ["Known Weaknesses"], "resolved": ["Resolved"], "history": ["Session History"]}
    said = [
        f"[REPAIRED] Restored missing section: {name}. Let the learner know if they didn't intend to remove it."
        for name in names.get(how, ["About Me", "Known Weaknesses", "Session History"])
    ]
    assert desk.state.notices == said


def test_a_lost_memory_is_made_again_from_the_ledger(desk: Desk) -> None:
    """docs/files.md: without learner.json everything but removals is rebuilt, and nothing is duplicated."""
    for number in range(24):
        desk.record(
            f"p{number % 5}", gaps="edge:a" if number % 4 == 0 else "edge:b" if number % 7 == 0 else "none"
        )
    before = desk.text
    (desk.where.home / "learner.json").unlink()
    desk.look()
    assert desk.text == before
    (desk.where.home / "learner.json").write_bytes(b"{broken")
    desk.record("p1")
    assert len(desk.profile.weaknesses) == 2


def test_an_existing_user_is_adopted(desk: Desk) -> None:
    """SPEC L-31, L-38: existing entries are kept and go on from what they say; nothing is added, duplicated or lost."""
    rows = [row(n, "edge:empty_input" if n < 2 else "dp:base" if n == 3 else "none") for n in range(6)]
    desk.write_rows(*rows)
    theirs = TEMPLATE.decode().replace(
        "### Resolved",
        "- **Edge: empty input** — misses empty input check on array problems.\n"
        f"  First observed: 2025-06-01T10:00. Last tested: {stamp(3)}. Last failed: {stamp(1)}.\n"
        f"  Last clean streak start: {stamp(2)}. Sessions since last failure: 2.\n"
        "  Status: resolved (short-term)\n"
        "- **Talks too fast** — rushes through examples in two-pointer problems.\n\n### Resolved",
    )
    desk.where.profile.write_text(theirs)
    desk.look()
    entry = desk.entry("Edge: empty input")
    assert (entry.status, entry.first, entry.clean) == (SHORT, "2025-06-01T10:00", 4)
    assert [p.entry.label for p in desk.profile.weaknesses] == ["Edge: empty input", "Talks too fast"]
    once = desk.text
    desk.look()
    assert desk.text == once


def test_L_10_a_vague_description_gets_its_stamp(desk: Desk) -> None:
    """SPEC L-10: and the caller is told; a gap without a description says where it was observed."""
    made = desk.record(gaps="edge:a; edge:b", descriptions={"edge:a": "struggles with edge cases"})
    assert made.result is not None and made.result.vague == ["edge:a", "edge:b"]
    assert desk.entry("edge:a").description == f"struggles with edge cases (observed {stamp(1)})"
    assert desk.entry("edge:b").description == f"b, seen in two-sum (hash_map) (observed {stamp(1)})"


def test_crlf_profiles_stay_crlf(desk: Desk) -> None:
    """Issue, bad input: CRLF in both files."""
    desk.where.profile.write_bytes(TEMPLATE.replace(b"\n", b"\r\n"))
    desk.record(gaps="edge:a")
    desk.where.ledger.write_bytes(desk.where.ledger.read_bytes().replace(b"\n", b"\r\n"))
    desk.record()
    for path in (desk.where.profile, desk.where.ledger):
        data = path.read_bytes()
        assert data.count(b"\n") == data.count(b"\r\n") > 5
    assert desk.entry("edge:a").clean == 1


def test_L_02_a_record_fills_a_history_that_is_lost(desk: Desk) -> None:
    """SPEC L-02, L-32: also while others may still be writing: what was there comes back, and the new session is added."""
    for number in range(3):
        desk.record(f"p{number}")
    desk.where.profile.write_text(desk.text.partition("## Session History")[0])
    desk.record("p3")
    assert [held.session.problem for held in desk.profile.sessions] == ["p3", "p2", "p1", "p0"]
