"""One weakness, one entry, whatever the skill or a person calls it (SPEC L-11, L-38)."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from support_learner import Desk, stamp
from support_learner import row as ledger_row
from support_learner_skill import EMPTY_PROFILE, TeachingSkill, format_weakness
from tacitd.errors import UsageError
from tacitd.testing import Crash, FaultyDisk
from tacitd_handlers.learner.label_decisions import join_label, separate_label
from tacitd_handlers.learner.review import build_review, list_gaps
from tacitd_handlers.learner.rules.vocabulary import NEW, RECURRING, SHORT


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def skill(desk: Desk) -> TeachingSkill:
    return TeachingSkill(desk.where.profile, desk.where.ledger)


def labels(desk: Desk) -> list[str]:
    return [placed.entry.label for placed in desk.profile.weaknesses]


OFF = {"edge:off_by_one": "Right bound off by one"}


def test_L_11_a_session_with_a_label_of_the_skill(desk: Desk, skill: TeachingSkill) -> None:
    """SPEC L-11: a session by the seed's own Update Protocol leaves one entry, also after five and a restart."""
    skill.write_session(stamp(1), gaps=OFF)
    before = desk.text
    desk.look()
    assert desk.text == before and desk.state.aliases == {"edge:off_by_one": "Right bound off by one"}
    for day in range(2, 6):
        skill.write_session(stamp(day), gaps=OFF if day == 4 else {}, clean=() if day == 4 else OFF.values())
        desk.look(first=True)
    assert labels(desk) == ["Right bound off by one"]
    entry = desk.entry("Right bound off by one")
    assert (entry.status, entry.failed, entry.clean, entry.streak) == (RECURRING, stamp(4), 1, stamp(5))
    assert entry.description == "does it on sorted arrays"


def test_L_11_an_existing_file_with_free_labels(desk: Desk, skill: TeachingSkill) -> None:
    """SPEC L-11: three free labels and four rows: three entries after a day, and all are kept up to date."""
    entries = [
        format_weakness(
            "Right bound off by one", "moves hi past mid", stamp(0), stamp(3), stamp(3), RECURRING
        ),
        format_weakness("No check for nothing", "misses the empty array", stamp(1), stamp(1), stamp(1)),
        format_weakness("Shrinks too late", "keeps the window too wide", stamp(2), stamp(2), stamp(2)),
    ]
    text = EMPTY_PROFILE.replace("### Resolved", "".join(entries) + "\n### Resolved")
    desk.write_rows(
        ledger_row(0, "edge:off_by_one"),
        ledger_row(1, "edge:empty_input"),
        ledger_row(2, "pattern:window_shrink"),
        ledger_row(3, "edge:off_by_one"),
    )
    desk.where.profile.write_text(text)
    for day in range(3):
        desk.look(first=day == 0)
        desk.clock.jump(12 * 3600)
    assert labels(desk) == ["Right bound off by one", "No check for nothing", "Shrinks too late"]
    desk.record(days=4)
    assert labels(desk) == ["Right bound off by one", "No check for nothing", "Shrinks too late"]
    assert desk.entry("Right bound off by one").clean == 1


@pytest.mark.parametrize("with_state", [True, False], ids=["same-state", "state-lost"])
def test_L_11_a_doubled_file_is_healed(desk: Desk, with_state: bool) -> None:
    """SPEC L-11: where the tag's entry has our bytes, it goes; its course joins the person's entry."""
    desk.record(days=1, gaps="edge:off_by_one")
    desk.record(days=2, gaps="edge:off_by_one")
    for day in (3, 4, 5):
        desk.record(days=day)
    theirs = format_weakness(
        "Right bound off by one", "moves hi past mid", stamp(1), stamp(2), stamp(2), RECURRING
    )
    desk.edit("- **edge:off_by_one**", theirs + "- **edge:off_by_one**")
    if not with_state:
        (desk.where.home / "state.json").unlink()
    desk.look()
    assert labels(desk) == ["Right bound off by one"]
    entry = desk.entry("Right bound off by one")
    assert (entry.status, entry.clean, entry.streak) == (SHORT, 3, stamp(3))
    assert entry.description == "moves hi past mid" and not desk.state.removed
    once = desk.text
    desk.look(first=True)
    assert desk.text == once


