"""Parsing the answer of Stage 2 into a plan."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd_handlers.learning.prompt_templates import load_template, synthesis_prompt
from tacitd_handlers.learning.stage2.parse import ProposedLine, SynthesisPlan, parse_plan
from tacitd_handlers.shared.answer_screening import Unusable

EXAMPLE = (
    "FILE: LEARNED.md\nFACT: Prefers functions over classes\n\n"
    "FILE: teleclaude/learning/AGENTS.md\nFACT: Use event bus pattern for hook communication\n"
)


@pytest.mark.parametrize(
    ("answer", "items"),
    [
        ("FILE: LEARNED.md\nFACT: Use pnpm", (ProposedLine("LEARNED.md", "Use pnpm"),)),
        ("FILE: a/AGENTS.md\n\nFACT: Use pnpm\n\n\nFILE: LEARNED.md\nFACT: Tabs",
         (ProposedLine("a/AGENTS.md", "Use pnpm"), ProposedLine("LEARNED.md", "Tabs"))),
        ("**FILE:** LEARNED.md\n**FACT:** Use pnpm", (ProposedLine("LEARNED.md", "Use pnpm"),)),
        ("**FILE: LEARNED.md**\n**FACT: Use pnpm**", (ProposedLine("LEARNED.md", "Use pnpm"),)),
        ("- FILE: `LEARNED.md`\n  FACT: Use pnpm", (ProposedLine("LEARNED.md", "Use pnpm"),)),
        ("1. FILE: LEARNED.md\n   FACT: Use pnpm", (ProposedLine("LEARNED.md", "Use pnpm"),)),
        ("```\nFILE: LEARNED.md\nFACT: Use pnpm\n```", (ProposedLine("LEARNED.md", "Use pnpm"),)),
        ("FILE: LEARNED.md\nFACT: Never deploy\n  without a review\n  unless the site is down\nSECTION: Coding\nwords",
         (ProposedLine("LEARNED.md", "Never deploy without a review unless the site is down", "Coding"),)),
        ("Here is the result.\n\nFILE: LEARNED.md\nFACT: Use pnpm\n\nThat is all.", (ProposedLine("LEARNED.md", "Use pnpm"),)),
        ("FILE: LEARNED.md\nFACT: Use pnpm,\n  never npm\n\n  more", (ProposedLine("LEARNED.md", "Use pnpm, never npm"),)),
        ("FILE: LEARNED.md\nFACT: Use pnpm\nSECTION: Coding\nREPLACES: - Use npm",
         (ProposedLine("LEARNED.md", "Use pnpm", "Coding", "Use npm"),)),
        ("FILE: LEARNED.md\nSECTION: Coding\nREPLACES: Use npm\nFACT: Use pnpm",
         (ProposedLine("LEARNED.md", "Use pnpm", "Coding", "Use npm"),)),
        ("FILE: LEARNED.md\nFACT: Use pnpm\nFACT: Use tabs", (ProposedLine("LEARNED.md", "Use pnpm"), ProposedLine("LEARNED.md", "Use tabs"))),
        ("FILE: LEARNED.md\nFACT: Use pnpm\nREPLACES: NONE", (ProposedLine("LEARNED.md", "Use pnpm"),)),
        ("FILE: LEARNED.md\nREPLACES: Use npm\nREPLACES: Use yarn\nFACT: Use pnpm",
         (ProposedLine("LEARNED.md", "Use pnpm", "", "Use npm", (), ("Use yarn",)),)),
        ("FILE: LEARNED.md\nFACT: Use pnpm\nFROM: 2-4, 9", (ProposedLine("LEARNED.md", "Use pnpm", sources=(2, 3, 4, 9)),)),
        ("FILE: LEARNED.md\nFACT: Use pnpm\nFROM: 1-99999", (ProposedLine("LEARNED.md", "Use pnpm", sources=(1, 99999)),)),
        ("FILE: LEARNED.md\nFACT: Use pnpm FROM: 2, 5", (ProposedLine("LEARNED.md", "Use pnpm", sources=(2, 5)),)),
        ("FILE: LEARNED.md\nFACT: Copy the image FROM: the registry", (ProposedLine("LEARNED.md", "Copy the image FROM: the registry"),)),
        ("FILE: LEARNED.md\nFACT: NONE", ()),
        ("FILE: LEARNED.md\nFACT: Use pnpm\n\nFILE: LEARNED.md\nFACT: Use pnpm", (ProposedLine("LEARNED.md", "Use pnpm"),)),
        ("FILE: ../../etc/passwd\nFACT: Use pnpm", (ProposedLine("../../etc/passwd", "Use pnpm"),)),
        ("FACT: Lost\nFILE: LEARNED.md\nFACT: Use pnpm", (ProposedLine("LEARNED.md", "Use pnpm"),)),
        ("FILE： LEARNED.md\nFACT： 使用 pnpm", (ProposedLine("LEARNED.md", "使用 pnpm"),)),
        ("FILE: LEARNED.md\nFACT: Corrected: use pnpm\nREPLACES: Corrected: Use npm (an existing line)",
         (ProposedLine("LEARNED.md", "Use pnpm", "", "Use npm"),)),
        ("FILE: LEARNED.md\nFACT: [2] Use pnpm (an existing line, 2026-11-20)\nREPLACES: Use npm\nREPLACES: Use yarn (an existing line)",
         (ProposedLine("LEARNED.md", "Use pnpm", "", "Use npm", (), ("Use yarn",)),)),
        ("FILE: LEARNED.md\nFACT: Never deploy on Fridays\nunless the release manager agrees\nFROM: 1",
         (ProposedLine("LEARNED.md", "Never deploy on Fridays unless the release manager agrees", sources=(1,)),)),
        ("FILE: LEARNED.md\nFACT: Corrected invoices are new invoices (an existing rule)",
         (ProposedLine("LEARNED.md", "Corrected invoices are new invoices (an existing rule)"),)),
        ("NONE", ()), ("- **NONE**", ()), ("", ()), ("No new or updated preferences.", ()),
    ],
)  # fmt: skip
def test_reads_the_form(answer: str, items: tuple[ProposedLine, ...]) -> None:
    """S-24, S-25, S-26: FILE and FACT, with optional SECTION and REPLACES, without the marks of the numbered facts."""
    assert parse_plan(answer) == SynthesisPlan(items)


@pytest.mark.parametrize(
    "answer",
    [
        "I'm sorry, I can't do that.",
        "The person prefers pnpm.",
        "File: LEARNED.md\nFact: prose that only looks like it",
        "FILE: LEARNED.md",
        "FACT: Use pnpm",
        '{"file": "LEARNED.md", "fact": "Use pnpm"}',
        "the FILE: LEARNED.md and the FACT: Use pnpm stand inside a line",
        "x" * 70_000,
    ],
)
def test_anything_else_is_unusable(answer: str) -> None:
    """S-23: text without a pair is unusable, so the raw facts are kept."""
    assert isinstance(parse_plan(answer), Unusable)


def test_the_prompt_echoed_is_refused() -> None:
    """S-35: instruction sentences, placeholders and the example are an echo."""
    assert isinstance(parse_plan(load_template("synthesis")), Unusable)
    assert isinstance(parse_plan(synthesis_prompt([], {}, {1: "Use pnpm"}, [])), Unusable)
    assert isinstance(parse_plan("FILE: {relative_path}\nFACT: {the preference statement}"), Unusable)
    assert isinstance(
        parse_plan("- Deduplicate semantically similar facts\nFILE: LEARNED.md\nFACT: Use pnpm"), Unusable
    )


def test_the_example_is_an_echo_unless_the_facts_hold_it() -> None:
    """S-35: "Prefers functions over classes" is refused unless the facts support it."""
    assert isinstance(parse_plan(EXAMPLE, ["Use pnpm, not npm"]), Unusable)
    assert isinstance(
        parse_plan("FILE: LEARNED.md\nFACT: prefer functions over classes.", ["Use pnpm"]), Unusable
    )
    held = parse_plan(
        "FILE: LEARNED.md\nFACT: Prefers functions over classes", ["Likes functions more than classes"]
    )
    assert held == SynthesisPlan((ProposedLine("LEARNED.md", "Prefers functions over classes"),))
    bus = "FILE: hooks/AGENTS.md\nFACT: Use event bus pattern for hook communication"
    assert isinstance(parse_plan(bus, ["Use pnpm"]), Unusable)
    assert isinstance(parse_plan(bus, ["Hooks talk over the event bus"]), SynthesisPlan)


@given(st.text(alphabet="FILEACTSON: \n*-`x/.\t", max_size=120) | st.text(max_size=120))
@examples(100)
def test_any_answer_has_an_outcome(answer: str) -> None:
    """S-23, S-67: no answer raises, and every item has a file and a fact of one line."""
    parsed = parse_plan(answer)
    if isinstance(parsed, SynthesisPlan):
        assert all(item.file and item.fact and "\n" not in item.file + item.fact for item in parsed.items)
