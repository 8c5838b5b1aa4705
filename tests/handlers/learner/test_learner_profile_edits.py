"""A person and the skill edit the profile, and it is damaged: SPEC L-02, L-03, L-09 to L-11, L-27 to L-31."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from support_learner import Desk, read_about, row, stamp
from support_learner_skill import EMPTY_PROFILE, format_weakness
from tacitd.errors import TacitdError
from tacitd_handlers.learner.ledger_file import LONG, RECURRING, SHORT
from tacitd_handlers.learner.profile_text import TEMPLATE

# --- a person's edits


def test_L_03_about_me_keeps_its_bytes(desk: Desk) -> None:
    """SPEC L-03: whatever changes elsewhere in the file."""
    theirs = b"# Me\r\n\r\n## About Me\r\nGoal:  interviews \xe2\x80\x94 in May\n\n```\n## Known Weaknesses\n```\n<!-- x -->\n"
    desk.put(theirs + b"## Known Weaknesses\n## Session History\n## About Me\nagain\n")
    before = read_about(desk.where.profile.read_bytes())
    for number in range(25):
        desk.record(f"p{number}", gaps=f"edge:{number}")
    assert read_about(desk.where.profile.read_bytes()) == before


def test_L_11_labels_are_matched_by_tag_and_slug(desk: Desk) -> None:
    """SPEC L-11: the label is the tag; a label with the same slug matches, and stays as it is."""
    desk.record(gaps="edge:empty_input")
    desk.edit("**edge:empty_input**", "**Edge: Empty Input**")
    desk.look()
    desk.record()
    assert desk.entry("Edge: Empty Input").clean == 1 and len(desk.labels) == 1


def test_L_11_a_renamed_label_is_remembered(desk: Desk) -> None:
    """SPEC L-11: a label that shares nothing with the tag becomes an alias, which survives a restart."""
    desk.record(gaps="edge:empty_input", descriptions={"edge:empty_input": "misses the check on arrays"})
    desk.edit("**edge:empty_input**", "**Nothing in, nothing out**")
    desk.look()
    desk.bench.restart(kill=True)
    desk.record()
    assert desk.entry("Nothing in, nothing out").clean == 1
    assert desk.state.aliases == {"edge:empty_input": "Nothing in, nothing out"} and not desk.state.removed
    desk.record(gaps="edge:empty_input")
    assert desk.entry("Nothing in, nothing out").status == RECURRING and len(desk.labels) == 1


def test_L_11_a_rename_beside_a_removal(desk: Desk) -> None:
    """SPEC L-11, L-30: two entries of one session: the one with the words is renamed, the other one removed."""
    words = {"edge:a": "misses a in loops", "edge:b": "misses b in trees"}
    desk.record(days=0, gaps="edge:a; edge:b", descriptions=words)
    desk.take_out("edge:a")
    desk.edit("**edge:b**", "**Trees**")
    desk.look()
    assert desk.state.removed == ["edge:a"] and desk.state.aliases == {"edge:b": "Trees"}


def test_L_11_joined_entries_are_one(desk: Desk) -> None:
    """SPEC L-11: `alias` keeps the label and the words, with the course of the gap's own entry."""
    desk.record(days=0, gaps="edge:off_by_one")
    desk.record(days=1, gaps="edge:off_by_one")
    theirs = format_weakness("Loop end", "goes past it", stamp(-3), stamp(0), stamp(0))
    desk.edit("- **edge:off_by_one**", f"{theirs}- **edge:off_by_one**")
    desk.do("join", "Loop end", "edge:off_by_one")
    entry = desk.entry("Loop end")
    assert (entry.failed, entry.status, entry.description) == (stamp(1), RECURRING, "goes past it")
    assert desk.labels == ["Loop end"] and not desk.state.removed
    desk.record(days=2)
    assert desk.entry("Loop end").clean == 1


def test_L_30_a_person_who_writes_it_again_has_it_again(desk: Desk) -> None:
    """SPEC L-30: an entry that a person adds again is no longer marked as removed."""
    desk.record(gaps="edge:a")
    before = desk.text
    desk.take_out("edge:a")
    desk.look()
    desk.put(before)
    desk.record()
    assert desk.entry("edge:a").clean == 1 and not desk.state.removed


