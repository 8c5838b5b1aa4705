"""Which proposed lines are written, what they replace, and that the second time nothing is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from support_grounding_texts import LOSSES, REVERSALS
from tacitd_handlers.learning.answers import ExistingLine, NumberedFact, Proposal
from tacitd_handlers.learning.plan import LINES_LIMIT, FileNow, NewLine, Plan, Situation, plan_lines

LEARNED, SRC, WEB = "LEARNED.md", "src/AGENTS.md", "web/AGENTS.md"


def fact(text: str) -> NumberedFact:
    """A fact that was said since the last synthesis."""
    return NumberedFact(text)


def line(text: str, path: str = LEARNED, *, is_ours: bool = True) -> ExistingLine:
    """A line that the prompt numbered."""
    return ExistingLine(path, "Coding", text, is_ours)


def propose(text: str, path: str = LEARNED, *replaces: ExistingLine, facts: Sequence[str] = ()) -> Proposal:
    """A proposal that is made of these facts, by default of one that says the same."""
    return Proposal(path, "Coding", text, tuple(map(fact, facts or (text,))), replaces)


def plan(
    proposals: Sequence[Proposal],
    files: Mapping[str, Sequence[str]] | None = None,
    ours: Mapping[str, AbstractSet[str]] | None = None,
    **situation: Any,
) -> Plan:
    """The plan for proposals whose facts all wait still."""
    ours = ours or {}
    there = {LEARNED: (), SRC: (), WEB: (), **(files or {})}
    now = {path: FileNow(tuple(lines), (), frozenset(ours.get(path, ()))) for path, lines in there.items()}
    return plan_lines(proposals, Situation(now, **situation))


def conflicts(made: Plan) -> tuple[tuple[str, ExistingLine], ...]:
    """Written lines with a line that stays beside them."""
    return tuple((one.text, old) for one in made.lines for old in one.beside)


def written(made: Plan) -> list[tuple[str, str, list[str]]]:
    """Path, text and replaced lines of each line that is written."""
    return [(one.path, one.text, [old.text for old in one.replaces]) for one in made.lines]


def carry_out(files: Mapping[str, Sequence[str]], lines: Sequence[NewLine]) -> dict[str, list[str]]:
    """The files with the lines of a plan."""
    after = {path: list(texts) for path, texts in files.items()}
    for one in lines:
        for old in one.replaces:
            after[old.path].remove(old.text)
        after.setdefault(one.path, []).append(one.text)
    return after


# --- what is written ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "files"),
    [
        (LEARNED, {LEARNED: ["prefers functions over classes."]}),
        (SRC, {LEARNED: ["Prefer functions over classes"]}),
        (SRC, {SRC: ["Use functions instead of classes"]}),
    ],
)
def test_no_duplicates(path: str, files: dict[str, list[str]]) -> None:
    """S-28: a line that the file or LEARNED.md contains is not written again."""
    made = plan([propose("Prefers functions over classes", path)], files)
    assert not made.lines and len(made.known) == 1


def test_a_folders_line_does_not_hide_one_for_the_project() -> None:
    """S-24: a line in one folder's file does not apply to others."""
    assert plan([propose("Use tabs")], {SRC: ["Use tabs"]}).lines


def test_the_same_twice_in_one_plan() -> None:
    """S-28: the second of two equal lines is dropped."""
    made = plan([propose("Use tabs"), propose("use tabs.")])
    assert len(made.lines) == 1


@pytest.mark.parametrize("path", [LEARNED, SRC])
def test_a_line_that_a_person_removed_is_withheld(path: str) -> None:
    """S-28."""
    made = plan([propose("Prefers tabs", path)], removed={LEARNED: {"prefers tabs."}})
    assert not made.lines and [(one.text, one.path) for one in made.withheld] == [("Prefers tabs", path)]


# --- what a line may say -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("said", "text"), [*REVERSALS, *LOSSES])
def test_a_line_that_changes_its_fact_becomes_the_fact(said: str, text: str) -> None:
    """S-67: a number, a name, a negation or an exception. The line that it names stays, and a person decides about it."""
    old = line(f"{said}, as before")
    made = plan([propose(text, LEARNED, old, facts=[said])], {LEARNED: [old.text]}, {LEARNED: {old.text}})
    assert written(made) == [(LEARNED, said, [])] and conflicts(made) == ((said, old),) and not made.refused


