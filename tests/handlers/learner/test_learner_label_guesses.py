"""An alias from one session is a guess: later stamps confirm it or undo it, and unclear words are asked about (SPEC L-11)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support_examples import examples
from support_learner import Desk, stamp
from support_learner_oracle import world
from support_learner_skill import TeachingSkill, find_weakness, format_weakness
from tacitd_handlers.learner.label_decisions import list_aliases, separate_label
from tacitd_handlers.learner.rules.label_evidence import LabelledEntry, pair_labels
from tacitd_handlers.learner.rules.vocabulary import NEW, RECURRING, SHORT

INPUT, ROOT = "edge:empty_input", "edge:missing_root"
CROSSED = {INPUT: "No root check", ROOT: "Nothing given"}
"""The first label shares a word with the other gap only."""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def skill(desk: Desk) -> TeachingSkill:
    return TeachingSkill(desk.where.profile, desk.where.ledger)


def labels(desk: Desk) -> list[str]:
    return [placed.entry.label for placed in desk.profile.weaknesses]


def fields(desk: Desk, label: str) -> tuple[str | int | None, ...]:
    e = desk.entry(label)
    return (e.first or "", e.tested or "", e.failed or "", e.streak or "", str(e.clean), e.status or "")


def test_L_11_a_failure_corrects_a_wrong_guess(desk: Desk, skill: TeachingSkill) -> None:
    """SPEC L-11: the stamp of a session that shows another gap undoes the guess, and both courses are the ledger's."""
    skill.write_session(stamp(1), gaps=CROSSED)
    desk.look()
    assert desk.state.aliases == {ROOT: "No root check"} and [*desk.state.guesses] == [ROOT]
    skill.write_session(stamp(2), gaps={INPUT: CROSSED[INPUT]})
    desk.look()
    assert desk.state.aliases == {INPUT: "No root check"} and not desk.state.guesses
    assert desk.state.held == {ROOT: ["Nothing given"]}
    skill.write_session(stamp(3), gaps={ROOT: CROSSED[ROOT]}, clean=["No root check"])
    desk.look(first=True)
    assert desk.state.aliases == CROSSED and labels(desk) == [*CROSSED.values()] and not desk.state.held
    courses = world(desk.ledger).courses
    for tag, label in CROSSED.items():
        assert fields(desk, label) == courses[tag].fields()


def test_L_11_a_gap_that_fails_is_not_shown_as_resolved(desk: Desk, skill: TeachingSkill) -> None:
    """SPEC L-11, L-16: under a wrong guess the entry got the other gap's clean sessions; the next failure takes them back."""
    skill.write_session(stamp(1), gaps=CROSSED)
    desk.look()
    for day in (2, 3, 4):
        skill.write_session(stamp(day), clean=["No root check"])
        desk.look()
    assert desk.entry("No root check").status == SHORT
    skill.write_session(stamp(5), gaps={INPUT: "No root check"}, clean=["Nothing given"])
    desk.look()
    assert desk.entry("No root check").status == RECURRING and desk.entry("No root check").clean == 0
    assert desk.state.folded.tags[ROOT].status == SHORT


@pytest.mark.parametrize("how", ["clean", "newer"])
def test_L_11_other_stamps_that_contradict_a_guess(desk: Desk, skill: TeachingSkill, how: str) -> None:
    """SPEC L-11: a session that shows the gap, and tested the entry without seeing it, or wrote another entry for the gap."""
    skill.write_session(stamp(1), gaps=CROSSED, labels={INPUT: CROSSED[INPUT]})
    desk.edit("No root check", "Root and input")
    desk.look()
    asked = desk.state.asked
    assert not desk.state.aliases and {tag for _, tag in asked} == {*CROSSED}, "its words fit both gaps"
    desk.edit("Root and input", "No root check")
    desk.look()
    desk.look()
    assert desk.state.aliases == {ROOT: "No root check"} and INPUT in labels(desk)
    if how == "clean":
        skill.write_session(stamp(2), gaps={ROOT: ""}, labels={}, clean=["No root check"])
    else:
        skill.write_session(stamp(2), gaps={ROOT: "Root is not looked at"})
    desk.look()
    assert desk.state.aliases.get(ROOT) != "No root check"
    assert (desk.entry("No root check").first, desk.entry("No root check").failed) == (stamp(1), stamp(1))