def test_L_30_forget_and_undo(desk: Desk) -> None:
    """SPEC L-30: by tag or by label; the description is restored with the entry."""
    desk.record(gaps="edge:empty_input", descriptions={"edge:empty_input": "misses the check on arrays"})
    assert desk.do("forget", "Edge: Empty input").notices[0].text == "edge:empty_input"
    assert not desk.labels
    desk.record(gaps="edge:empty_input")
    assert not desk.labels
    desk.do("restore", "edge:empty_input")
    assert desk.entry("edge:empty_input").description == "misses the check on arrays"
    for do, name in (("restore", "edge:empty_input"), ("forget", "nope")):
        with pytest.raises(TacitdError) as refused:
            desk.do(do, name)
        assert refused.value.hint


def test_L_30_a_session_that_was_taken_out_stays_out(desk: Desk) -> None:
    """SPEC L-30: the same for Session History; no older session takes its place."""
    for number in range(22):
        desk.record(f"p{number}")
    desk.edit(desk.sessions[3].text + "\n\n", "")
    desk.look()
    assert desk.problems == [f"p{n}" for n in range(21, 1, -1) if n != 18]


def test_descriptions_and_places_are_a_persons(desk: Desk) -> None:
    """SPEC X-07: what a person rewrote, moved or added stays; their own entries count and are never changed."""
    desk.record(gaps="edge:a; edge:b")
    theirs = "- **Talks too fast** — rushes through the examples.\n\n"
    desk.edit("### Resolved", theirs + "### Resolved")
    desk.edit("a, seen in two-sum", "misses a in nested loops, seen in two-sum")
    for _ in range(3):
        desk.record()
    assert "misses a in nested loops" in desk.entry("edge:a").description and theirs in desk.text
    assert desk.entry("edge:a").status == SHORT


# --- room (SPEC L-27 to L-29)


def fill(desk: Desk, number: int = 21) -> None:
    """So many gaps, each of a problem and a pattern of its own."""
    for at in range(number):
        desk.record(f"p{at}", pattern=f"x{at}", gaps=f"edge:{at}")


def test_L_27_archiving_makes_room(desk: Desk) -> None:
    """SPEC L-27: the entry keeps its bytes below `### Resolved`, the one that waits enters; clean sessions update it in its place,
    a failure brings it back.
    """
    fill(desk)
    before = desk.find("edge:3")
    assert before is not None
    assert [one.text for one in desk.do("archive", "edge:3").notices] == ["edge:3"]
    placed = desk.find("edge:3")
    assert placed is not None and placed.resolved and placed.text == before.text
    assert desk.entry("edge:20").status == "new" and not desk.state.waiting
    desk.record("p3", pattern="x3")
    placed = desk.find("edge:3")
    assert placed is not None and placed.resolved and placed.clean == 1
    desk.do("archive", "edge:4")
    desk.record("p3", pattern="x3", gaps="edge:3")
    placed = desk.find("edge:3")
    assert placed is not None and not placed.resolved and placed.status == RECURRING


def test_L_27_an_entry_of_a_persons_own(desk: Desk) -> None:
    """SPEC L-27: an entry that is no gap's is moved too; an unknown or archived name is refused, with the labels."""
    desk.record(gaps="edge:a")
    theirs = format_weakness("Talks too fast", "rushes", stamp(-9), stamp(-9), "")
    desk.edit("- **edge:a**", f"{theirs}- **edge:a**")
    assert desk.do("archive", "talks too fast").notices[0].text == "Talks too fast"
    assert theirs in desk.text.partition("### Resolved")[2]
    for name in ("Talks too fast", "nope"):
        with pytest.raises(TacitdError) as refused:
            desk.do("archive", name)
        assert refused.value.code == 1
        assert "edge:a" in refused.value.hint


def test_L_27_two_entries_of_one_label(desk: Desk) -> None:
    """SPEC L-27, X-07: an entry that is archived does not take the place of a person's own of the same label."""
    desk.record(gaps="edge:a")
    theirs = format_weakness("edge:a", "my own words", stamp(-9), stamp(-9), stamp(-9), LONG)
    desk.edit("### Resolved\n", f"### Resolved\n\n{theirs}")
    desk.do("archive", "edge:a")
    assert desk.labels == ["edge:a", "edge:a"] and theirs in desk.text


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


# --- damage (SPEC L-02)


@pytest.mark.parametrize("how", ["file", "section", "history"])
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
        desk.put(head + "## Session History" + tail.partition("## Session History")[2])
    else:
        desk.put(before.partition("## Session History")[0])
    desk.look()
    assert {p.label: (p.status, p.resolved) for p in desk.weaknesses} == {
        "edge:a": (LONG, True),
        "edge:b": (RECURRING, False),
    }
    assert len(desk.sessions) == 5 and not desk.state.removed
    names = {"section": ["Known Weaknesses"], "history": ["Session History"]}
    assert desk.notices == [
        f"[REPAIRED] Restored missing section: {name}. Let the learner know if they didn't intend to remove it."
        for name in names.get(how, ["About Me", "Known Weaknesses", "Session History"])
    ]


