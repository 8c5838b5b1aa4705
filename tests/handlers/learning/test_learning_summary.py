"""The known-facts summary, and the lines that a fact is compared with."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd_handlers.learning.prompt_templates import load_template, summary_prompt
from tacitd_handlers.learning.statements import parse_statements
from tacitd_handlers.learning.summary import (
    LINES_LIMIT,
    SummarySource,
    deterministic_summary,
    known_lines,
    parse_summary_answer,
    summary_lines,
)
from tacitd_handlers.shared.answer_screening import Unusable

LEARNED = """# Learned Preferences

## Coding
- Prefers functions over classes
- Use pnpm, not npm

## Communication
- Prefers concise responses
"""


def test_groups_in_order_and_newest_first() -> None:
    """S-42, S-43: the four groups, then General; within a group the newest lines first."""
    directives = SummarySource(
        "coding-directives.md",
        "# Rules\n\n- Wants tests for every fix\n- prefers functions over classes.\n",
        1,
    )
    assert deterministic_summary(
        [directives, SummarySource("LEARNED.md", LEARNED + "\n## Odd\n- Likes Wednesdays\n", 0)]
    ) == (
        "# Known facts\n\n## Coding\n- Use pnpm, not npm\n- Prefers functions over classes\n\n"
        "## Testing\n- Wants tests for every fix\n\n## Communication\n- Prefers concise responses\n\n"
        "## General\n- Likes Wednesdays\n"
    )


@pytest.mark.parametrize("sources", [[], [SummarySource("LEARNED.md", "# Learned Preferences\n", 0)]])
def test_header_only_when_there_is_nothing(sources: list[SummarySource]) -> None:
    """S-40: without a source there are no lines and no call."""
    assert deterministic_summary(sources) == "# Known facts\n"


def test_paragraphs_count_where_there_are_no_bullets() -> None:
    """S-44: a directive in prose is split into sentences."""
    text = deterministic_summary(
        [SummarySource("coding-directives.md", "Use type hints. Never use\nglobal variables.", 0)]
    )
    assert summary_lines(text) == ("Use type hints.", "Never use global variables.")


def test_secrets_stay_out() -> None:
    """S-67: the summary does not repeat a secret of a document."""
    source = SummarySource(
        "AGENTS.md", "- Use tabs\n- The key is ghp_abcdefghijklmnopqrstuvwxyz0123456789\n", 0
    )
    assert summary_lines(deterministic_summary([source])) == ("Use tabs",)


@given(
    st.lists(st.lists(st.sampled_from(["test", "answer", "type", "module", "x"]), max_size=40), max_size=4)
)
@examples(50)
def test_never_more_than_49_lines(documents: list[list[str]]) -> None:
    """S-41: the cap applies to whole lines, and the newest ones are kept."""
    sources = [
        SummarySource("AGENTS.md", "\n".join(f"- {word} {rank}.{n}" for n, word in enumerate(words)), rank)
        for rank, words in enumerate(documents)
    ]
    text = deterministic_summary(sources)
    said = [line for source in sources for line in source.text.splitlines()]
    assert len(text.splitlines()) <= LINES_LIMIT and text.endswith("\n")
    assert all(line in said for line in text.splitlines() if line.startswith("- "))
    assert not said or said[0] in text


@pytest.mark.parametrize(
    "answer",
    [
        "## Coding\n- Use pnpm\n\n## Testing\n- Use pytest\n",
        "Coding:\n1. Use pnpm\n\nTesting:\n1. Use pytest",
        "**Coding**\n* Use pnpm\n**Testing:**\n* User use pnpm.\n* Use pytest",
        "Coding\n- Use pnpm\nTesting\n- Use pytest",
        "**Coding**\nUse pnpm\n\n__Testing__\nUse pytest",
        "- Coding\n- Use pnpm\n- Testing:\n- Use pytest",
        "1. Coding\n- Use pnpm\n2. **Testing**\n- Use pytest",
        "Coding Style\n- Use pnpm\n\nTesting conventions:\n- Use pytest",
        "Package manager\n- Use pnpm\n\nHow to test\n- Use pytest",
        "```markdown\n# Coding\nUse pnpm\n# Testing\nUse pytest\n```",
        "Here are the statements:\n- Use pnpm\n- Use pytest",
    ],
)
def test_the_models_answer_in_our_form(answer: str) -> None:
    """S-41, S-42: lines are grouped and cleaned, in whatever form the model wrote its headings."""
    expected = "# Known facts\n\n## Coding\n- Use pnpm\n\n## Testing\n- Use pytest\n"
    assert parse_summary_answer(answer.replace("User use pnpm.", "use pnpm.")) == expected


@pytest.mark.parametrize(
    "statement", ["Testing matters", "Code is typed", "Coding without comments", "Short answers"]
)
def test_a_short_statement_is_no_heading(statement: str) -> None:
    """S-41: only a group's name, or a few words above a list, is a heading."""
    text = parse_summary_answer(f"- {statement}\n- Use pnpm")
    assert isinstance(text, str) and statement in summary_lines(text)


