"""What follows from the ledger, and what a session changes in the entries: SPEC L-11, L-21 to L-23, L-29, L-31, L-40, L-47."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from support_learner import Desk, row, stamp
from support_learner_skill import TeachingSkill, format_weakness
from tacitd_handlers.learner.ledger_file import LedgerRow, RowKey
from tacitd_handlers.learner.ledger_replay import in_order, replay
from tacitd_handlers.learner.review_dates import describe_trajectory
from tacitd_handlers.learner.vocabulary import IMPROVING, NEW, RECURRING, SHORT
from tacitd_handlers.learner.weakness_rules import Weakness


def tags(*rows: LedgerRow, tested: Mapping[RowKey, tuple[str, ...]] | None = None) -> dict[str, Weakness]:
    return replay(rows, tested or {}).tags


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def skill(desk: Desk) -> TeachingSkill:
    return TeachingSkill(desk.where.profile, desk.where.ledger)


def test_L_21_the_same_problem_tests_its_gaps() -> None:
    """SPEC L-21: a session on a problem tests the gaps seen before on it; those of other problems do not change."""
    found = tags(row(1, "edge:a"), row(2, "edge:b", "lru"), row(3), row(4, problem="stairs"))
    assert (found["edge:a"].clean, found["edge:a"].tested) == (1, stamp(3))
    assert (found["edge:b"].clean, found["edge:b"].tested) == (0, stamp(2))


def test_L_21_a_gap_of_two_problems_is_tested_by_its_pattern() -> None:
    """SPEC L-21: a gap seen on two problems of a pattern is expected on a third; `unknown` is no pattern."""
    for pattern, clean in (("hash_map", 1), ("unknown", 0)):
        shown = [row(n, "edge:a", f"p{n}", pattern=pattern) for n in (1, 2)]
        assert tags(*shown, row(3, problem="p3", pattern=pattern))["edge:a"].clean == clean
        assert tags(*shown[:1], row(3, problem="p3", pattern=pattern))["edge:a"].clean == 0


def test_L_21_three_other_problems_resolve_nothing(desk: Desk) -> None:
    """SPEC L-21: twenty problems of one pattern with one gap each, none practised again: every gap stays new."""
    for number in range(20):
        desk.record(f"p{number}", gaps=f"edge:{number}")
    assert {placed.entry.status for placed in desk.profile.weaknesses} == {NEW}


def test_L_21_what_a_session_reports_as_tested_counts_instead() -> None:
    """SPEC L-21: reported tags count, also of other problems; an empty list tests nothing; unknown tags make no weakness."""
    rows = [row(1, "edge:a"), row(2, "edge:b", "lru", pattern="dp"), row(3), row(4)]
    found = tags(*rows, tested={rows[2].key: ("edge:b", "edge:never"), rows[3].key: ()})
    assert (found["edge:a"].clean, found["edge:b"].clean) == (0, 1) and set(found) == {"edge:a", "edge:b"}


def test_L_21_a_session_that_the_skill_judged_is_left_to_it(desk: Desk, skill: TeachingSkill) -> None:
    """SPEC L-21: if an entry bears the session's stamp, the weaknesses stay as the skill wrote them; the history is healed."""
    desk.record(days=0, gaps="edge:a; edge:b")
    skill.write_session(stamp(2), clean=["edge:b"])
    skill.write_row(f"| {stamp(2)} | s-{stamp(2)} | lru | hash_map | recall | pass | edge:z | 2026-12-24 |")
    before = desk.text.partition("## Session History")[0]
    desk.look()
    assert desk.text.partition("## Session History")[0] == before
    assert [held.session.problem for held in desk.profile.sessions] == ["lru", "two-sum", "two-sum"]
    desk.record(days=3)
    assert (desk.entry("edge:a").clean, desk.entry("edge:b").clean) == (1, 2)


