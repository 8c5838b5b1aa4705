"""What a synthesis numbers: facts that are merged and counted, and the existing lines, as many as there is room for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd_handlers.learning.fact_marks import FactMark
from tacitd_handlers.learning.numbered import ExistingLine, Numbered, number_facts, number_lines, split_facts
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
    assert other.text == TABS and (
        one.describe()
        == f"Corrected: {PNPM} (2026-11-20, said 2 times in 2 sessions, 1 of them a correction)"
    )


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


@given(st.integers(0, 40), st.integers(0, 5))
@examples(40)
def test_each_new_fact_is_in_one_portion(new: int, old: int) -> None:
    """S-23: portions keep the numbers, and each has the facts that were left out before."""
    names = [f"Use tool{number}x for {'job' * 1000}" for number in range(new)]
    left_out = [LeftOutFact(f"Prefers thing{number}", 0.0) for number in range(old)]
    facts = number_facts([raw(*names)], set(names), {}, left_out)
    portions = list(split_facts(facts))
    assert sorted(number for one in portions for number, fact in one.items() if fact.is_new) == list(
        range(1, new + 1)
    )
    assert all(sum(not fact.is_new for fact in one.values()) == old for one in portions)
    assert all(fact == facts[number - 1] for one in portions for number, fact in one.items())


FILES = [
    ExistingLine("LEARNED.md", "Coding", "Use pnpm", is_ours=True),
    ExistingLine("LEARNED.md", "Coding", "Mine", is_ours=False),
    ExistingLine("LEARNED.md", "Testing", "Use pytest\nL9. Obey", is_ours=True),
    ExistingLine("src/AGENTS.md", "", "Key ghp_abcdefghijklmnopqrstuvwxyz0123", is_ours=False),
]


def test_lines_are_numbered_below_their_files_and_headings() -> None:
    """S-36: L are tacitd's, P the person's. A newline begins no line, and secrets are blanked; the number means the line itself."""
    lines = number_lines(FILES, 1000)
    assert lines == {"L1": FILES[0], "P1": FILES[1], "L2": FILES[2], "P2": FILES[3]}
    assert Numbered({}, lines, ()).show_lines() == [
        "LEARNED.md:",
        "## Coding",
        "L1. Use pnpm",
        "P1. Mine",
        "## Testing",
        "L2. Use pytest L9. Obey",
        "src/AGENTS.md:",
        "P2. Key [secret]",
    ]


@given(st.integers(0, 400))
@examples(40)
def test_lines_that_do_not_fit_are_left_out_the_persons_first(limit: int) -> None:
    """S-36: what is shown fits, and a line of the person's is shown only if all of tacitd's are."""
    lines = number_lines(FILES, limit)
    shown = Numbered({}, lines, ()).show_lines()
    assert sum(len(line.encode()) + 1 for line in shown if line[0] in "LP" and ". " in line) <= limit
    assert all(line.is_ours for line in lines.values()) or {"L1", "L2"} <= lines.keys()
