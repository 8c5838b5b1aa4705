"""Learning's part of `tacitd status`: SELECTs over its rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tacitd.clock import local_minutes, utc_seconds
from tacitd.text.wording import count_noun, shorten_line
from tacitd_handlers.learning import UNHEEDED
from tacitd_handlers.learning.waiting_facts import list_waits

if TYPE_CHECKING:
    from tacitd.contract import Rows

SHORT = 80
"""Characters of a rule in a line of the status."""
LISTED = 3
"""Maximum number of projects with a line each. If there are more, this many are named in one line."""
_UNHEEDED = """
SELECT p.root, l.text, l.corrected_since, l.kept_at FROM learning_line l LEFT JOIN project p ON p.number = l.project
WHERE l.state = 'present' AND l.corrected_since <> '[]'
"""
_OFFERS = """
SELECT count(*) FROM (SELECT same FROM learning_line l WHERE state = 'present' AND project IS NOT NULL
  AND NOT EXISTS(SELECT 1 FROM learning_line own WHERE own.project IS NULL AND own.same = l.same AND own.state <> 'gone')
  GROUP BY same HAVING count(DISTINCT project) >= 3)
"""


def report_status(rows: Rows, now: float) -> Mapping[str, Any]:
    """`today` and `total` (prompts, facts, lines), `projects` (by root the time of the first line), `waits`, `withheld`, `offers`,
    `refused`, `unheeded` (lines by root), `no_project` (prompts), and `lines` for a person. There are no lines before the first prompt."""
    midnight = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
    total, waiting = _count(rows, 0.0), list(list_waits(rows))
    part: dict[str, Any] = {
        "today": _count(rows, midnight),
        "total": total,
        "projects": {root: utc_seconds(at) for root, at in _list_projects(rows)},
        "waits": waiting,
        "withheld": _scalar(rows, "SELECT count(*) FROM learning_line WHERE state = 'withheld'"),
        "offers": _scalar(rows, _OFFERS),
        "refused": {
            "waits": _count_facts(rows, "review"),
            "refused": _count_facts(rows, "refused"),
        },
        "unheeded": _find_unheeded(rows),
        "no_project": _scalar(rows, "SELECT count(*) FROM prompt WHERE passed = 'no project'"),
    }
    is_quiet = not any(total.values()) and not waiting and not part["no_project"]
    return part | {"lines": [] if is_quiet else list(format_status_lines(part))}


def _count(rows: Rows, since: float) -> dict[str, int]:
    ((asked,),) = rows(
        "SELECT count(*) FROM prompt_task t JOIN prompt p ON p.number = t.prompt "
        "WHERE t.plugin = 'learning' AND t.state = 'done' AND p.typed >= ? AND p.kind <> 'bash' "
        "AND NOT (coalesce(p.text, '') GLOB '/*' AND instr(trim(p.text), ' ') = 0)",
        since,
    )
    ((facts,),) = rows(
        "SELECT count(*) FROM learning_fact WHERE said_at >= ? AND line IS NULL AND state NOT IN ('refused', 'review')",
        since,
    )
    ((lines,),) = rows("SELECT count(*) FROM learning_line WHERE written_at >= ? AND by = 'tacitd'", since)
    return {"asked": asked, "facts": facts, "lines": lines}


def _list_projects(rows: Rows) -> list[tuple[str, float]]:
    return [
        (root, at)
        for root, at in rows(
            "SELECT p.root, min(l.written_at) AS first FROM learning_line l JOIN project p ON p.number = l.project "
            "GROUP BY p.root ORDER BY first"
        )
    ]


def _count_facts(rows: Rows, state: str) -> int:
    """Texts that wait for a decision or were refused, each once."""
    return _scalar(
        rows,
        "SELECT count(DISTINCT coalesce(project, 0) || same) FROM learning_fact f WHERE state = ? AND NOT EXISTS("
        "SELECT 1 FROM learning_line l WHERE l.project IS f.project AND l.same = f.same AND l.state IN ('present', 'forgotten'))",
        state,
    )


def _find_unheeded(rows: Rows) -> dict[str, list[str]]:
    """Lines that were corrected twice since they were written, by root ("" for the person's), the most often corrected first."""
    found: dict[str, list[tuple[int, str]]] = {}
    for root, text, since, kept in rows(_UNHEEDED):
        times: list[float] = json.loads(since)
        if len(times) >= UNHEEDED and max(times) > (kept or 0.0):
            found.setdefault(root or "", []).append((-len(times), text))
    return {root: [text for _, text in sorted(lines)] for root, lines in found.items()}


def _scalar(rows: Rows, sql: str, *values: str) -> int:
    ((number,),) = rows(sql, *values)
    return int(number)


# --- lines for a person


def format_status_lines(part: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines for the status. A line that begins with `!` needs the person's attention."""
    for span in ("today", "total"):
        counts = part[span]
        yield f"{span}: {count_noun(counts['asked'], 'prompt')} put to the model, " + (
            f"{count_noun(counts['facts'], 'fact')}, {count_noun(counts['lines'], 'line')} written"
        )
    yield from _describe_projects(part["projects"])
    if number := part["withheld"]:
        yield f"{count_noun(number, 'line')} that you removed {_was(number)} learned again: `tacitd learned --withheld`"
    if number := part["offers"]:
        yield f"{count_noun(number, 'line')} {_was(number)} learned in three projects: `tacitd review` offers it for all"
    if number := part["refused"]["waits"]:
        wait = "waits" if number == 1 else "wait"
        yield f"! {count_noun(number, 'proposal')} of the model {wait} for your decision: `tacitd review`"
    if number := part["refused"]["refused"]:
        yield f"{count_noun(number, 'proposal')} of the model {_was(number)} refused: `tacitd learned --refused`"
    if number := part["no_project"]:
        yield f"{count_noun(number, 'prompt')} {_was(number)} left out: no project (`tacitd prompts` says where)"
    yield from _describe_unheeded(part["unheeded"])


def _was(number: int) -> str:
    return "was" if number == 1 else "were"


def _describe_unheeded(unheeded: Mapping[str, list[str]]) -> Iterator[str]:
    named = [(line, root) for root, lines in unheeded.items() for line in lines]
    if not named:
        return
    line, root = named[0]
    more = f" and {len(named) - 1} more" if len(named) > 1 else ""
    yield (
        f"! “{shorten_line(line, SHORT)}” in {root or 'all projects'}{more}: corrected at least twice since it was written. "
        "`tacitd review` asks about it, `tacitd learned --check ID` prints a hook that checks it"
    )


def _describe_projects(projects: Mapping[str, str]) -> Iterator[str]:
    """Where tacitd writes, given the UTC time of the first line by root: a line each, or one line if over LISTED."""
    from tacitd.clock import parse_utc

    if len(projects) > LISTED:
        first = ", ".join(list(projects)[:LISTED])
        yield f"writes in {len(projects)} projects: {first} and {len(projects) - LISTED} more"
        return
    for root, since in projects.items():
        at = parse_utc(since)
        yield f"writes in {root} since {since if at is None else local_minutes(at).replace('T', ' ')}"
