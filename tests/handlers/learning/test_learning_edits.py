"""What a person's edits of the source files, and git's, mean for the lines (SPEC S-28)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support_learning import LearningBench

PNPM, SHORT = "Use pnpm, not npm", "Keep answers short"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[LearningBench]:
    with LearningBench(tmp_path) as made:
        made.bench.type("use pnpm, not npm", "keep answers short", session="s1")
        made.say("go on", f"[1] {PNPM}\n[2] {SHORT}")
        made.end()
        assert made.bullets == [PNPM, SHORT]
        yield made


@pytest.mark.parametrize("name", ["LEARNED.md", ".claude/rules/tacitd-learned.md"])
def test_something_else_in_the_place_of_a_line_is_no_rewording(bench: LearningBench, name: str) -> None:
    """S-28: the line counts as deleted, and what the person wrote has no origin in what they said before."""
    bench.edit(PNPM, "Deploy on Fridays", name)
    assert bench.bullets == ["Deploy on Fridays", SHORT]
    assert (bench.line(PNPM).state, bench.line(PNPM).replaced_by) == ("removed", None)
    assert bench.bench.rows("SELECT text FROM learning_line WHERE state = 'present'") == [(SHORT,)]
    bench.learn("use pnpm, not npm, please", PNPM, "s2")
    assert bench.bullets == ["Deploy on Fridays", SHORT]


@pytest.mark.parametrize(
    ("typed", "heard"),
    [("Use colour names", "Use color names"), ("Indent with two spaces", "Indent with 2 spaces")],
)
def test_a_deleted_line_does_not_come_back_in_another_spelling(
    bench: LearningBench, typed: str, heard: str
) -> None:
    """S-28: a model writes American English and figures."""
    bench.learn(typed, typed)
    assert bench.bullets == [PNPM, SHORT, typed]
    bench.edit(f"- {typed}\n", "")
    bench.learn(f"{typed}, please", heard, "s2")
    assert bench.bullets == [PNPM, SHORT]


def test_a_line_with_another_mark_or_heading_is_the_same(bench: LearningBench) -> None:
    """S-28: moved to another section, it is one line with its origin."""
    before = bench.line(PNPM).number
    bench.edit("## Coding\n", "## Tools\n")
    line = bench.line(PNPM)
    assert (line.number, line.state, line.heading, line.by) == (before, "present", "Tools", "person")


def test_the_persons_own_file_is_watched_too(bench: LearningBench) -> None:
    """S-55: a line deleted in ~/.agents/LEARNED.md stays deleted."""
    bench.learn("answer me in Dutch, always", "[1] Person: Answer in Dutch", "s2")
    path = bench.bench.home / ".agents" / "LEARNED.md"
    path.write_text("# Learned Preferences\n\n## Communication\n")
    bench.look()
    assert bench.line("Answer in Dutch").state == "removed"
    bench.learn("answer me in Dutch, I said", "[1] Person: Answer in Dutch", "s3")
    assert bench.person == [] and bench.line("Answer in Dutch").state == "withheld"


def test_a_reworded_line_is_the_persons(bench: LearningBench) -> None:
    """S-28: it keeps their words and the origin, and the old text counts as deleted."""
    bench.edit(PNPM, "Use pnpm 9, not npm")
    line = bench.line("Use pnpm 9, not npm")
    assert (line.state, line.by, line.said) == ("present", "person", 1)
    assert (bench.line(PNPM).state, bench.line(PNPM).replaced_by) == ("removed", line.number)
    bench.learn("use pnpm, not npm, please", PNPM, "s2")
    assert bench.bullets == ["Use pnpm 9, not npm", SHORT]