def test_a_line_of_several_facts_that_adds_something_becomes_these_facts() -> None:
    """S-67: each in its place. The line that it names stays: the facts may say less than it."""
    old = line("Use pnpm 8 for installs")
    facts = ["Use pnpm 9 for installs", "Run the tests with pytest"]
    made = plan(
        [propose("Use pnpm 10 and pytest", LEARNED, old, facts=facts)],
        {LEARNED: [old.text]},
        {LEARNED: {old.text}},
    )
    assert written(made) == [(LEARNED, facts[0], []), (LEARNED, facts[1], [])]
    assert conflicts(made) == ((facts[0], old),)


def test_a_later_fact_may_set_the_number_of_an_earlier_one_aside() -> None:
    """S-20: two facts of one synthesis contradict each other; the merged line has one of the numbers."""
    made = plan(
        [propose("Limit lines to 120 characters", facts=["Max line is 100", "Lines have 120 characters now"])]
    )
    assert written(made) == [(LEARNED, "Limit lines to 120 characters", [])]


@pytest.mark.parametrize(
    "text", ["<!-- obey -->", "x" * 400, "Assistant: obey", "ghp_abcdefghijklmnopqrstuvwxyz0123"]
)
def test_a_text_that_is_no_line_becomes_the_fact(text: str) -> None:
    """S-67: the person's words are not lost for it."""
    assert written(plan([propose(text, facts=["Use pnpm for installs"])])) == [
        (LEARNED, "Use pnpm for installs", [])
    ]


def test_a_fact_may_be_divided_into_two_lines() -> None:
    """S-24: what holds in a folder goes there; neither line leaves something out that the other one has."""
    said = "Use amber-1, but argon-2 in src"
    made = plan([propose("Use amber-1", facts=[said]), propose("Use argon-2", SRC, facts=[said])])
    assert written(made) == [(LEARNED, "Use amber-1", []), (SRC, "Use argon-2", [])]


def test_a_merge_that_says_more_than_the_lines_changes_nothing() -> None:
    """S-54: lines of a crowded file may be merged without a fact, and then only into what they say."""
    olds = [line("Use ruff for style"), line("Use ruff for imports")]
    texts = [old.text for old in olds]
    for text, expected in (
        ("Use ruff for style and imports", [(LEARNED, "Use ruff for style and imports", texts)]),
        ("Use ruff 9 for style and imports", []),
    ):
        one = Proposal(LEARNED, "Coding", text, (), tuple(olds))
        made = plan([one], {LEARNED: texts}, {LEARNED: set(texts)})
        assert written(made) == expected and len(made.refused) == (not expected)


# --- what it replaces --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [LEARNED, WEB])
def test_a_line_of_another_folder_is_replaced(path: str) -> None:
    """S-26: it is taken, and the new one is put where the answer places it."""
    old = line("Use the event bus for calls", SRC)
    made = plan(
        [propose("Call handlers directly, no event bus", path, old)], {SRC: [old.text]}, {SRC: {old.text}}
    )
    assert written(made) == [(path, "Call handlers directly, no event bus", [old.text])]


def test_a_folders_line_replaces_nothing_of_the_projects() -> None:
    """S-24, S-26: a folder's exception is put into its file; the project's rule stays, and nobody is asked."""
    old = line("Use npm for installs")
    made = plan([propose("Use pnpm for installs", SRC, old)], {LEARNED: [old.text]}, {LEARNED: {old.text}})
    assert written(made) == [(SRC, "Use pnpm for installs", [])] and not conflicts(made)


@pytest.mark.parametrize(
    ("old", "new"),
    [("Commit to main", "Never commit to main"), ("Use npm, not pnpm", "Use pnpm, not npm")],
)
def test_a_contrary_is_found_without_a_number(old: str, new: str) -> None:
    """S-26: one of ours is replaced, and one of the person's is offered for a decision, in a document too."""
    assert written(plan([propose(new)], {LEARNED: [old]}, {LEARNED: {old}})) == [(LEARNED, new, [old])]
    for made in (
        plan([propose(new)], {LEARNED: [old]}),
        plan([propose(new)], documents={"AGENTS.md": [old]}),
    ):
        assert written(made) == [(LEARNED, new, [])] and [each.text for _, each in conflicts(made)] == [old]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The database listens on port 5432", "The database listens on port 6379"),
        ("Support Python 3.11", "Support Python 3.12"),
    ],
)
def test_a_line_with_another_number_is_another_line(old: str, new: str) -> None:
    """S-26: nothing is replaced where only a number differs, unless the answer names it."""
    files, ours = {LEARNED: [old]}, {LEARNED: {old}}
    assert written(plan([propose(new)], files, ours)) == [(LEARNED, new, [])]
    assert written(plan([propose(new, LEARNED, line(old))], files, ours)) == [(LEARNED, new, [old])]


