"""A person's changes to the profile are kept (SPEC L-03, L-11, L-30, L-31)."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_learner import Desk, read_about, stamp
from tacitd_handlers.learner.practice_record import forget_weakness, restore_weakness
from tacitd_handlers.learner.vocabulary import RECURRING, SHORT


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_L_03_about_me_keeps_its_bytes(desk: Desk) -> None:
    """SPEC L-03: whatever changes elsewhere in the file."""
    desk.record(gaps="edge:a")
    desk.edit("<!-- Yours", "I am preparing.\n\t- **not** — a weakness\n\n<!-- Yours")
    about = read_about(desk.profile)
    for number in range(25):
        desk.record(f"p{number}", gaps=f"edge:{number}")
    desk.edit("## Session History", "## History")
    desk.look()
    assert read_about(desk.profile) == about


def test_L_11_labels_are_matched_by_their_words(desk: Desk) -> None:
    """SPEC L-11: the label is the tag; a label with the same slug matches."""
    desk.record(gaps="edge:empty_input")
    desk.edit("**edge:empty_input**", "**Edge: empty input**")
    desk.record()
    assert desk.entry("Edge: empty input").clean == 1 and desk.placed("edge:empty_input") is None


def test_L_11_a_renamed_label_is_remembered(desk: Desk) -> None:
    """SPEC L-11: a label that shares nothing with the tag becomes an alias, which survives a restart."""
    desk.record(gaps="edge:empty_input", descriptions={"edge:empty_input": "misses the check on arrays"})
    desk.edit("**edge:empty_input**", "**Nothing in, nothing out**")
    desk.record()
    assert desk.entry("Nothing in, nothing out").clean == 1
    assert desk.state.aliases == {"edge:empty_input": "Nothing in, nothing out"} and not desk.state.removed
    desk.record(gaps="edge:empty_input")
    assert desk.entry("Nothing in, nothing out").status == RECURRING and len(desk.profile.weaknesses) == 1


def test_L_30_what_a_person_took_out_stays_out(desk: Desk) -> None:
    """SPEC L-30: neither history nor a new observation restores it; the ledger keeps it; `forget --undo` restores it."""
    desk.record(gaps="edge:a; edge:b")
    desk.take_out("edge:a")
    desk.look()
    assert desk.placed("edge:a") is None and desk.state.removed == ["edge:a"]
    desk.record(gaps="edge:a")
    assert desk.placed("edge:a") is None and desk.rows[-1].gaps == "edge:a"
    with desk.store().locked():
        assert restore_weakness(desk.store(), "edge:a") == "edge:a"
    assert desk.entry("edge:a").status == RECURRING and desk.entry("edge:a").first == stamp(1)


def test_L_30_a_person_who_writes_it_again_has_it_again(desk: Desk) -> None:
    """SPEC L-30: an entry that a person adds again is no longer marked as removed."""
    desk.record(gaps="edge:a")
    before = desk.text
    desk.take_out("edge:a")
    desk.look()
    desk.where.profile.write_text(before)
    desk.record()
    assert desk.entry("edge:a").clean == 1 and not desk.state.removed


def test_L_30_forget_and_undo(desk: Desk) -> None:
    """SPEC L-30: by tag or by label; the description is restored with the entry."""
    desk.record(gaps="edge:empty_input", descriptions={"edge:empty_input": "misses the check on arrays"})
    with desk.store().locked():
        assert forget_weakness(desk.store(), "Empty input") == "edge:empty_input"
    assert not desk.profile.weaknesses
    desk.record(gaps="edge:empty_input")
    assert not desk.profile.weaknesses
    with desk.store().locked():
        restore_weakness(desk.store(), "edge:empty_input")
    assert desk.entry("edge:empty_input").description == "misses the check on arrays"


def test_L_30_a_session_that_was_taken_out_stays_out(desk: Desk) -> None:
    """SPEC L-30: the same for Session History; no older session takes its place."""
    for number in range(22):
        desk.record(f"p{number}")
    desk.edit("\n".join(desk.profile.bare_lines(desk.profile.sessions[3].span)) + "\n\n", "")
    desk.look()
    assert [h.session.problem for h in desk.profile.sessions] == [
        f"p{n}" for n in range(21, 1, -1) if n != 18
    ]


def test_L_31_a_persons_status_counts(desk: Desk) -> None:
    """SPEC L-31: what a person wrote is kept, and the next session continues from it."""
    desk.record(gaps="edge:a")
    desk.edit("Status: new", "Status: resolved (short-term)")
    desk.look()
    assert desk.entry("edge:a").status == SHORT
    desk.record()
    assert (desk.entry("edge:a").status, desk.entry("edge:a").clean) == (SHORT, 1)
    desk.edit("Sessions since last failure: 1", "Sessions since last failure: 7")
    desk.look()
    desk.record()
    assert desk.entry("edge:a").clean == 8
    desk.record(gaps="edge:a")
    assert desk.entry("edge:a").status == RECURRING


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
