"""Repair of damaged profiles: `check --fix` needs one run and does what `check` says (SPEC L-02, L-09, L-32, L-38)."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_learner import Desk, row, stamp
from support_learner_skill import EMPTY_PROFILE, format_weakness
from tacitd_handlers.learner.history_text import RECOVERED


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_L_32_two_sessions_of_one_stamp(desk: Desk) -> None:
    """SPEC L-32, L-47: in the repeated hour, two sessions with one stamp, problem and mode both have an entry."""
    for session, verdict, words in (("a", "pass", "First."), ("b", "borderline", "Second.")):
        desk.record(days=1, session=session, verdict=verdict, observations=words, gaps="edge:x")
    shown = [
        (held.session.verdict, held.session.observations.split("\n")[0]) for held in desk.profile.sessions
    ]
    assert sorted(shown) == [("borderline", "Second."), ("pass", "First.")]
    once = desk.text
    desk.look()
    assert desk.text == once
    first = next(held for held in desk.profile.sessions if "First." in held.session.observations)
    desk.edit("\n".join(desk.profile.bare_lines(first.span)) + "\n", "")
    desk.look(first=True)
    assert [held.session.verdict for held in desk.profile.sessions] == ["borderline"], "it stays removed"
    desk.record(days=2, session="c")
    assert len(desk.profile.sessions) == 2


def test_L_38_rows_of_one_stamp_are_recovered(desk: Desk) -> None:
    """SPEC L-38: both rows get an entry if the profile has none, also after the state was lost."""
    desk.write_rows(row(1, session="a"), row(1, session="b", verdict="borderline"), row(2))
    desk.look()
    assert [held.session.verdict for held in desk.profile.sessions].count("pass") == 2
    assert len(desk.profile.sessions) == 3
    (desk.where.home / "learner.json").unlink()
    once = desk.text
    desk.look()
    assert desk.text == once


def test_L_02_the_heading_of_resolved_deleted_with_its_entries_left(desk: Desk) -> None:
    """SPEC L-02, L-09: it is put above the long-term resolved entries again, also those without a tag."""
    active = "".join(format_weakness(f"Mine {n}", "w", stamp(n), stamp(n), stamp(n)) for n in range(15))
    resolved = "".join(
        format_weakness(f"Old {n}", "w", stamp(n), stamp(n), stamp(n), "resolved (long-term)")
        for n in range(8)
    )
    text = EMPTY_PROFILE.replace("### Resolved\n", f"{active}\n### Resolved\n\n{resolved}")
    desk.where.profile.write_text(text)
    desk.record(days=400)
    before = [placed.resolved for placed in desk.profile.weaknesses]
    desk.edit("### Resolved\n", "")
    desk.look()
    assert [placed.resolved for placed in desk.profile.weaknesses] == before


def test_L_02_duplicate_sections(desk: Desk) -> None:
    """SPEC L-02: new entries go into the first section of a name, as `check` says."""
    desk.record("p0", gaps="edge:a")
    desk.where.profile.write_text(
        desk.text
        + "\n## Known Weaknesses\n\n"
        + format_weakness("Mine", "my own", "2025-01-01T10:00", "2025-01-01T10:00", "")
        + "\n## Session History\n\n## About Me\n\nMore.\n"
    )
    desk.record("p1", gaps="edge:b")
    first = desk.text.split("## Known Weaknesses")[1]
    assert "edge:b" in first and "| p1 |" in desk.text.split("## Session History")[1]
    theirs = desk.text.index("- **Mine**")
    assert desk.text.index("- **edge:b**") < theirs < desk.text.index("\n## Session History\n\n## About Me")


def test_L_38_a_recovered_double_is_named_and_removed(desk: Desk) -> None:
    """SPEC L-38: `check` marks it as repairable, and one run repairs it."""
    desk.write_rows(row(1))
    desk.look()
    theirs = f"### {stamp(1)} | two-sum | recall | pass\nGaps: none\nReview: 2026-12-24\n---\nMine.\n\n"
    desk.edit(f"### {stamp(1)}", f"{theirs}### {stamp(1)}")
    desk.look()
    assert RECOVERED not in desk.text and "Mine." in desk.text