def test_the_cut_keeps_every_group() -> None:
    """S-41: a long first group leaves the others their share; room that they do not need is given to the newest lines."""
    blocks = [
        f"## {group}\n" + "\n".join(f"- {group} rule {n}" for n in range(size))
        for group, size in (("Coding", 90), ("Testing", 90), ("Communication", 3), ("Architecture", 90))
    ]
    text = parse_summary_answer("\n\n".join(blocks))
    assert isinstance(text, str) and len(text.splitlines()) == LINES_LIMIT
    shown = {
        group: sum(line.startswith(f"- {group}") for line in text.splitlines())
        for group in ("Coding", "Testing", "Communication", "Architecture")
    }
    assert shown == {"Coding": 17, "Testing": 10, "Communication": 3, "Architecture": 10}


def test_the_models_answer_is_capped() -> None:
    """S-41: "keep under 50 lines" is enforced without the model."""
    text = parse_summary_answer("## Coding\n" + "\n".join(f"- Rule {n}" for n in range(90)))
    assert isinstance(text, str) and len(text.splitlines()) == LINES_LIMIT


@pytest.mark.parametrize(
    "answer",
    [
        "I'm sorry, I can't do that.",
        load_template("summary"),
        summary_prompt({"AGENTS.md": "- Use tabs"}),
        "## Coding\n## Testing",
        "",
        "- x\n" * 20_000,
    ],
)
def test_what_is_no_summary(answer: str) -> None:
    """S-35, S-44: the answer is unusable, and the caller uses the deterministic summary."""
    assert isinstance(parse_summary_answer(answer), Unusable)


def test_none_is_a_summary() -> None:
    """S-40: documents without statements give an empty summary."""
    assert parse_summary_answer("NONE") == "# Known facts\n"


def test_known_lines_are_bullets_paragraphs_and_their_sentences() -> None:
    """S-06: the statements of all documents are compared with facts."""
    lines = known_lines(
        "---\ntitle: x\n---\n# Rules\n\nUse tabs. Never use npm.\n\n- Wrap lines\n  at 100. Use ruff.\n",
        "```\n- not said\n```\n<!-- - hidden -->\n1. Use pytest\n\n# Heading\n",
        "",
    )
    assert lines == (
        "Use tabs. Never use npm.", "Use tabs.", "Never use npm.", "Wrap lines at 100. Use ruff.", "Wrap lines at 100.",
        "Use ruff.", "Use pytest",
    )  # fmt: skip


def test_statements_know_their_heading() -> None:
    """S-42: a line's group is that of its heading if the heading names one of the four."""
    found = parse_statements("## Coding ##\r\n- a\r\n\r\n### **Testing:**\r\nb\r\n")
    assert [(one.text, one.heading, one.is_bullet) for one in found] == [
        ("a", "Coding", True),
        ("b", "Testing", False),
    ]


@given(st.text(alphabet="#-*`~<!>. \nab\r", max_size=80))
@examples(100)
def test_any_document_can_be_read(text: str) -> None:
    """S-44: no document raises, and every statement is one line that is not empty."""
    assert all(one.text.strip() and "\n" not in one.text for one in parse_statements(text))
