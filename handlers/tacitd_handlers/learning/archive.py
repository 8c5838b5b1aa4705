"""The archive: a transaction of its own takes the surplus lines of a file, and the commit keeps them (S-54).

`tacitd undo` brings them back, and so does saying one again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from tacitd.events import Project
from tacitd.files.operations import Operation, TakeLine
from tacitd.files.transaction import History
from tacitd.files.transaction_records import UNDONE
from tacitd_handlers.learning.arrangement import find_own_section, find_placed_lines
from tacitd_handlers.learning.confidence import current_confidence
from tacitd_handlers.learning.line_budget import BudgetLine, choose_surplus
from tacitd_handlers.learning.project_files import read_shared
from tacitd_handlers.learning.removals import find_written_lines
from tacitd_handlers.learning.settings import LearningSettings
from tacitd_handlers.learning.stage2.project_view import ROOT_FILES
from tacitd_handlers.learning.state import LearningState

ARCHIVE = "archive"
"""What the transaction's cause names."""


def limit_of(name: str, settings: LearningSettings) -> int:
    """The maximum number of learned lines in a file, by its path relative to the project."""
    return settings.max_lines if name in ROOT_FILES else settings.max_module_lines


def list_crowded(
    project: Project, names: Iterable[str], history: History, settings: LearningSettings
) -> dict[str, tuple[int, int]]:
    """Return (number, limit) of the learned lines of each file that has more than its limit. Raises FileRefusedError."""
    written = find_written_lines(history, project)
    found: dict[str, tuple[int, int]] = {}
    for name in names:
        there = read_shared(project.root / name, project.root).lines
        count, limit = sum(line in written.get(name, ()) for line in there), limit_of(name, settings)
        if count > limit:
            found[name] = (count, limit)
    return found


def find_unrecorded(project: Project, state: LearningState, history: History) -> dict[str, str]:
    """Return the archived lines that no commit names yet, with their file: those of now, and those before a crash."""
    known = state.archived.get(project.root, ())
    return {
        line: path.relative_to(project.root).as_posix()
        for (path, line), past in history.list_lines(project.root).items()
        if past.taken_at is not None and past.cause.get("what") == ARCHIVE and line not in known
    }


def plan_archive(
    project: Project,
    paths: Iterable[Path],
    state: LearningState,
    history: History,
    settings: LearningSettings,
    said_now: Collection[str],
    now: float,
) -> list[Operation]:
    """Return the operations that take the surplus lines of these files.

    `said_now`: lines that were said again just now. `now`: seconds since 1970, UTC. Raises FileRefusedError.
    """
    made: list[Operation] = []
    pasts = history.list_lines(project.root)
    written = find_written_lines(history, project)
    confidences = state.get_confidences(project.root)
    for path in dict.fromkeys(paths):
        name = path.relative_to(project.root).as_posix()
        shared = read_shared(path, project.root)
        moved = find_placed_lines(project, path, shared.data, history)
        lines: list[BudgetLine] = []
        for line in shared.lines:
            put_at = written.get(name, {}).get(line)
            if put_at is None:
                continue
            known = confidences.get(line)
            by_person = line in moved or line in said_now or UNDONE in pasts[path, line].cause
            lines.append(
                BudgetLine(
                    line,
                    current_confidence(known, now) if known else 0.0,
                    known.seen_count if known else 1,
                    max(put_at, known.last_seen) if known else put_at,
                    by_person,
                )
            )
        surplus = choose_surplus(lines, limit_of(name, settings), now)
        made += [TakeLine(path, line, find_own_section(project, path, line, history)) for line in surplus]
    return made