def test_L_11_an_undone_entry_gets_its_own_fields_again(desk: Desk, skill: TeachingSkill) -> None:
    """SPEC L-11, X-07: what a wrong guess wrote into an entry is taken back, and what a person wrote since stays."""
    skill.write_session(stamp(1), gaps={ROOT: ""}, labels={})
    theirs = format_weakness("Root of evil", "commits too early", stamp(1), stamp(1), "")
    desk.edit("### Resolved", f"{theirs}\n### Resolved")
    desk.look()
    assert desk.state.aliases == {ROOT: "Root of evil"}
    for day in (2, 3, 4):
        desk.record(days=day)
    assert desk.entry("Root of evil").status == SHORT
    desk.edit("commits too early", "commits too early, and pushes")
    with desk.store().locked():
        assert [one.sure for one in list_aliases(desk.store())] == [True]
        separate_label(desk.store(), "Root of evil")
    assert theirs.replace("too early", "too early, and pushes") in desk.text
    assert desk.entry(ROOT).status == SHORT and not desk.state.removed
    desk.record(days=5, gaps=ROOT)
    assert desk.entry("Root of evil").status == NEW and desk.entry(ROOT).status == RECURRING


def test_L_11_a_second_session_confirms_a_guess(desk: Desk, skill: TeachingSkill) -> None:
    """SPEC L-11: after it, a stamp that a person mistypes does not part them."""
    skill.write_session(stamp(1), gaps={INPUT: "Empty arrays"})
    desk.look()
    assert [*desk.state.guesses] == [INPUT]
    skill.write_session(stamp(2), gaps={INPUT: "Empty arrays"})
    desk.look()
    assert not desk.state.guesses and desk.state.aliases == {INPUT: "Empty arrays"}
    skill.write_session(stamp(3))
    desk.edit(f"Last failed: {stamp(2)}", f"Last failed: {stamp(3)}")
    desk.look()
    assert desk.state.aliases == {INPUT: "Empty arrays"} and desk.entry("Empty arrays").failed == stamp(2)


def test_L_11_an_entry_of_a_persons_own_beside_a_tags_entry(desk: Desk) -> None:
    """SPEC L-11, X-07: a copy of a gap's entry with other words, and one that shares a word by chance, stay the person's."""
    desk.record(days=1, gaps=INPUT)
    desk.record(days=2, gaps=INPUT)
    copied = format_weakness("Talks too fast", "rushes", stamp(1), stamp(2), stamp(2))
    chance = format_weakness("Slow start", "reads the input three times", stamp(1), stamp(1), "")
    desk.edit("### Resolved", f"{copied}{chance}\n### Resolved")
    for day in (3, 4):
        desk.record(days=day)
        desk.look(first=True)
    assert copied in desk.text and chance in desk.text and not desk.state.aliases
    assert desk.entry(INPUT).clean == 2
    assert desk.state.asked == [("Talks too fast", INPUT), ("Slow start", INPUT)]
    desk.edit(
        "### Resolved", format_weakness("Empty input again", "mine", stamp(1), "", "") + "\n### Resolved"
    )
    desk.look()
    assert desk.state.aliases == {INPUT: "Empty input again"} and INPUT not in labels(desk)


def test_L_11_words_that_fit_two_gaps_are_asked_about(desk: Desk, skill: TeachingSkill) -> None:
    """SPEC L-11: two labels and two tags share a word: nothing is guessed, and each label is asked about once."""
    tree = "edge:empty_tree"
    skill.write_session(stamp(1), gaps={INPUT: "Empty again", tree: "Empty once more"})
    before = desk.text
    for _ in range(2):
        desk.look(first=True)
    assert desk.text == before and not desk.state.aliases and sorted(desk.state.held) == [INPUT, tree]
    said = desk.store().notes.read_state().pending_lines
    assert len(said) == 2 and all("tacitd learner alias" in line for line in said)


def test_L_11_words_that_fit_each_gap_better_settle_it(desk: Desk, skill: TeachingSkill) -> None:
    """SPEC L-11: a shared word does not matter if each label has all words of its own gap."""
    gaps = {INPUT: "Empty input at the start", "edge:empty_tree": "Empty tree at the start"}
    skill.write_session(stamp(1), gaps=gaps)
    desk.look()
    assert desk.state.aliases == gaps and not desk.state.held


