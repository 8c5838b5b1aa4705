"""`tacitd learner archive` makes room in Known Weaknesses (SPEC L-27)."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_learner import Desk, stamp
from support_learner_skill import TeachingSkill, format_weakness
from tacitd.errors import UsageError
from tacitd_handlers.learner.archiving import archive_weakness
from tacitd_handlers.learner.findings import check_files
from tacitd_handlers.learner.rules.capacity import MAX_ACTIVE
from tacitd_handlers.learner.rules.vocabulary import LONG, RECURRING, SHORT


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def archive(desk: Desk, name: str) -> str:
    store = desk.store()
    with store.locked():
        return archive_weakness(store, name)


def test_L_27_archiving_makes_room(desk: Desk) -> None:
    """SPEC L-27: the entry keeps its bytes below `### Resolved`, the one that waits enters, both at once."""
    for number in range(21):
        desk.record(f"p{number}", pattern=f"x{number}", gaps=f"edge:{number}")
    before = desk.profile.bare_lines(desk.placed("edge:3").span)  # type: ignore[union-attr]
    assert archive(desk, "edge:3") == "edge:3"
    placed = desk.placed("edge:3")
    assert placed is not None and placed.resolved and desk.profile.bare_lines(placed.span) == before
    assert desk.entry("edge:20").status == "new" and not desk.state.lists.pending
    assert sum(not one.resolved for one in desk.profile.weaknesses) == MAX_ACTIVE
    assert desk.store().notes.read_state().waiting_tags == ()


def test_L_27_an_archived_entry_returns_when_it_is_observed_again(desk: Desk) -> None:
    """SPEC L-27, L-16: a clean session updates it in its place; a failure brings it back."""
    desk.record(gaps="edge:a")
    archive(desk, "a")
    desk.record()
    placed = desk.placed("edge:a")
    assert placed is not None and placed.resolved and placed.entry.clean == 1
    desk.record(gaps="edge:a")
    placed = desk.placed("edge:a")
    assert placed is not None and not placed.resolved and placed.entry.status == RECURRING


def test_L_27_an_entry_of_a_persons_own(desk: Desk) -> None:
    """SPEC L-27: an entry that is no gap's is moved too; an unknown or archived name is refused, with the labels."""
    desk.record(gaps="edge:a")
    theirs = format_weakness("Talks too fast", "rushes", stamp(-9), stamp(-9), "")
    desk.edit("- **edge:a**", f"{theirs}- **edge:a**")
    assert archive(desk, "talks too fast") == "Talks too fast"
    assert theirs in desk.text.partition("### Resolved")[2]
    for name in ("Talks too fast", "nope"):
        with pytest.raises(UsageError) as refused:
            archive(desk, name)
        assert "edge:a" in refused.value.hint


def fix(desk: Desk) -> list[tuple[str, str]]:
    """One run of `check --fix`; returns what moved."""
    store = desk.store()
    with store.locked():
        done = store.sync_files(force=True, archives_surplus=True)
    return [(move.tag, move.what) for move in done.result.moves] if done.result is not None else []


def labels(desk: Desk, *, resolved: bool) -> list[str]:
    return [placed.entry.label for placed in desk.profile.weaknesses if placed.resolved is resolved]


def write_thirty(desk: Desk) -> dict[str, list[str]]:
    """Thirty entries of the skill, with labels and words of its own; returns the lines of each."""
    skill = TeachingSkill(desk.where.profile, desk.where.ledger)
    for number in range(30):
        label = f"Thing {number} goes wrong"
        words = {label: f"my words on {number}"}
        gaps = {f"edge:thing_{number}": label}
        skill.write_session(stamp(number), f"p{number}", gaps=gaps, describe=words, pattern=f"x{number}")
    for day in (40, 41, 42):
        skill.write_session(stamp(day), "p3", clean=["Thing 3 goes wrong"], pattern=f"day {day}")
    desk.look()
    assert len(labels(desk, resolved=False)) == 30, "what the skill wrote stays, until a person asks"
    return {one.entry.label: desk.profile.bare_lines(one.span) for one in desk.profile.weaknesses}


