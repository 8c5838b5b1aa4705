"""The operations that keep a file in order when a transaction changes it anyway: never a change of their own (S-28)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tacitd.events import Project
from tacitd.files.operations import ArrangeLines, LineOperation, Operation, PutLine, SwapLine, apply_all
from tacitd.files.transaction import History
from tacitd.text.markdown import lines_of
from tacitd.text.markdown_text import normalise_heading
from tacitd_handlers.learning.line_order import LineAge, find_placed, fold_layout, order_lines
from tacitd_handlers.learning.project_files import read_shared
from tacitd_handlers.learning.removals import find_written_lines
from tacitd_handlers.learning.state import LearningState


def build_arrangements(
    project: Project,
    operations: Sequence[Operation],
    history: History,
    state: LearningState,
    origins: Mapping[str, Mapping[str, Any]],
    now: float,
) -> list[Operation]:
    """Return an operation for each Markdown file among the operations whose lines are not in order afterwards.

    `origins`: of the lines that are written, as `describe_origins` returns them. `now`: seconds since 1970, UTC. Raises
    FileRefusedError.
    """
    made: list[Operation] = []
    paths = dict.fromkeys(each.path for each in operations if isinstance(each, LineOperation))
    written = find_written_lines(history, project)
    for path in paths:
        own = [each for each in operations if each.path == path]
        data = read_shared(path, project.root).data
        ours = written.get(path.relative_to(project.root).as_posix(), {})
        after, _ = apply_all(own, data)
        placed = find_placed_lines(project, path, data, history)
        new = {each.line for each in own if isinstance(each, PutLine)}
        new |= {each.new for each in own if isinstance(each, SwapLine) and each.old not in placed}
        movable = [
            line for _, line in lines_of(after) if line in new or (line in ours and line not in placed)
        ]
        olds = {each.new: each.old for each in own if isinstance(each, SwapLine)}
        ages = {
            line: _age(line, olds.get(line, line), state, project.root, origins, ours, now)
            for line in movable
        }
        order = order_lines(movable, ages)
        operation = ArrangeLines(path, "\n".join(order), "\n".join(movable))
        if operation.apply(after)[0] != after:
            made.append(operation)
    return made


def find_placed_lines(project: Project, path: Path, data: bytes | None, history: History) -> set[str]:
    """The lines of ours in a file that a person moved."""
    ours = find_written_lines(history, project).get(path.relative_to(project.root).as_posix(), {})
    layout = fold_layout(history.list_transactions(project.root), path)
    return find_placed(layout, [pair for pair in lines_of(data) if pair[1] in ours])


def find_own_section(project: Project, path: Path, line: str, history: History) -> str:
    """The heading above a line if tacitd made it, so that it goes with the section's last line; otherwise ""."""
    made = {
        normalise_heading(effect.heading)
        for done in history.list_transactions(project.root)
        for operation, effect in zip(done.operations, done.effects, strict=True)
        if operation.path == path and effect.did == "put" and effect.heading
    }
    found = [heading for heading, text in lines_of(read_shared(path, project.root).data) if text == line]
    return next((heading for heading in found if normalise_heading(heading) in made), "")


def _age(
    line: str,
    old: str,
    state: LearningState,
    root: Path,
    origins: Mapping[str, Mapping[str, Any]],
    ours: Mapping[str, float],
    now: float,
) -> LineAge:
    """The age of a line. `old`: the one that it replaces, whose confidence it continues; otherwise the line itself."""
    known = state.get_confidences(root).get(old)
    corrections = int(origins.get(line, {}).get("corrections", 0)) + (known.corrections if known else 0)
    return LineAge(corrections, known.first_seen if known else ours.get(old, now))