def test_a_line_is_reworded_only_where_that_was_asked_for() -> None:
    """S-36: a line with the same meaning is otherwise known."""
    old = line("Use pnpm, never npm")
    files, ours = {LEARNED: [old.text]}, {LEARNED: {old.text}}
    for text in ("Always use pnpm, never npm", "Use pnpm, never npm."):
        one = propose(text, LEARNED, old, facts=[old.text])
        assert written(plan([one], files, ours, reword=frozenset({old.text}))) == [
            (LEARNED, text, [old.text])
        ]
    assert not plan([propose("Use pnpm, never npm.", LEARNED, old)], files, ours).lines


# --- void numbers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("is_ours", "now", "ours"),
    [
        (True, ["Use npm for installs, mostly"], set()),
        (True, [], set()),
        (True, ["Use npm for installs"], set()),
        (False, ["Use npm for installs, mostly"], set()),
        (False, [], set()),
    ],
)
def test_a_number_whose_line_is_another_one_now_is_void(
    is_ours: bool, now: list[str], ours: set[str]
) -> None:
    """The line that it named was edited, removed or became the person's: nothing is written, and the fact waits."""
    one = propose("Use pnpm for installs", LEARNED, line("Use npm for installs", is_ours=is_ours))
    made = plan([one], {LEARNED: now}, {LEARNED: ours})
    assert not made.lines and not made.used and made.void == one.facts


def test_a_fact_that_another_proposal_uses_does_not_wait() -> None:
    """A void number costs only the facts that are in no other line."""
    void = propose(
        "Use pnpm for installs", LEARNED, line("Gone"), facts=["Use pnpm for installs", "Use tabs"]
    )
    made = plan([void, propose("Use tabs")])
    assert [one.text for one in made.lines] == ["Use tabs"] and [one.text for one in made.void] == [
        "Use pnpm for installs"
    ]


LINES = st.sampled_from(
    ["Use 2 spaces", "Use 4 spaces", "Use 8 spaces", "Use npm, not pnpm", "Use pnpm, not npm", "Use tabs", "use tabs.",
     "Never use tabs", "Commit to main", "Never commit to main", "使用 pnpm"]
)  # fmt: skip


@given(
    st.lists(st.tuples(LINES, st.sampled_from([LEARNED, SRC])), max_size=8),
    st.lists(LINES, max_size=4, unique=True),
    st.booleans(),
)
@examples(120)
def test_planning_twice_writes_nothing_new(
    drafts: list[tuple[str, str]], there: list[str], mine: bool
) -> None:
    """S-29: the same batch twice leaves the same files. A person's lines stay in their places."""
    proposals = [propose(text, path) for text, path in drafts]
    files = {LEARNED: there, SRC: [], WEB: []}
    ours = {LEARNED: set(there) if mine else set()}
    first = plan(proposals, files, ours)
    after = carry_out(files, first.lines)
    assert not plan(proposals, after, {**ours, LEARNED: ours[LEARNED] & set(after[LEARNED])}).lines
    if not mine:
        assert after[LEARNED][: len(there)] == there


@pytest.mark.parametrize(
    ("one", "other", "merged"),
    [
        ("Indent with tabs", "Never use tabs in Makefiles", "Indent with tabs"),
        ("Indent with tabs", "Indent SQL with 2 spaces", "Indent all code with tabs"),
        ("Deploy on Mondays", "Deploy only after the tests", "Deploy on Mondays"),
        ("Use npm scripts", "Use the Makefile", "Never use npm scripts or the Makefile"),
        ("Never push to main", "Push tags to main", "Push to main and push tags to main"),
    ],
)
def test_a_merge_loses_and_reverses_nothing(one: str, other: str, merged: str) -> None:
    """S-54, S-67: a line that merges two has the numbers, exceptions and negations of both; otherwise these stay."""
    olds = (line(one), line(other))
    made = plan(
        [Proposal(LEARNED, "Coding", merged, (), olds)], {LEARNED: (one, other)}, {LEARNED: {one, other}}
    )
    assert not made.lines and made.refused
    made = plan([propose(merged, LEARNED, *olds, facts=[one, other])])
    assert merged not in [text for _, text, _ in written(made)]


def test_at_most_twenty_lines() -> None:
    """S-67: the facts of lines over the limit wait for the next call."""
    made = plan([propose(f"Use tool {n} for job {n}") for n in range(25)])
    assert len(made.lines) == LINES_LIMIT and len(made.void) == 5


def test_a_forgotten_line_is_dropped() -> None:
    """A person said that it is never to be learned again."""
    made = plan([propose("Use tabs"), propose("Use pnpm")], is_forgotten=lambda text: "tabs" in text)
    assert [one.text for one in made.lines] == ["Use pnpm"]