def test_L_21_a_judged_session_beside_a_record_of_another(desk: Desk, skill: TeachingSkill) -> None:
    """SPEC L-21: a record that comes before the skill's session is compared does not hide that the skill judged it."""
    desk.record(days=0, gaps="edge:a; edge:b")
    skill.write_session(stamp(2), "lru", gaps={"edge:z": "Free label"}, clean=["edge:b"])
    desk.record("stairs", days=3)
    desk.look()
    labels = [placed.entry.label for placed in desk.profile.weaknesses]
    assert labels == ["edge:a", "edge:b", "Free label"]
    assert (desk.entry("edge:b").clean, desk.entry("edge:b").tested) == (1, stamp(2))


def test_L_22_two_problems_of_one_session() -> None:
    """SPEC L-22: observed in one problem is failed, in either order; clean in both counts once."""
    first = [row(1, "edge:a", session="s"), row(1, "edge:a", "lru", session="s")]
    for second in (
        [row(2, "edge:a", "lru", session="t"), row(2, session="t")],
        [row(2, session="t"), row(2, "edge:a", "lru", session="t")],
    ):
        found = tags(*first, *second)["edge:a"]
        assert (found.status, found.clean) == (RECURRING, 0)
    assert tags(*first)["edge:a"].status == NEW
    assert tags(*first, row(2, problem="lru", session="t"), row(2, session="t"))["edge:a"].clean == 1


def test_L_22_a_session_that_goes_on_counts_once() -> None:
    """SPEC L-22: sessions are identified by id, also with another session in between; `manual` is no id."""
    rows = [row(1, "edge:a", session="s"), row(2, session="t"), row(3, session="u"), row(4, session="t")]
    assert (tags(*rows)["edge:a"].clean, tags(*rows)["edge:a"].tested) == (2, stamp(4))
    assert tags(*(one._replace(session="manual") for one in rows))["edge:a"].clean == 3


def test_L_23_a_row_twice_counts_once() -> None:
    """SPEC L-23: the key is session, timestamp, problem and mode; the first of equal rows counts."""
    rows = [row(1, "edge:a"), row(2), row(2, "edge:a"), row(2, mode="learning")]
    assert in_order(rows) == [rows[0], rows[1], rows[3]] and tags(*rows)["edge:a"].clean == 1


def test_L_47_the_order_is_that_of_the_stamps_then_of_the_ledger() -> None:
    """SPEC L-47: a row appended late counts at its stamp; rows of one stamp keep the ledger's order."""
    late = [row(1, "edge:a"), row(3), row(2, "edge:a")]
    assert tags(*late) == tags(*sorted(late))
    before, after = row(1, session="b"), row(1, "edge:a", session="a")
    assert in_order([after, before]) == [after, before]
    assert tags(row(0, "edge:a"), before, after)["edge:a"].clean == 0
    assert tags(row(0, "edge:a"), after, before)["edge:a"].clean == 1


def test_L_40_the_trajectory_says_what_the_ledger_says() -> None:
    """SPEC L-40: the last three sessions of the problem, oldest first; a first session is named as such."""
    rows = [row(n, verdict=v) for n, v in enumerate(["needs_work", "borderline", "pass", "strong_pass"])]
    wanted = "borderline (2026-02-20), pass (2026-02-21), strong_pass (2026-02-22)"
    assert describe_trajectory(rows) == f"Trajectory: before this, {wanted}."
    assert describe_trajectory([]) == "Trajectory: first session of this problem."


def test_L_31_a_status_and_a_late_session(desk: Desk) -> None:
    """SPEC L-31: the counts follow the ledger, also those of a session that arrives late; the status goes on from what a
    person wrote.
    """
    desk.record(days=0, gaps="edge:a")
    desk.record(days=5)
    desk.edit("Status: new", "Status: recurring")
    desk.record(days=3)
    entry = desk.entry("edge:a")
    assert (entry.status, entry.clean, entry.streak, entry.tested) == (IMPROVING, 2, stamp(3), stamp(5))
    desk.edit("Status: improving", "Status: resolved (short-term)")
    desk.record(days=1, gaps="edge:a")
    entry = desk.entry("edge:a")
    assert (entry.status, entry.failed, entry.clean) == (SHORT, stamp(1), 2)