def test_L_11_a_double_with_a_persons_words_stays(desk: Desk) -> None:
    """SPEC L-11, X-07: a tag's entry that a person edited is theirs; `check` names both."""
    desk.record(days=1, gaps="edge:off_by_one")
    desk.edit("off by one, seen in", "My own words, seen in")
    desk.look()
    theirs = format_weakness("Right bound off by one", "moves hi past mid", stamp(1), stamp(1), stamp(1))
    desk.edit("- **edge:off_by_one**", theirs + "- **edge:off_by_one**")
    desk.look()
    assert labels(desk) == ["Right bound off by one", "edge:off_by_one"]


def test_L_11_two_equally_good_candidates_are_asked_about_once(desk: Desk, skill: TeachingSkill) -> None:
    """SPEC L-11: the entries stay as they are, the tags have no entry, and the notice is printed once."""
    gaps = {"edge:off_by_one": "Loop end", "edge:empty_input": "Nothing given"}
    skill.write_session(stamp(1), gaps=gaps)
    before = desk.text
    for _ in range(3):
        desk.look(first=True)
    assert desk.text == before and sorted(desk.state.held) == sorted(gaps)
    said = desk.store().notes.read_state().pending_lines
    assert len(said) == 2 and "`tacitd learner alias 'Loop end' edge:off_by_one`" in said[0] + said[1]
    assert "`tacitd learner alias --remove 'Nothing given'`" in said[0] + said[1]
    assert "Nothing given may be the gap edge:off_by_one or edge:empty_input" in said[0] + said[1]
    assert desk.state.folded.tags["edge:off_by_one"].failed == stamp(1)


def test_L_11_a_second_session_settles_a_label_without_a_shared_word(
    desk: Desk, skill: TeachingSkill
) -> None:
    """SPEC L-11: one stamp alone is too little; the second session that shows the gap makes it sure."""
    skill.write_session(stamp(1), gaps={"edge:off_by_one": "Loop end"})
    desk.look()
    assert labels(desk) == ["Loop end"] and desk.state.held == {"edge:off_by_one": ["Loop end"]}
    desk.record(days=2)
    assert labels(desk) == ["Loop end"]
    skill.write_session(stamp(3), gaps={"edge:off_by_one": "Loop end"})
    desk.look()
    desk.record(days=4)
    assert desk.state.aliases == {"edge:off_by_one": "Loop end"} and not desk.state.held
    assert (desk.entry("Loop end").status, desk.entry("Loop end").clean) == (RECURRING, 1)
    desk.record(days=5, gaps="edge:off_by_one")
    assert labels(desk) == ["Loop end"] and desk.entry("Loop end").failed == stamp(5)


def test_L_11_words_settle_what_the_stamps_leave_open(desk: Desk, skill: TeachingSkill) -> None:
    """SPEC L-11: two new gaps in one session are told apart by closeness of words."""
    gaps = {"edge:empty_input": "Forgets empty arrays", "edge:off_by_one": "One too far right"}
    skill.write_session(stamp(1), gaps=gaps)
    desk.look()
    assert desk.state.aliases == gaps and not desk.state.held
    assert labels(desk) == list(gaps.values())


def test_L_30_removed_tags_are_no_candidates(desk: Desk, skill: TeachingSkill) -> None:
    """SPEC L-30, L-11: a tag that a person removed takes no entry over, and does not come back."""
    desk.record(days=1, gaps="edge:off_by_one")
    desk.take_out("edge:off_by_one")
    desk.look()
    skill.write_session(stamp(2), gaps=OFF)
    before = desk.text
    desk.look()
    assert desk.text == before and not desk.state.aliases and desk.state.removed == ["edge:off_by_one"]


def test_L_30_an_unclear_entry_that_is_removed_stays_out(desk: Desk, skill: TeachingSkill) -> None:
    """SPEC L-30: a person who removes the only entry that may be the gap's does not get the gap's own instead."""
    skill.write_session(stamp(1), gaps={"edge:off_by_one": "Loop end"})
    desk.look()
    desk.take_out("Loop end")
    desk.look()
    assert labels(desk) == [] and desk.state.removed == ["edge:off_by_one"]