TAGS: tuple[str, ...] = ("edge:off_by_one", "edge:empty_input", "edge:empty_one", "pattern:input_base")
WORDS = ("off", "one", "empty", "input", "base", "again")


@examples(120)
@given(
    sessions=st.lists(
        st.tuples(st.lists(st.integers(0, 3), max_size=3, unique=True), st.booleans()), min_size=1, max_size=9
    ),
    names=st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3), min_size=4, max_size=4),
)
@example(  # two entries fit the same two gaps by their stamps, and a third one shares a word with one of the gaps
    sessions=[([0, 1], False), ([1, 2], False), ([0, 1, 2], False)],
    names=[["off"], ["off"], ["input"], ["off"]],
)
@example(  # a guess of the first session leaves one gap to two entries after the third
    sessions=[([0, 2, 3], True), ([0, 2, 3], False), ([0, 1, 3], False)],
    names=[["off"], ["off"], ["input"], ["off"]],
)
def test_L_11_any_wrong_guess_is_harmless(
    tmp_path_factory: pytest.TempPathFactory, sessions: list[tuple[list[int], bool]], names: list[list[str]]
) -> None:
    """SPEC L-11, L-16: whatever the labels are, no gap that its last session showed is in the profile as resolved, and
    none has two entries. The skill updates the entry of each gap that it sees, and of each that it tested.
    """
    desk = Desk(tmp_path_factory.mktemp("guesses"))
    skill = TeachingSkill(desk.where.profile, desk.where.ledger)
    chosen = {tag: f"{' '.join(names[at]).capitalize()} {at}" for at, tag in enumerate(TAGS)}
    known: list[str] = []
    for day, (gaps, synced) in enumerate(sessions, start=1):
        there = labels(desk) if desk.where.profile.exists() else []
        shown = {TAGS[at]: TAGS[at] if TAGS[at] in there else chosen[TAGS[at]] for at in gaps}
        clean = [TAGS[at] if TAGS[at] in there else chosen[TAGS[at]] for at in range(4)]
        skill.write_session(stamp(day), gaps=shown, clean=[one for one in clean if one not in shown.values()])
        known += [tag for tag in shown if tag not in known]
        if not synced and day < len(sessions):
            continue
        desk.look(first=True)
        for tag in known:
            found = [find_weakness(desk.text, label) for label in (tag, chosen[tag])]
            assert not all(found), f"{tag} is doubled"
            course = world(desk.ledger).courses[tag]
            status = next(one["status"] for one in found if one)
            assert course.clean or not status.startswith("resolved"), (tag, status)


@examples(200)
@given(data=st.data())
def test_L_11_the_order_of_entries_and_tags_does_not_matter(data: st.DataObject) -> None:
    """SPEC L-11: the same evidence gives the same pairs, each label has one tag at most, and a contradicted guess never stays."""
    stamps = st.sampled_from(["", *(stamp(day) for day in range(4))])
    rows = {stamp(day): data.draw(st.none() | st.sets(st.sampled_from(TAGS))) for day in range(4)}
    names = data.draw(st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3), max_size=5))
    entries = [
        LabelledEntry(f"{' '.join(words)} {at}", "", data.draw(stamps), data.draw(stamps), data.draw(stamps))
        for at, words in enumerate(names)
    ]
    at = data.draw(st.integers(0, len(entries)))
    guessed = dict(zip(data.draw(st.permutations(TAGS)), entries[:at], strict=False))
    free = [entry for entry in entries if entry not in guessed.values()]
    tags = [tag for tag in TAGS if tag not in guessed]
    found = pair_labels(free, tags, rows.get, guessed)
    again = pair_labels(
        data.draw(st.permutations(free)),
        data.draw(st.permutations(tags)),
        rows.get,
        dict(reversed(guessed.items())),
    )
    assert found.aliases == again.aliases and sorted(found.undone) == sorted(again.undone)
    assert {tag: set(those) for tag, those in found.unclear.items()} == {
        tag: set(those) for tag, those in again.unclear.items()
    }
    assert len({*found.aliases.values()}) == len(found.aliases)
    for tag, entry in guessed.items():
        shown = [rows.get(one) for one in entry.stamps]
        if any(one is not None and tag not in one for one in shown):
            assert tag in found.undone