def test_L_31_counts_that_somebody_wrote_go_on_by_steps(desk: Desk) -> None:
    """SPEC L-31: an entry with stamps of another session is the input of the next one; the same report changes it once."""
    desk.record(days=0, gaps="edge:a")
    desk.record("lru", days=4)
    desk.edit(f"Last tested: {stamp(0)}", f"Last tested: {stamp(4)}")
    desk.edit(
        "streak start: . Sessions since last failure: 0",
        f"streak start: {stamp(4)}. Sessions since last failure: 5",
    )
    desk.record(days=2)
    assert desk.entry("edge:a").clean == 5, "a session before the last test is known already"
    for _ in range(2):
        desk.record(days=6)
        entry = desk.entry("edge:a")
        assert (entry.clean, entry.streak, entry.tested) == (6, stamp(4), stamp(6))


def test_L_29_a_gap_that_returns_waits_for_room(desk: Desk) -> None:
    """SPEC L-29, L-27: a long-term resolved gap that is observed again while twenty are active waits, with its words."""
    desk.record(
        "back", days=0, gaps="edge:back", pattern="back", descriptions={"edge:back": "my words in loops"}
    )
    for day in (1, 2, 30, 31):
        desk.record("back", days=day)
    for number in range(20):
        desk.record(f"p{number}", days=40 + number, gaps=f"edge:{number}")
    desk.record("back", days=70, gaps="edge:back")
    assert desk.state.waiting == ["edge:back"] and "edge:back**" not in desk.text
    desk.take_out("edge:3")
    desk.look()
    entry = desk.entry("edge:back")
    assert (entry.status, entry.description) == (RECURRING, "my words in loops")


def test_L_11_a_free_label_is_nobodys_gap(desk: Desk, skill: TeachingSkill) -> None:
    """SPEC L-11: an entry that shares a word and a stamp with a gap is not the gap's: no session of the gap changes it."""
    skill.write_session(stamp(0), gaps={"edge:right_padding": "Right bound off by one"})
    desk.look()
    before = desk.profile.bare_lines(desk.profile.weaknesses[0].span)
    desk.record("pad", days=1, tested="edge:right_padding")
    desk.record("pad", days=2, gaps="edge:right_padding")
    placed = desk.placed("Right bound off by one")
    assert placed is not None and desk.profile.bare_lines(placed.span) == before
    assert desk.entry("edge:right_padding").first == stamp(0)


def test_L_11_joined_entries_are_one(desk: Desk) -> None:
    """SPEC L-11: `alias` keeps the label and the words, with the course of the gap's own entry."""
    desk.record(days=0, gaps="edge:off_by_one")
    desk.record(days=1, gaps="edge:off_by_one")
    theirs = format_weakness("Loop end", "goes past it", stamp(-3), stamp(0), stamp(0))
    desk.edit("- **edge:off_by_one**", f"{theirs}- **edge:off_by_one**")
    desk.join("Loop end", "edge:off_by_one")
    entry = desk.entry("Loop end")
    assert (entry.failed, entry.status, entry.description) == (stamp(1), RECURRING, "goes past it")
    assert len(desk.profile.weaknesses) == 1 and not desk.state.removed
    desk.record(days=2)
    assert desk.entry("Loop end").clean == 1


def test_L_11_a_rename_beside_a_removal(desk: Desk) -> None:
    """SPEC L-11, L-30: two entries of one session: the one with the words is renamed, the other one removed."""
    words = {"edge:a": "misses a in loops", "edge:b": "misses b in trees"}
    desk.record(days=0, gaps="edge:a; edge:b", descriptions=words)
    desk.take_out("edge:a")
    desk.edit("**edge:b**", "**Trees**")
    desk.look()
    assert desk.state.removed == ["edge:a"] and desk.state.aliases == {"edge:b": "Trees"}
