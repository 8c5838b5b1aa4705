"""What a decision changes: the operations on files, and the commit's data about lines. Nothing is written here."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from tacitd.events import Project
from tacitd.files.operations import Operation, PutLine, SwapLine, TakeLine
from tacitd_handlers.learning.headings import groups_after
from tacitd_handlers.learning.project_files import title_for
from tacitd_handlers.learning.stage2.place import PlacedLine
from tacitd_handlers.learning.stage2.plan import Decision, PlannedPut, PlannedSwap
from tacitd_handlers.learning.stage2.synthesis_input import SynthesisInput
from tacitd_handlers.shared.equality import find_equal
from tacitd_handlers.shared.words import Sources, word_line


def build_operations(
    project: Project, decision: Decision, section_of: Callable[[Path, str], str]
) -> list[Operation]:
    """Return the operations of a decision, in its order.

    `section_of`: given a file and a line in it, the heading that goes with the last line below it, "" for none.
    """
    made: list[Operation] = []
    for operation in decision.operations:
        path, title = project.root / operation.path, title_for(operation.path)
        match operation:
            case PlannedPut(heading=heading, line=line):
                made.append(PutLine(path, heading, line, title, "\n".join(groups_after(heading))))
            case PlannedSwap(old=old, line=line, heading=heading, old_path=""):
                made.append(SwapLine(path, old, line, heading, title))
            case PlannedSwap(old=old, line=line, heading=heading, old_path=old_path):
                made.append(PutLine(path, heading, line, title, "\n".join(groups_after(heading))))
                place = project.root / old_path
                made.append(TakeLine(place, old, section_of(place, old)))
    for merged in decision.merged:
        place = project.root / merged.path
        made.append(TakeLine(place, merged.line, section_of(place, merged.line)))
    return made


def describe_changes(decision: Decision, inputs: SynthesisInput) -> dict[str, Any]:
    """The commit's data about lines: put, with their files; swapped (new to old); repeated; withheld."""
    put = [operation.line for operation in decision.operations]
    swapped = {o.line: o.old for o in decision.operations if isinstance(o, PlannedSwap)}
    lines = [line for one in inputs.shared.values() for line in one.lines]
    dropped = [one.placed for one in decision.dropped]
    # A model may copy existing lines into its answer, which counts nothing (SPEC S-54): a fact must say the line.
    repeated = [find_equal(one.line, lines) for one in dropped if _is_said(one, inputs)]
    again = [*inputs.again, *(line for line in repeated if line is not None and line not in inputs.again)]
    withheld = {one.placed.line: one.placed.path for one in decision.withheld}
    files = {operation.line: operation.path for operation in decision.operations}
    conflicts = {one.placed.line: [one.path, one.line] for one in decision.conflicts}
    return {
        "put": put,
        "files": files,
        "swapped": swapped,
        "again": again,
        "corrected_again": list(inputs.corrected_again),
        "sessions": list(dict.fromkeys(line.session for line in inputs.pending.lines if line.session)),
        "withheld": withheld,
        "conflicts": conflicts,
        "merged": {one.line: one.into for one in decision.merged},
    }


def _is_said(placed: PlacedLine, inputs: SynthesisInput) -> bool:
    """Whether one of the facts that FROM names says the line, or without FROM any new one."""
    numbers = placed.item.sources
    facts = [
        fact for at, fact in enumerate(inputs.numbered, 1) if (at in numbers if numbers else fact.is_new)
    ]
    return any(word_line(placed.line, Sources((fact.text,))) is None for fact in facts)


def find_predecessors(
    decision: Decision, reword: Collection[str], root: Path
) -> dict[str, list[tuple[Path, str]]]:
    """By written line, the places and texts of the lines whose meaning it takes over. `reword`: lines to be reworded."""
    into = {one.into for one in decision.merged}
    found: dict[str, list[tuple[Path, str]]] = {}
    for one in decision.operations:
        if isinstance(one, PlannedSwap) and (one.old in reword or one.line in into):
            found.setdefault(one.line, []).append((root / (one.old_path or one.path), one.old))
    for merged in decision.merged:
        found.setdefault(merged.into, []).append((root / merged.path, merged.line))
    return found
