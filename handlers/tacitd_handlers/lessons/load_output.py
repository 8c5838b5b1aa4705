"""The text of `lesson load`: which lessons, within how many lines, in which format (SPEC E-18). Pure.

A row is (id, line); the line is printed as it is, `- WHEN … [firm]`. Rows are ordered by id alone, so that a prompt cache
stays valid; the budget only decides which rows are included.
"""

from __future__ import annotations

from tacitd_handlers.lessons.lesson_fold import Lesson
from tacitd_handlers.lessons.scopes import GLOBAL

LINES = 200
"""Default maximum of lines. Agents' own tools would cut a longer output."""
FIRM = " [firm]"

Rows = list[tuple[str, str]]


def line_of(text: str, *, firm: bool) -> str:
    """The line for a lesson's canonical text."""
    return f"- {text}{FIRM}" if firm else f"- {text}"


def make_row(lesson: Lesson) -> tuple[str, str]:
    """The row of a lesson."""
    return lesson.id, line_of(lesson.text, firm=lesson.is_firm)


def render_lessons(groups: dict[str, Rows], lines: int) -> tuple[str, list[str]]:
    """The text of these rows, and the ids that it contains.

    `groups` are rows by scope, global first; `lines` is the maximum, 0 for no limit. If there are more lines, rows
    are left out and the last line gives their number.
    Lessons stated by people are kept first, then those of scopes
    other than global, then newer ones.
    """
    kept = {scope: rows for scope, rows in groups.items() if rows}
    total = sum(len(rows) for rows in kept.values())
    shown = _within(kept, total, lines)
    parts = [f"## Lessons ({total} active)"]
    for scope, rows in shown.items():
        parts += ["", "### Global" if scope == GLOBAL else f"### {scope}", *(line for _, line in rows)]
    ids = [id for rows in shown.values() for id, _ in rows]
    if len(ids) < total:
        parts.append(f"({total - len(ids)} more are left out: lesson load --lines 0)")
    return "\n".join(parts) + "\n", ids


def _within(groups: dict[str, Rows], total: int, lines: int) -> dict[str, Rows]:
    if not lines or 1 + 2 * len(groups) + total <= lines:
        return groups
    room = lines - 2 - 2 * len(groups)  # the title, the last line, and a blank and a heading for each group
    # Sorted ascending: firm lessons first, then scopes other than global, then newer rows.
    ranked = [
        (not line.endswith(FIRM), scope == GLOBAL, -at, scope)
        for scope, rows in groups.items()
        for at, (_, line) in enumerate(rows)
    ]
    chosen = {(scope, -at) for _, _, at, scope in sorted(ranked)[: max(0, room)]}
    shown = {
        scope: [row for at, row in enumerate(rows) if (scope, at) in chosen] for scope, rows in groups.items()
    }
    return {scope: rows for scope, rows in shown.items() if rows}
