"""Whether a line says what a lesson says, by which the lessons of a deleted line are found (SPEC E-32)."""

from __future__ import annotations

import pytest

from tacitd_handlers.lessons.pattern import parse_pattern
from tacitd_handlers.lessons.similarity import is_opposite, is_said_by

READ = "WHEN editing tmux.conf -> DO read the file first -> BECAUSE was layering on wrong assumptions"
PNPM = "WHEN installing packages -> DO use pnpm -> BECAUSE the lock file is pnpm's"


@pytest.mark.parametrize(
    "line",
    [
        "Read the file first when editing tmux.conf",
        "When editing tmux.conf, read the file first",
        "Read the file first",
        "Read the file before editing tmux.conf",
    ],
)
def test_a_line_that_says_the_same(line: str) -> None:
    assert is_said_by(parse_pattern(READ), line)


@pytest.mark.parametrize(
    "line",
    [
        "Do not read the file first when editing tmux.conf",
        "Read the file first when editing vimrc",
        "Use tabs",
        "",
    ],
)
def test_a_line_that_says_something_else(line: str) -> None:
    assert not is_said_by(parse_pattern(READ), line)


def test_a_clause_of_the_line_counts() -> None:
    assert is_said_by(parse_pattern(PNPM), "Use pnpm, never npm")
    assert not is_said_by(parse_pattern(PNPM.replace("use pnpm", "use npm")), "Use pnpm, never npm")
    turned = parse_pattern(PNPM.replace("DO use", "DO NOT use"))
    assert is_opposite(parse_pattern(PNPM), turned) and not is_opposite(turned, turned)
