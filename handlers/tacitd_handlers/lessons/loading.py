"""What `lesson load` says: which lessons, within how many lines, in which form (SPEC E-18). Pure, and light.

A row is (id, line): the line is what is printed, `- WHEN … [firm]`. The order is by id and nothing else, so that a
prompt cache survives; only *which* rows stand there depends on the budget.
"""

from __future__ import annotations

from tacitd_handlers.lessons.scopes import GLOBAL

LINES = 200
"""Lines of `lesson load` where none are said: what is longer, an agent's own tools would cut."""
FIRM = " [firm]"

Rows = list[tuple[str, str]]


def line_of(text: str, *, firm: bool) -> str:
    """The line of a lesson's canonical text."""
    return f"- {text}{FIRM}" if firm else f"- {text}"


def render(groups: dict[str, Rows], lines: int) -> tuple[str, list[str]]:
    """Given rows by scope (global first) and a number of lines (0: all), return the text and the ids that stand in it.

    What goes over the budget is left out, and the last line says how many. People's own lessons stay longest, then
    those of the scope that was asked for, then the newer ones.
    """
    kept = {scope: rows for scope, rows in groups.items() if rows}
    total = sum(len(rows) for rows in kept.values())
    shown = _within(kept, total, lines)
    said = [f"## Lessons ({total} active)"]
    for scope, rows in shown.items():
        said += ["", "### Global" if scope == GLOBAL else f"### {scope}", *(line for _, line in rows)]
    ids = [id for rows in shown.values() for id, _ in rows]
    if len(ids) < total:
        said.append(f"({total - len(ids)} more are left out: lesson load --lines 0)")
    return "\n".join(said) + "\n", ids


def ranges(ids: list[str]) -> str:
    """Ids in few characters: `1-200,305`."""
    parts: list[str] = []
    numbers = sorted(map(int, ids))
    at = 0
    while at < len(numbers):
        end = at
        while end + 1 < len(numbers) and numbers[end + 1] == numbers[end] + 1:
            end += 1
        parts.append(f"{numbers[at]}-{numbers[end]}" if end > at else str(numbers[at]))
        at = end + 1
    return ",".join(parts)


def numbers(text: str) -> list[int]:
    """What `ranges` wrote, one by one; [] for anything else."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        last = last or first
        if not (
            first.isascii() and first.isdigit() and last.isascii() and last.isdigit() and len(last) <= 12
        ):
            return []
        if int(last) - int(first) > 10_000_000:
            return []
        found += range(int(first), int(last) + 1)
    return found


def _within(groups: dict[str, Rows], total: int, lines: int) -> dict[str, Rows]:
    if not lines or 1 + 2 * len(groups) + total <= lines:
        return groups
    room = lines - 2 - 2 * len(groups)  # the title, the last line, and a blank and a heading for each group
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
