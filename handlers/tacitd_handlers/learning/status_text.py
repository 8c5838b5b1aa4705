"""Learning's lines in `tacitd status`. Pure: the handler's part of the status document in, lines out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tacitd_handlers.learning.state import COMMENTARY, SECRET_FACT, TOO_MANY_FACTS

COUNT_LABELS = {
    "seen": "prompts seen",
    "asked": "put to the model",
    "facts": "facts",
    "lines": "lines written",
}
"""Labels of the counts in `COUNTED_FIELDS`."""
LISTED = 3
"""Maximum number of projects with a line each. If there are more, this many are named in one line."""


def count_facts(number: int) -> str:
    """Return the number with its noun: `1 fact`, `2 facts`."""
    return f"{number} fact{'' if number == 1 else 's'}"


def format_status_lines(status: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines for the status. A line that begins with `!` needs the user's attention."""
    for span in ("today", "total"):
        yield f"{span}: " + ", ".join(f"{status[span][key]} {words}" for key, words in COUNT_LABELS.items())
    yield from _describe_projects(status["projects"])
    for why, number in status["skipped"].items():
        if why == COMMENTARY:
            yield f"{number} lines of answers were left out: {why}"
            continue
        what = "facts" if why in (SECRET_FACT, TOO_MANY_FACTS) else "prompts"
        yield f"{number} {what} were left out: {why}"
    if status["withheld"]:
        yield f"{status['withheld']} lines that you removed were learned again: `tacitd learned --withheld`"
    refused = status["refused"]
    if refused["waits"]:
        yield f"! {refused['waits']} proposals of the model wait for your decision: `tacitd learned --refused`"
    if refused["refused"]:
        yield f"{refused['refused']} proposals of the model were refused: `tacitd learned --refused`"
    for root, number in status["untrusted"].items():
        what = "1 line" if number == 1 else f"{number} lines"
        yield (
            f"! {what} of {root}/LEARNED.md came with the project, so its sessions do not load them. Read them: `tacitd trust {root}` "
            f"puts them into every session there, `tacitd trust --undo {root}` does not ask again"
        )
    for what in status["rules_problems"]:
        yield f"! {what}"
    for what in status["files_refused"]:
        if what not in status.get("files_reported", ()):  # a degradation reports those
            yield f"! {what}"


def _describe_projects(projects: Mapping[str, str]) -> Iterator[str]:
    """Yield where tacitd writes, given the time of the first write by root: a line each, or one line if over LISTED."""
    if len(projects) > LISTED:
        first = ", ".join(list(projects)[:LISTED])
        yield f"writes in {len(projects)} projects: {first} and {len(projects) - LISTED} more"
        return
    for root, since in projects.items():
        yield f"writes in {root} since {since}"
