"""Loading: budget and order, lessons for an error, and what hides no lesson."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from support_lessons import Lessons
from tacitd_handlers.lessons.lesson_log import Lesson
from tacitd_handlers.lessons.lesson_text import format_load, score_match
from tacitd_handlers.lessons.pattern import Pattern

rows = st.lists(st.tuples(st.integers(1, 400), st.booleans()), unique_by=lambda one: one[0], max_size=40)


def made(pairs: list[tuple[int, bool]], scope: str) -> list[Lesson]:
    return [
        Lesson(f"{n:03d}", scope, "user" if firm else "ai", "active", "", Pattern(str(n), "do", "b", "c"))
        for n, firm in sorted(pairs)
    ]


@examples(150)
@given(rows, rows, st.integers(0, 60))
def test_the_budget_holds_and_the_order_is_by_id(
    one: list[tuple[int, bool]], other: list[tuple[int, bool]], lines: int
) -> None:
    """`--lines`: never more lines (except the title and one group's frame), ordered by id; people's lessons are left
    out last.
    """
    other = [(n + 400, firm) for n, firm in other]  # an id occurs once
    text, ids = format_load({"global": made(one, "global"), "x": made(other, "x")}, lines)
    total = len(one) + len(other)
    assert text.startswith(f"## Lessons ({total} active)\n")
    assert len(text.splitlines()) <= max(lines, 2) or not lines
    shown = [line for line in text.splitlines() if line.startswith("- ")]
    assert len(shown) == len(ids)
    if lines == 0 or total + 5 <= lines:
        assert len(ids) == total and "left out" not in text
    elif len(ids) < total:
        assert f"({total - len(ids)} more are left out" in text
    for group in text.split("\n### ")[1:]:
        whens = [int(line.split()[2]) for line in group.splitlines() if line.startswith("- ")]
        assert whens == sorted(whens)
    if any(not line.endswith("[firm]") for line in shown):
        assert sum(line.endswith("[firm]") for line in shown) == sum(firm for _, firm in (*one, *other))


@pytest.mark.parametrize(
    "when, error, fits",
    [
        ("navigation fails", "Error: navigation to http://x failed: timeout", True),
        ("config syntax error", "SyntaxError: invalid syntax in config.toml", True),
        ("page slow", "the page is gone", False),
        ("tests fail", "Error: something failed", False),
        ("docker is not running", "Cannot connect to the Docker daemon. Is the docker daemon running?", True),
        ("editing tmux.conf", "Traceback (most recent call last)", False),
        ("any error", "boom", False),
        ("a file is not found", "FileNotFoundError: config.toml", True),
    ],
)
def test_lessons_that_fit_an_error(when: str, error: str, fits: bool) -> None:
    """SPEC E-31: most words of WHEN are in the error; "it failed" alone matches nothing."""
    assert (score_match(when, error) > 0) is fits


def test_a_load_works_anywhere(lessons: Lessons, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent's sandbox: the current directory was removed, and the state directory cannot be made."""
    gone = lessons.home / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    monkeypatch.setenv("TACITD_STATE_DIR", "/proc/nowhere")
    lessons.out("add", "-s", "tmux", FIRM)
    assert FIRM in lessons.out("load", "--scope=tmux") and FIRM in lessons.out("list", "--scope=tmux")


FIRM = "WHEN committing -> DO squash first -> BECAUSE user said so"