def test_L_11_two_entries_that_claim_one_tag(desk: Desk, skill: TeachingSkill) -> None:
    """SPEC L-11, bad input: the alias has the tag; another entry with the tag as its label keeps its bytes and counts."""
    skill.write_session(stamp(1), gaps=OFF)
    desk.look()
    theirs = format_weakness("edge:off_by_one", "words of Claude's", stamp(1), stamp(1), stamp(1))
    desk.edit("- **Right", theirs + "- **Right")
    desk.record(days=2)
    assert theirs in desk.text and desk.entry("Right bound off by one").clean == 1
    assert (
        labels(desk) == ["edge:off_by_one", "Right bound off by one"] and desk.state.lists.others_active == 1
    )


def test_L_11_an_alias_of_a_tag_that_does_not_exist(desk: Desk, skill: TeachingSkill) -> None:
    """SPEC L-11, bad input: a row that names the tag was removed by hand; the entry keeps its bytes and takes room."""
    skill.write_session(stamp(1), gaps=OFF)
    skill.write_session(stamp(2), "lru")
    desk.look()
    desk.where.ledger.write_text(desk.ledger.replace("edge:off_by_one", "none"))
    entry = "\n".join(desk.profile.bare_lines(desk.profile.weaknesses[0].span))
    desk.look()
    assert entry in desk.text and labels(desk) == ["Right bound off by one"]
    assert desk.state.lists.others_active + len(desk.state.lists.active) == 1


def test_L_11_similar_tags_do_not_take_an_entry_away(desk: Desk) -> None:
    """SPEC L-11: an entry that was matched by its words stays its tag's when another tag is spelled the same."""
    desk.record(days=1, gaps="edge:empty_input")
    desk.edit("**edge:empty_input**", "**Empty input**")
    desk.record(days=2)
    desk.record(days=3, gaps="tree:empty_input", pattern="trees")
    assert labels(desk) == ["Empty input", "tree:empty_input"] and not desk.state.removed


def test_L_11_a_label_and_its_description_rewritten_in_one_edit(desk: Desk) -> None:
    """SPEC L-11: an entry with the stamps of two sessions is recognised although nothing of its text is left."""
    desk.record(days=1, gaps="edge:off_by_one")
    desk.record(days=2, gaps="edge:off_by_one")
    old = desk.profile.bare_lines(desk.placed("edge:off_by_one").span)[0]  # type: ignore[union-attr]
    desk.edit(old, "- **Loop end** — goes past the last index.")
    desk.record(days=3)
    assert labels(desk) == ["Loop end"] and desk.entry("Loop end").clean == 1 and not desk.state.removed


def test_L_11_a_new_gap_beside_a_persons_own_entries(desk: Desk) -> None:
    """SPEC L-11: an entry without a session's stamp does not keep a gap from getting its own."""
    desk.record(days=1)
    theirs = format_weakness("Input parsing is slow", "reads the input twice", "2025-01-01T10:00", "", "")
    desk.edit("### Resolved", theirs + "- **Talks too fast** — rushes.\n\n### Resolved")
    desk.record(days=2, gaps="edge:empty_input")
    assert labels(desk) == ["Input parsing is slow", "Talks too fast", "edge:empty_input"]
    assert desk.entry("edge:empty_input").status == NEW


def test_L_11_a_person_settles_what_is_unclear(desk: Desk, skill: TeachingSkill) -> None:
    """SPEC L-11: `alias` joins, `--remove` parts; both hold, whatever is done to the files after that."""
    skill.write_session(stamp(1), gaps={"edge:off_by_one": "Loop end", "edge:empty_input": "Nothing given"})
    desk.look()
    with desk.store().locked():
        assert join_label(desk.store(), "loop end", "edge:off_by_one").label == "Loop end"
    assert desk.state.aliases == {"edge:off_by_one": "Loop end"} and [*desk.state.held] == [
        "edge:empty_input"
    ]
    with desk.store().locked():
        assert [one.tag for one in separate_label(desk.store(), "Nothing given")] == ["edge:empty_input"]
    assert labels(desk) == ["Loop end", "Nothing given", "edge:empty_input"]
    with desk.store().locked():
        separate_label(desk.store(), "Loop end", "edge:off_by_one")
    assert desk.state.held == {"edge:off_by_one": ["Nothing given"]}, (
        "the other entry of that session may be it"
    )
    with desk.store().locked():
        separate_label(desk.store(), "Nothing given", "edge:off_by_one")
    assert desk.entry("edge:off_by_one").description.startswith("off by one, seen in two-sum")
    skill.write_session(stamp(2), gaps={"edge:off_by_one": "Loop end"})
    desk.look()
    desk.record(days=3)
    assert labels(desk) == ["Loop end", "Nothing given", "edge:empty_input", "edge:off_by_one"]
    assert not desk.state.held and not desk.state.removed and desk.entry("edge:off_by_one").clean == 1
    with desk.store().locked():
        join_label(desk.store(), "Loop end", "edge:off_by_one")
    assert labels(desk) == ["Loop end", "Nothing given", "edge:empty_input"]
    assert (
        desk.entry("Loop end").description == "does it on sorted arrays" and desk.entry("Loop end").clean == 1
    )