def test_L_02_a_heading_deleted_with_its_entries_left(desk: Desk) -> None:
    """SPEC L-02, L-03: the heading is added with a notice and filled from the ledger; what is above it, now About Me, stays."""
    for number in range(3):
        desk.record(f"p{number}", gaps=f"edge:a{number}")
    desk.edit("**edge:a1**", "**Mine**")
    desk.look()
    desk.edit("## Known Weaknesses\n", "")
    above = desk.text.partition("## Session History")[0]
    desk.look()
    assert desk.text.startswith(above) and len(desk.labels) == 3 and not desk.state.removed
    assert "[REPAIRED] Restored missing section: Known Weaknesses." in desk.notices[0]
    desk.record("p3", gaps="edge:a1")
    assert desk.entry("Mine").status == "recurring"


@examples(60)
@given(data=st.data())
def test_L_02_any_mixture_is_in_step_after_one_look(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """SPEC L-02, L-09, L-38: a second look changes nothing, and nothing that a person wrote is lost or doubled."""
    with Desk(tmp_path_factory.mktemp("repair")) as desk:
        number = data.draw(st.integers(0, 30))
        gaps = [
            data.draw(st.sampled_from([f"edge:{day}", f"edge:{day % 7}; edge:{day}", "none"]))
            for day in range(number)
        ]
        rows = [row(day, tags, f"p{day % 5}") for day, tags in enumerate(gaps)]
        own, tagged = data.draw(st.integers(0, 30)), data.draw(st.integers(0, 30))
        entries = [format_weakness(f"Habit {n}", "rushes", stamp(-90), stamp(-90), "") for n in range(own)]
        entries += [
            format_weakness(f"edge:{n}", "in loops", stamp(n), stamp(n), stamp(n)) for n in range(tagged)
        ]
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
        desk.put(text)
        desk.look()
        once = desk.text
        desk.bench.restart()
        desk.look()
        assert desk.text == once
        assert all(desk.text.count(f"- **Habit {n}**") == 1 for n in range(own))
        assert len(desk.labels) == len(set(desk.labels))


def test_a_profile_in_a_conflict_is_left_alone(desk: Desk) -> None:
    """SPEC L-37: the row is written, the caller is told, and the entry is added once that is possible."""
    desk.record(days=0, gaps="edge:a")
    good = desk.text
    desk.put("<<<<<<< ours\n" + good)
    with pytest.raises(TacitdError, match="conflict"):
        desk.record(days=1, observations="Words.")
    desk.look()
    assert any("conflict markers" in what for what in desk.bench.degraded) and len(desk.rows) == 2
    desk.put(good)
    desk.look()
    assert "Words." in desk.text and "recovered" not in desk.text
    assert [what for what in desk.bench.degraded if "conflict markers" in what] == []


def test_crlf_files_stay_crlf(desk: Desk) -> None:
    """SPEC L-02, L-54: the newlines of both files are those that they have."""
    desk.put(TEMPLATE.replace(b"\n", b"\r\n"))
    desk.record(gaps="edge:a")
    desk.put(desk.where.ledger.read_bytes().replace(b"\n", b"\r\n"), desk.where.ledger)
    desk.record()
    for path in (desk.where.profile, desk.where.ledger):
        data = path.read_bytes()
        assert data.count(b"\n") == data.count(b"\r\n") > 5
    assert desk.entry("edge:a").clean == 1


def test_L_28_a_full_resolved_section(desk: Desk) -> None:
    """SPEC L-28: the eleventh entry replaces the one tested longest ago; the ledger keeps it."""
    for number in range(11):
        for at, gaps in ((0, f"edge:{number}"), (1, "none"), (2, "none"), (40, "none")):
            days = number + at * 1.0 + at * number / 100
            desk.record(f"p{number}", days=days, pattern=f"x{number}", gaps=gaps)
    for number in range(11):
        desk.record(f"p{number}", days=100 + number, pattern=f"x{number}")
    resolved = [placed.label for placed in desk.weaknesses if placed.resolved]
    assert len(resolved) == 10 and "edge:0" not in resolved and desk.find("edge:0") is None
    assert not desk.state.removed and not desk.state.waiting
