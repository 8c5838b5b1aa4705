"""What a transaction's cause says of a line, and what a reworded or merged line takes over from the lines whose place it takes:
their prompts, sessions and facts. Pure.

Such a line says what they said, so `tacitd why` shows the words of both, and `tacitd forget` knows all of them. A line that
contradicts another one takes nothing over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

NO_SIGHTING: Mapping[str, Any] = {"prompts": [], "sessions": [], "said": 0, "corrections": 0}
"""The origin of a line that was made of no fact: a merged one."""
MIRROR_EDIT = "mirror edit"
"""What a transaction's cause names if it moves a person's edit of a mirror to its source. Lines that it adds are the
person's; lines that it takes away were deleted by the person."""
REVIEW_EDIT = "review edit"
"""The same for a line that the person worded anew with `tacitd review` or `accept`."""


def is_by_person(cause: Mapping[str, Any]) -> bool:
    """Whether a transaction with this cause wrote the person's own words."""
    return cause.get("what") in (MIRROR_EDIT, REVIEW_EDIT)


def inherit_origins(
    origins: Mapping[str, Mapping[str, Any]],
    facts: Mapping[str, Sequence[str]],
    predecessors: Mapping[str, Sequence[tuple[Path, str]]],
    causes: Mapping[tuple[Path, str], Mapping[str, Any]],
) -> tuple[dict[str, Mapping[str, Any]], dict[str, list[str]]]:
    """Return origins and facts by written line, for the history: those of its predecessors first.

    `causes`: of the transactions that wrote the predecessors.
    """
    all_origins, all_facts = dict(origins), {line: list(each) for line, each in facts.items()}
    for line, olds in predecessors.items():
        own = origins.get(line, NO_SIGHTING)
        known = [(old, causes[place, old]) for place, old in olds if (place, old) in causes]
        lists = [find_origin(cause, old) for old, cause in known]
        taken = {
            key: list(dict.fromkeys(str(id) for one in (*lists, own) for id in one.get(key, ())))
            for key in ("prompts", "sessions")
        }
        all_origins[line] = {**own, **taken}
        said = [text for old, cause in known for text in (*list_facts(cause, old), old)]
        all_facts[line] = list(dict.fromkeys((*said, *facts.get(line, ()))))
    return all_origins, all_facts


def find_origin(cause: Mapping[str, Any], line: str) -> Mapping[str, Any]:
    """The origin of a line in a transaction's cause: its own, or in transactions of older versions that of all lines."""
    lines = cause.get("lines")
    found = lines.get(line) if isinstance(lines, Mapping) else None
    return found if isinstance(found, Mapping) else cause


def list_facts(cause: Mapping[str, Any], line: str) -> tuple[str, ...]:
    """The facts that a line was made of, from its transaction's cause; () for lines of older versions."""
    made_of = cause.get("made_of")
    found = made_of.get(line) if isinstance(made_of, Mapping) else None
    return tuple(map(str, found)) if isinstance(found, list) else ()