def test_L_11_what_alias_refuses(desk: Desk, skill: TeachingSkill) -> None:
    """SPEC L-11, bad input: an unknown label, an unknown tag, and a tag with another entry are refused with a hint."""
    skill.write_session(stamp(1), gaps=OFF)
    skill.write_session(stamp(2), gaps={"edge:empty_input": "Empty arrays"})
    desk.look()
    before = desk.text
    with desk.store().locked():
        for label, tag, what in (
            ("Nope", "edge:off_by_one", "no entry"),
            ("Empty arrays", "edge:nope", "no row"),
            ("Empty arrays", "edge:off_by_one", "has an entry already: Right bound off by one"),
        ):
            with pytest.raises(UsageError, match=what):
                join_label(desk.store(), label, tag)
        with pytest.raises(UsageError, match="no entry"):
            separate_label(desk.store(), "Nope")
    assert desk.text == before


def test_L_53_review_and_gaps_know_the_labels(desk: Desk, skill: TeachingSkill) -> None:
    """SPEC L-53, L-11: the review and the list of gaps join ledger and profile by the aliases."""
    skill.write_session(stamp(1), gaps=OFF)
    desk.look()
    seen = list_gaps(desk.rows, desk.profile, desk.state.aliases)
    assert [(one.tag, one.status) for one in seen] == [("edge:off_by_one", NEW)]
    document = build_review(desk.rows, desk.profile, stamp(2), (), desk.state.aliases)
    assert document["weaknesses"][0]["seen"] == 1 and document["weaknesses"][0]["tag"] == "edge:off_by_one"


@pytest.mark.parametrize("crash_at", range(1, 12))
def test_L_37_a_crash_while_a_doubled_file_is_healed(desk: Desk, crash_at: int) -> None:
    """SPEC L-37, L-30: at every write; a double that is gone already does not count as removed by a person."""
    desk.record(days=1, gaps="edge:off_by_one")
    desk.record(days=2, gaps="edge:off_by_one")
    theirs = format_weakness(
        "Right bound off by one", "moves hi past mid", stamp(1), stamp(2), stamp(2), RECURRING
    )
    desk.edit("- **edge:off_by_one**", theirs + "- **edge:off_by_one**")
    store = desk.store(FaultyDisk(crash_at=crash_at))
    with contextlib.suppress(Crash), store.locked():
        store.sync_files(force=True)
    desk.look(first=True)
    desk.record(days=3)
    assert labels(desk) == ["Right bound off by one"] and not desk.state.removed
    assert desk.entry("Right bound off by one").clean == 1


@examples(120)
@given(
    sessions=st.lists(
        st.tuples(st.lists(st.integers(0, 3), max_size=3, unique=True), st.booleans()), min_size=1, max_size=8
    ),
    names=st.lists(st.text("abeinoprst ", min_size=1, max_size=25), min_size=4, max_size=4, unique=True),
)
def test_L_11_any_labels_are_never_doubled(
    tmp_path_factory: pytest.TempPathFactory, sessions: list[tuple[list[int], bool]], names: list[str]
) -> None:
    """SPEC L-11: whatever the labels are, there are never more entries than the skill wrote, and none is lost."""
    tags = ("edge:off_by_one", "edge:empty_input", "pattern:base_case", "edge:no_sort")
    desk = Desk(tmp_path_factory.mktemp("labels"))
    skill = TeachingSkill(desk.where.profile, desk.where.ledger)
    used: list[str] = []
    for day, (gaps, synced) in enumerate(sessions, start=1):
        chosen = {tags[at]: f"L{at} {names[at]}".strip() for at in gaps}
        used += [label for label in chosen.values() if label not in used]
        skill.write_session(stamp(day), gaps=chosen)
        if synced:
            desk.look(first=True)
    desk.look()
    assert sorted(labels(desk)) == sorted(used)
