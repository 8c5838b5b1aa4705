"""Repair of damaged profiles: `check --fix` needs one run and does what `check` says (SPEC L-02, L-09, L-32, L-38)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from support_learner import Desk, row, stamp
from support_learner_skill import EMPTY_PROFILE, format_weakness
from tacitd_handlers.learner.findings import CheckFinding, check_files
from tacitd_handlers.learner.formats.history_md import RECOVERED
from tacitd_handlers.learner.rules.capacity import MAX_ACTIVE


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def check(desk: Desk) -> list[CheckFinding]:
    store = desk.store()
    planned = store.plan_comparison()
    return check_files(store.read_profile(), store.read_ledger().data, store.load_state(), planned)


def fix(desk: Desk) -> list[CheckFinding]:
    """One run of `check --fix`, and what it leaves that could be repaired."""
    store = desk.store()
    with store.locked():
        store.sync_files(force=True, archives_surplus=True)
    return [one for one in check(desk) if one.fixable]


def test_L_32_two_sessions_of_one_stamp(desk: Desk) -> None:
    """SPEC L-32, L-47: in the repeated hour, two sessions with one stamp, problem and mode both have an entry."""
    for session, verdict, words in (("a", "pass", "First."), ("b", "borderline", "Second.")):
        desk.record(days=1, session=session, verdict=verdict, observations=words, gaps="edge:x")
    shown = [
        (held.session.verdict, held.session.observations.split("\n")[0]) for held in desk.profile.sessions
    ]
    assert sorted(shown) == [("borderline", "Second."), ("pass", "First.")]
    once = desk.text
    assert not fix(desk) and not check(desk)[1:] and desk.text == once
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
    (desk.where.home / "state.json").unlink()
    once = desk.text
    desk.look()
    assert desk.text == once and not fix(desk)


def test_L_30_an_older_state_without_session_ids(desk: Desk) -> None:
    """SPEC L-30: a session that was removed before keys had session ids stays removed."""
    desk.record("one", days=1)
    desk.record("two", days=2)
    held = desk.profile.sessions[0]
    desk.edit("\n".join(desk.profile.bare_lines(held.span)) + "\n", "")
    desk.look()
    state = desk.state
    state.gone, state.sessions = [key[:3] for key in state.gone], [key[:3] for key in state.sessions]
    store = desk.store()
    with store.locked():
        store.save_state(state)
    desk.record("three", days=3)
    assert [one.session.problem for one in desk.profile.sessions] == ["three", "one"]


@pytest.mark.parametrize("above", ["Known Weaknesses", "Mine", "About Me"])
def test_L_02_the_heading_of_the_history_deleted_with_its_entries_left(desk: Desk, above: str) -> None:
    """SPEC L-02, L-32: the heading is put above the entries again, and no entry is written twice."""
    for number in range(4):
        desk.record(f"p{number}", gaps="edge:a" if number == 1 else "none", observations=f"Words {number}.")
    if above == "Mine":
        desk.edit("## Session History", "## Mine\n\nA note.\n\n## Session History")
    if above == "About Me":
        text = desk.text
        about, rest = text.split("## Known Weaknesses")
        known, history = rest.split("## Session History")
        desk.where.profile.write_text(f"## Known Weaknesses{known}{about}## Session History{history}")
        desk.look()
    before = desk.text
    desk.edit("## Session History\n", "")
    assert not fix(desk)
    for number in range(4):
        assert desk.text.count(f"| p{number} |") == 1 and desk.text.count(f"Words {number}.") == 1
    if above != "About Me":
        assert sorted(desk.text.split()) == sorted(before.split())
    desk.record("p4")
    assert len([one for one in desk.text.splitlines() if one.startswith("### 2026")]) == 5


@pytest.mark.parametrize(
    "headings",
    [("Known Weaknesses",), ("Known Weaknesses", "Session History"), ("About Me", "Known Weaknesses")],
)
def test_L_02_the_heading_of_the_weaknesses_deleted_with_its_entries_left(
    desk: Desk, headings: tuple[str, ...]
) -> None:
    """SPEC L-02, L-11: the heading is put above the entries again, no weakness is written twice, and About Me stays."""
    for number in range(3):
        desk.record(f"p{number}", gaps=f"edge:a{number}", observations=f"Words {number}.")
    desk.edit("**edge:a1**", "**Right bound off by one**")
    desk.look()
    desk.edit("## About Me\n", "## About Me\n\n- **Python** \u2014 since 2015.\n")
    before, text = desk.text, desk.text
    for heading in headings:
        text = text.replace(f"## {heading}\n", "")
    desk.where.profile.write_text(text)
    assert not fix(desk)
    assert sorted(desk.text.split()) == sorted(before.split())
    assert (
        desk.text.index("since 2015") < desk.text.index("## Known Weaknesses") < desk.text.index("edge:a0**")
    )
    once = desk.text
    desk.look(first=True)
    assert desk.text == once
    desk.record("p3", gaps="edge:a1")
    assert desk.entry("Right bound off by one").status == "recurring"


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
    assert not fix(desk) and [placed.resolved for placed in desk.profile.weaknesses] == before


def test_L_02_duplicate_sections(desk: Desk) -> None:
    """SPEC L-02: new entries go into the first section of a name, as `check` says."""
    desk.record("p0", gaps="edge:a")
    desk.where.profile.write_text(
        desk.text
        + "\n## Known Weaknesses\n\n"
        + format_weakness("Mine", "my own", "2025-01-01T10:00", "2025-01-01T10:00", "")
        + "\n## Session History\n\n## About Me\n\nMore.\n"
    )
    said = {one.where: one.what for one in check(desk)}
    assert said["Known Weaknesses"] == "occurs 2 times; new entries go into the first"
    assert said["About Me"] == "occurs 2 times; nothing is written into it"
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
    assert [one.what for one in check(desk) if one.fixable] == ["two-sum has two entries"]
    assert not fix(desk) and RECOVERED not in desk.text and "Mine." in desk.text


def test_L_11_a_doubled_weakness_is_named_before_a_comparison(desk: Desk) -> None:
    """SPEC L-11: `check` says at once which entry is kept, and changes nothing; `--fix` removes the other."""
    desk.record(days=1, gaps="edge:off_by_one")
    desk.record(days=2, gaps="edge:off_by_one")
    theirs = format_weakness("Right bound off by one", "moves hi past mid", stamp(1), stamp(2), stamp(2))
    desk.edit("- **edge:off_by_one**", theirs + "- **edge:off_by_one**")
    before, state = desk.text, (desk.where.home / "state.json").read_bytes()
    (found,) = check(desk)
    assert found.what == "has two entries; Right bound off by one is kept up to date, the other is removed"
    assert (found.where, found.fixable) == ("edge:off_by_one", True)
    assert desk.text == before and (desk.where.home / "state.json").read_bytes() == state
    assert (
        not fix(desk) and "**Right bound off by one**" in desk.text and "**edge:off_by_one**" not in desk.text
    )


@examples(90)
@given(data=st.data())
def test_L_09_one_run_repairs_any_mixture(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """SPEC L-09: after one run nothing repairable is left, a second one changes nothing, there are at most twenty active
    entries, and nothing that a person wrote is lost.
    """
    desk = Desk(tmp_path_factory.mktemp("repair"))
    number = data.draw(st.integers(0, 30))
    rows = [
        row(
            day,
            data.draw(st.sampled_from([f"edge:{day}", f"edge:{day % 7}; edge:{day}", "none"])),
            f"p{day % 5}",
        )
        for day in range(number)
    ]
    own = data.draw(st.integers(0, 30))
    entries = [
        format_weakness(f"Habit {n}", "rushes", "2025-01-01T10:00", "2025-01-01T10:00", "")
        for n in range(own)
    ]
    tagged = data.draw(st.integers(0, 30 - own))
    entries += [format_weakness(f"edge:{n}", "in loops", stamp(n), stamp(n), stamp(n)) for n in range(tagged)]
    sessions = "".join(
        f"### {one.stamp} | {one.problem} | recall | {data.draw(st.sampled_from(['pass', 'borderline', 'great']))}\n"
        f"Gaps: {one.gaps}\n---\nWords.\n\n"
        for one in rows
        if data.draw(st.booleans())
    )
    text = EMPTY_PROFILE.replace("### Resolved", "".join(entries) + "\n### Resolved") + "\n" + sessions
    for heading in ("### Resolved\n", "## Session History\n", "## Known Weaknesses\n", "## About Me\n"):
        if data.draw(st.integers(0, 3)) == 0:
            text = text.replace(heading, "")
    if data.draw(st.booleans()):
        desk.write_rows(*rows[: number // 2])
        desk.look()
    if len(rows) > number // 2:
        desk.write_rows(*rows[number // 2 if desk.ledger else 0 :])
    desk.where.profile.write_text(text)
    left = fix(desk)
    assert not left
    once = desk.text
    desk.look(first=True)
    assert desk.text == once and not fix(desk) and desk.text == once
    assert sum(not placed.resolved for placed in desk.profile.weaknesses) <= MAX_ACTIVE
    assert all(desk.text.count(f"- **Habit {n}**") == 1 for n in range(own))
    assert all(desk.text.count(f"- **edge:{n}**") <= 1 for n in range(number + tagged))
    waiting = desk.state.lists.pending
    assert all(f"- **edge:{n}**" in desk.text or f"edge:{n}" in waiting for n in range(tagged))
