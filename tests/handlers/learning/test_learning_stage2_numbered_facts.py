"""The numbered facts of a synthesis: merged, counted, and found again by FROM."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tacitd_handlers.learning.stage2.numbered_facts import FactSources, number_facts, split_numbered
from tacitd_handlers.learning.stage2.parse import SynthesisPlan, parse_plan

from support_examples import examples
from tacitd_handlers.learning.fact_marks import FactMark
from tacitd_handlers.learning.raw_facts import RawLine
from tacitd_handlers.learning.state import LeftOutFact

PNPM, TABS = "Use pnpm, never npm", "Prefers tabs"
MORNING = 1_795_149_000.0


def raw(*facts: str, session: str = "s1", prompts: tuple[str, ...] = (), corrected: bool = False) -> RawLine:
    marks = tuple(FactMark(prompts, corrected) for _ in facts)
    return RawLine("", facts, session, ("u1", "u2", "u3"), batch="b", marks=marks)


def test_equal_facts_are_one_with_its_count() -> None:
    """S-36: said twice in two sessions, once as a correction, from two prompts."""
    lines = [
        raw(PNPM, TABS, prompts=("u1",)),
        raw("use pnpm, never npm.", session="s2", prompts=("u9",), corrected=True),
    ]
    wanted = {fact for line in lines for fact in line.facts}
    one, other = number_facts(lines, wanted, {"u1": MORNING})
    assert (one.text, one.said, one.corrections, one.sessions) == (PNPM, 2, 1, ("s1", "s2"))
    assert one.prompts == ("u1", "u9") and one.spellings == (PNPM, "use pnpm, never npm.")
    assert other.text == TABS and one.describe() == f"Corrected: {PNPM} (2026-11-20)"


def test_a_fact_without_a_mark_comes_from_its_whole_batch() -> None:
    """S-36: one saying without a mark makes the prompts of all of them unknown."""
    (one,) = number_facts([raw(PNPM, prompts=("u1",)), raw(PNPM)], {PNPM}, {})
    assert one.prompts == () and one.prompts_of_batch == ("u1", "u2", "u3")


def test_what_was_left_out_counts_once_it_is_said_again() -> None:
    """S-36: the count continues; what was not said again is numbered last."""
    left_out = [LeftOutFact(PNPM, MORNING, 2, 1, ("s0",)), LeftOutFact("Prefers Go", MORNING)]
    one, other = number_facts([raw(PNPM)], {PNPM}, {}, left_out)
    assert (one.said, one.corrections, one.sessions, one.is_new) == (3, 1, ("s0", "s1"), True)
    assert (other.text, other.is_new) == ("Prefers Go", False)


def test_a_fact_has_its_day() -> None:
    """S-27: relative dates are written out, so the model needs the day of the message; which facts have one it sees itself."""
    fact = "Freezes the code from tomorrow on"
    (one,) = number_facts([raw(fact, prompts=("u1",))], {fact}, {"u1": MORNING})
    assert one.describe() == f"{fact} (2026-11-20)"
    (one,) = number_facts([raw(fact)], {fact}, {})
    assert one.describe() == fact


@pytest.mark.parametrize(
    ("numbers", "line", "found"),
    [
        ((2,), "Anything", [TABS]),
        ((2, 1), "Anything", [TABS, PNPM]),
        ((0, 3, 99), "Use pnpm instead of npm", [PNPM]),
        ((), "Use pnpm instead of npm", [PNPM]),
        ((), "Something else", []),
        ((2,), "use pnpm, never npm.", [PNPM]),
        ((2, 1), PNPM, [TABS, PNPM]),
    ],
)
def test_from_names_the_facts_of_a_line(numbers: tuple[int, ...], line: str, found: list[str]) -> None:
    """Numbers that do not exist are ignored; without a number, shared words tell. An equal fact is never left out."""
    facts = number_facts([raw(PNPM, TABS)], {PNPM, TABS}, {})
    assert [fact.text for fact in FactSources(facts).find_facts(line, numbers)] == found


@pytest.mark.parametrize(
    ("given", "sources"),
    [
        ("FROM: 2, 5", (2, 5)),
        ("**FROM:** 2 and 5", (2, 5)),
        ("FROM: [2]", (2,)),
        ("FROM: fact 2, 2", (2,)),
        ("FROM: none", ()),
        ("FROM: 123456789", ()),
        ("", ()),
    ],
)
def test_the_answers_from(given: str, sources: tuple[int, ...]) -> None:
    """The key is optional, and models write it in several ways."""
    plan = parse_plan(f"FILE: LEARNED.md\nFACT: {PNPM}\n{given}\nSECTION: Coding\n")
    assert isinstance(plan, SynthesisPlan)
    assert [(item.fact, item.section, item.sources) for item in plan.items] == [(PNPM, "Coding", sources)]


@given(st.integers(0, 40), st.integers(0, 5))
@examples(40)
def test_each_new_fact_is_in_one_portion(new: int, old: int) -> None:
    """S-23: portions keep the numbers, and each has the facts that were left out before."""
    names = [f"Use tool{number}x for {'job' * 1000}" for number in range(new)]
    left_out = [LeftOutFact(f"Prefers thing{number}", 0.0) for number in range(old)]
    facts = number_facts([raw(*names)], set(names), {}, left_out)
    portions = list(split_numbered(facts))
    assert sorted(number for one in portions for number, fact in one.items() if fact.is_new) == list(
        range(1, new + 1)
    )
    assert all(sum(not fact.is_new for fact in one.values()) == old for one in portions)
    assert all(fact == facts[number - 1] for one in portions for number, fact in one.items())
