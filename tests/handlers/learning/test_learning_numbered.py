"""What a synthesis numbers (SPEC S-20, S-36)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd_handlers.learning.answers import (
    ExistingLine,
    Numbered,
    NumberedFact,
    choose_facts,
    number_facts,
    number_lines,
)
from tacitd_handlers.learning.learned_rows import FactRow, digest_same

NOON = 1_795_176_000.0
"""2026-11-20T12:00:00Z."""


def fact(
    number: int,
    text: str,
    *,
    prompt: int | None = 1,
    session: str = "s1",
    at: float = NOON,
    corrected: bool = False,
    line: int | None = None,
) -> FactRow:
    """A fact that waits."""
    same = digest_same(text)
    return FactRow(number, 1, session, prompt, 1, at, text, "", same, corrected, line, "waiting", "", 0)


def test_equal_facts_are_one_with_its_count() -> None:
    """S-36: said by two messages in two sessions, as corrections; one message says it once."""
    (one,) = number_facts(
        [
            fact(1, "Use pnpm"),
            fact(2, "use pnpm.", corrected=True),
            fact(3, "Use pnpm", prompt=2, session="s2", at=NOON + 86_400, corrected=True),
        ]
    )
    assert (
        one.describe()
        == "Corrected: Use pnpm (2026-11-20, said 2 times in 2 sessions, 2 of them corrections)"
    )
    assert one.rows == (1, 2, 3) and one.prompts == {1, 2}


def test_facts_of_other_programs_count_each() -> None:
    """S-02: they have no message."""
    (one,) = number_facts([fact(1, "Use pnpm", prompt=None), fact(2, "Use pnpm", prompt=None)])
    assert (one.said, one.prompts) == (2, frozenset())


def test_what_was_left_out_counts_once_it_is_said_again() -> None:
    """S-36: the count continues, and only the new fact becomes a line's; what was not said again is numbered last."""
    left_out = [fact(1, "Use pnpm"), fact(2, "Likes tabs", prompt=7)]
    found = number_facts([fact(3, "Use pnpm", prompt=2)], left_out)
    assert [(one.text, one.is_new, one.said, one.rows) for one in found] == [
        ("Use pnpm", True, 2, (3,)),
        ("Likes tabs", False, 1, (2,)),
    ]
    assert "left out before" in found[1].describe()


def test_a_line_that_is_corrected_again_says_so() -> None:
    """S-36."""
    (one,) = number_facts([fact(1, "Use pnpm", line=4, corrected=True)])
    assert one.line == 4 and "an L line, said again" in one.describe()


@given(st.integers(0, 40), st.integers(0, 5), st.integers(20, 200))
@examples(60)
def test_each_new_fact_is_in_one_call(new: int, old: int, limit: int) -> None:
    """S-23: each call has the facts that were left out before."""
    facts = number_facts(
        [fact(n, f"Use tool{n} for job{n}") for n in range(new)],
        [fact(100 + n, f"Likes thing{n}") for n in range(old)],
    )
    waiting, calls = [one for one in facts if one.is_new], list[tuple[NumberedFact, ...]]()
    left = [one for one in facts if not one.is_new]
    while chosen := choose_facts([*waiting, *left], limit):
        calls.append(tuple(one for one in chosen if one.is_new))
        assert [one for one in chosen if not one.is_new] == left
        waiting = [one for one in waiting if one not in chosen]
    assert [one for call in calls for one in call] == [one for one in facts if one.is_new]


def test_facts_of_a_failed_call_come_in_its_halves() -> None:
    """S-23: first those that were not asked about, then each half alone."""
    facts = [NumberedFact(f"Use tool{n}", (n,), tries=tries) for n, tries in enumerate((2, 1, 0, 1))]
    asked = list[list[int]]()
    while facts:
        chosen = choose_facts(facts)
        asked.append([one.rows[0] for one in chosen])
        facts = [one for one in facts if one not in chosen]
    assert asked == [[2], [1, 3], [0]]


def test_lines_are_numbered_below_their_files_and_headings() -> None:
    """S-36: L are tacitd's, P the person's. A newline begins no line; the number means the line itself."""
    lines = [
        ExistingLine("LEARNED.md", "Coding", "Use yarn", is_ours=True),
        ExistingLine("LEARNED.md", "Coding", "Use tabs", is_ours=False),
        ExistingLine("src/AGENTS.md", "", "Two\nlines", is_ours=False),
    ]
    numbered = Numbered({}, number_lines(lines, 10_000), ("LEARNED.md",))
    assert numbered.lines["P1"].text == "Use tabs"
    shown = numbered.show_lines()
    assert shown[:3] == ["LEARNED.md:", "## Coding", "L1. Use yarn"] and shown[-1] == "P2. Two lines"


@given(st.integers(0, 400))
@examples(60)
def test_lines_that_do_not_fit_are_left_out_the_persons_first(limit: int) -> None:
    """S-36: a line of the person's is shown only if all of tacitd's are."""
    lines = [ExistingLine("LEARNED.md", "Coding", f"Line {n}", is_ours=n % 2 == 0) for n in range(12)]
    found = number_lines(lines, limit)
    ours = [name for name in found if name.startswith("L")]
    assert len(ours) == 6 or not any(name.startswith("P") for name in found)