def test_L_09_check_fix_leaves_twenty_active(desk: Desk) -> None:
    """SPEC L-09, L-27: the most resolved ones move to `### Resolved`; every entry keeps its bytes, and one run is enough."""
    before = write_thirty(desk)
    moved = fix(desk)
    assert len(moved) == 10 and {what for _, what in moved} == {"archived"}
    assert len(labels(desk, resolved=False)) == MAX_ACTIVE and labels(desk, resolved=True)[0].startswith(
        "Thing 3 "
    )
    assert {one.entry.label: desk.profile.bare_lines(one.span) for one in desk.profile.weaknesses} == before
    once = desk.text
    assert fix(desk) == [] and desk.text == once
    desk.record("p3", days=50, gaps="edge:thing_3")
    assert "edge:thing_3" in desk.state.lists.pending, "it is observed again, and the list is full"
    archive(desk, labels(desk, resolved=False)[0])
    assert desk.entry("Thing 3 goes wrong").description == "my words on 3"


def test_L_09_check_fix_with_a_full_resolved_section(desk: Desk) -> None:
    """SPEC L-09, L-28: gaps for which `### Resolved` has no room wait with label and words; a person's own entries move."""
    write_thirty(desk)
    own = [format_weakness(f"Habit {n}", "rushes", "2025-01-01T10:00", "", "") for n in range(8)]
    desk.edit("### Resolved\n", "### Resolved\n\n" + "".join(own[:6]))
    desk.edit("- **Thing 0", "".join(own[6:]) + "- **Thing 0")
    what = dict(fix(desk))
    assert len(labels(desk, resolved=False)) == MAX_ACTIVE and all(entry in desk.text for entry in own)
    waiting = desk.state.lists.pending
    assert (what["edge:thing_3"], what["edge:thing_0"]) == ("archived", "archived") and len(waiting) == 8
    assert len(labels(desk, resolved=True)) == 10
    shown = desk.store().notes.read_state().waiting_tags
    assert tuple(waiting) == shown
    for label in labels(desk, resolved=False)[:3]:
        desk.take_out(label)
    desk.look()
    back = desk.entry(f"Thing {waiting[0].rpartition('_')[2]} goes wrong")
    assert back.description == f"my words on {waiting[0].rpartition('_')[2]}"


def test_L_09_check_fix_with_entries_of_a_persons_own_only(desk: Desk) -> None:
    """SPEC L-09: none has a row, so all that is too much moves; nothing is removed, and `check` names the long Resolved."""
    desk.record()
    own = [format_weakness(f"Habit {n}", "rushes", "2025-01-01T10:00", "", "") for n in range(38)]
    desk.edit("### Resolved\n", "".join(own[:30]) + "\n### Resolved\n\n" + "".join(own[30:]))
    fix(desk)
    assert len(labels(desk, resolved=False)) == MAX_ACTIVE and all(entry in desk.text for entry in own)
    store = desk.store()
    found = check_files(store.read_profile(), store.read_ledger().data, store.load_state())
    assert "18 resolved entries; the maximum is 10, and yours are never removed" in [
        one.what for one in found
    ]
    assert not [one for one in found if one.fixable]


def test_L_27_check_fix_promotes_what_is_proved(desk: Desk) -> None:
    """SPEC L-27, L-26: a short-term entry whose four weeks are proved becomes long-term and makes room."""
    for day in (0, 1, 2, 40):
        desk.record("old", days=day, gaps="edge:old" if day == 0 else "none", pattern="old")
    assert desk.entry("edge:old").status == SHORT
    own = "".join(format_weakness(f"Habit {n}", "rushes", "2025-01-01T10:00", "", "") for n in range(20))
    desk.edit("- **edge:old** — old", f"{own}- **edge:old** — my words")
    assert ("edge:old", "makes room") in fix(desk)
    placed = desk.placed("edge:old")
    assert placed is not None and placed.resolved and placed.entry.status == LONG
    assert len(labels(desk, resolved=False)) == MAX_ACTIVE


def test_L_09_a_list_that_is_too_long(desk: Desk) -> None:
    """SPEC L-09: tacitd's own entries wait again; a person's stay, although they are more than twenty."""
    for number in range(12):
        desk.record(f"p{number}", pattern=f"x{number}", gaps=f"edge:{number}")
    theirs = "".join(format_weakness(f"Habit {n}", "rushes", "2025-01-01T10:00", "", "") for n in range(14))
    desk.edit("- **edge:0**", f"{theirs}- **edge:0**")
    desk.look()
    active = [placed.entry.label for placed in desk.profile.weaknesses if not placed.resolved]
    assert len(active) == MAX_ACTIVE and active[14:] == [f"edge:{n}" for n in range(6)]
    assert desk.state.lists.pending == [f"edge:{n}" for n in range(6, 12)]
    once = desk.text
    desk.look()
    assert desk.text == once
