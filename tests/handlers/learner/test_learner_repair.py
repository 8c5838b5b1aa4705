"""Repair of damaged profiles, and crashes while the files are compared (SPEC L-02, L-09, L-32, L-37, L-38)."""

from __future__ import annotations

import contextlib
import errno
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from support_learner import Desk, row, stamp
from support_learner_skill import EMPTY_PROFILE, format_weakness
from tacitd.testing import Crash, FaultyDisk
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


def test_L_02_a_heading_deleted_with_its_entries_left(desk: Desk) -> None:
    """SPEC L-02, L-03: the heading is added with a notice and filled from the ledger; what is above it, now About Me, stays."""
    for number in range(3):
        desk.record(f"p{number}", gaps=f"edge:a{number}")
    desk.edit("**edge:a1**", "**Mine**")
    desk.look()
    desk.edit("## Known Weaknesses\n", "")
    above = desk.text.partition("## Session History")[0]
    desk.look()
    assert desk.text.startswith(above) and len(desk.profile.weaknesses) == 3 and not desk.state.removed
    assert "[REPAIRED] Restored missing section: Known Weaknesses." in desk.state.notices[0]
    desk.record("p3", gaps="edge:a1")
    assert desk.entry("Mine").status == "recurring"


def test_L_28_an_entry_that_is_being_edited_is_not_dropped(desk: Desk) -> None:
    """SPEC L-28: an entry without a status, which a person is writing, stays also in a Resolved that is too long."""
    desk.record(gaps="edge:a")
    entries = [format_weakness(f"Old {n}", "w", stamp(n), stamp(n), stamp(n)) for n in range(11)]
    half = "- **edge:b** — half of it\n"
    desk.write_rows(row(3, "edge:b"))
    desk.edit("### Resolved\n", "### Resolved\n\n" + "".join(entries) + half)
    desk.look()
    desk.record(days=5)
    assert half in desk.text


def test_L_38_a_recovered_double_is_named_and_removed(desk: Desk) -> None:
    """SPEC L-38: `check` marks it as repairable, and one run repairs it."""
    desk.write_rows(row(1))
    desk.look()
    theirs = f"### {stamp(1)} | two-sum | recall | pass\nGaps: none\nReview: 2026-12-24\n---\nMine.\n\n"
    desk.edit(f"### {stamp(1)}", f"{theirs}### {stamp(1)}")
    desk.look()
    assert RECOVERED not in desk.text and "Mine." in desk.text


@examples(60)
@given(data=st.data())
def test_L_02_any_mixture_is_in_step_after_one_look(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """SPEC L-02, L-09, L-38: a second look changes nothing, and nothing that a person wrote is lost or doubled."""
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
    own, tagged = data.draw(st.integers(0, 30)), data.draw(st.integers(0, 30))
    entries = [
        format_weakness(f"Habit {n}", "rushes", "2025-01-01T10:00", "2025-01-01T10:00", "")
        for n in range(own)
    ]
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
    desk.look()
    once = desk.text
    desk.look(first=True)
    assert desk.text == once
    assert all(desk.text.count(f"- **Habit {n}**") == 1 for n in range(own))
    labels = [placed.entry.label for placed in desk.profile.weaknesses]
    assert len(labels) == len(set(labels))


def fill_list(desk: Desk) -> None:
    """Twenty active weaknesses and one that waits; then sessions that nobody synced, by which one is promoted for it."""
    for at, name in enumerate(("first", "second")):
        desk.record(name, days=at, gaps=f"edge:{name}", pattern=name)
        for day in (3, 5, 7):
            desk.record(name, days=day + at, pattern=name)
    for number in range(18):
        desk.record(f"p{number}", days=50 + number, gaps=f"edge:other_{number}", pattern="other")
    desk.record("waits", days=70, gaps="edge:waits", pattern="waits")
    desk.record("late", days=71, gaps="edge:late", pattern="late")
    assert desk.state.waiting == ["edge:waits", "edge:late"]
    desk.edit("**edge:other_5**", "**Renamed**")
    desk.take_out("edge:other_6")
    desk.write_rows(
        row(150, problem="first"), row(151, "edge:other_3", "else"), row(152, "edge:more", "more")
    )


@pytest.mark.parametrize("kind", ["crash", "torn", errno.ENOSPC, errno.EIO])
def test_L_37_a_crash_at_any_step_of_a_comparison(tmp_path: Path, kind: str | int) -> None:
    """SPEC L-37, L-27, L-30: wherever a comparison ends that promotes for room, renames and removes, the next one ends as
    if nothing had happened.
    """
    full = Desk(tmp_path / "full")
    fill_list(full)
    steps: list[int] = []

    def compare(home: Path, at: int) -> tuple[str, list[str], list[str], dict[str, str]]:
        desk = Desk(home)
        shutil.copytree(full.home, desk.home, dirs_exist_ok=True)
        disk = FaultyDisk(crash_at=at, torn=kind == "torn")
        if isinstance(kind, int):
            disk = FaultyDisk(fail_at=at, code=kind, torn=True)
        store = desk.store(disk)
        with contextlib.suppress(Crash, OSError), store.locked():
            store.sync_files(first=True, force=True)
        steps.append(len(disk.trail))
        desk.look(first=True)
        state = desk.state
        return desk.text, state.waiting, state.removed, state.aliases

    expected = compare(tmp_path / "none", 0)
    assert expected[1:] == (["edge:more"], ["edge:other_6"], {"edge:other_5": "Renamed"}) and steps[0] > 5
    assert "- **edge:waits**" in expected[0] and "- **edge:late**" in expected[0]
    for at in range(1, steps[0] + 1):
        assert compare(tmp_path / str(at), at) == expected, at
