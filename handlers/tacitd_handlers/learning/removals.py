"""Looking at our lines again: which a person took out, which came back (SPEC S-28).

A look is kept with the commit it stands in, so that what is judged is always a passage from one look to the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tacitd.errors import FileRefusedError
from tacitd.events import Project
from tacitd.files.git import read_head
from tacitd.files.transaction import History
from tacitd_handlers.learning.project_files import git_view, read_shared
from tacitd_handlers.learning.state import LearningState, LineSnapshot
from tacitd_handlers.learning.tombstones import judge_removals


def find_written_lines(history: History, project: Project) -> dict[str, dict[str, float]]:
    """Every line that tacitd wrote and did not take back, by file: with when (seconds since 1970, UTC)."""
    found: dict[str, dict[str, float]] = {}
    for (path, line), past in history.list_lines(project.root).items():
        if past.put_at is not None and past.taken_at is None and path.is_relative_to(project.root):
            found.setdefault(path.relative_to(project.root).as_posix(), {})[line] = past.put_at
    return found


def check_removals(project: Project, state: LearningState, history: History, now: float) -> dict[str, Any]:
    """Given what was seen last, return the data of a `tombstone` commit; {} where nothing is to be kept."""
    removed: dict[str, list[str]] = {}
    lifted: dict[str, list[str]] = {}
    looks: dict[str, Any] = {}
    known_head = read_head(project.root) if project.git else ""
    for name, lines in find_written_lines(history, project).items():
        verdict, seen = _judge(project, state, name, lines, now)
        looks[name] = seen
        if verdict[0]:
            removed[name] = verdict[0]
        if verdict[1]:
            lifted[name] = verdict[1]
    if not looks:
        return {}
    made = {"removed": removed, "lifted": lifted, "looks": looks, "head": known_head}
    return {"kind": "tombstone", "project": str(project.root)} | made


def is_news(data: Mapping[str, Any], project: Project, state: LearningState) -> bool:
    """Whether a look says anything that the state does not know yet."""
    if not data:
        return False
    before = state.snapshots.get(project.root, {})
    same = all(
        name in before and tuple(seen["lines"]) == before[name].lines for name, seen in data["looks"].items()
    )
    head_moved = bool(data["head"]) and data["head"] != state.heads.get(project.root)
    return bool(data["removed"] or data["lifted"] or head_moved or not same)


def _judge(
    project: Project, state: LearningState, name: str, lines: Mapping[str, float], now: float
) -> tuple[tuple[list[str], list[str]], dict[str, Any]]:
    before = state.snapshots.get(project.root, {}).get(name, LineSnapshot((), 0.0))
    try:
        shared = read_shared(project.root / Path(name), project.root)
    except FileRefusedError:  # nothing is concluded from a file that cannot be read
        return ([], []), {"lines": list(before.lines), "at": before.at}
    stones = sorted(state.tombstones.get(project.root, {}).get(name, set()))
    there = None if shared.data is None else shared.lines
    verdict = judge_removals(lines, before.lines, before.at, there, stones, None)
    if verdict.removed and project.git:  # git is only asked where there is something to ask
        seen_by_git = git_view(project, name, shared.data, state.heads.get(project.root))
        verdict = judge_removals(lines, before.lines, before.at, there, stones, seen_by_git)
    # Only our own lines are remembered: what else a person keeps in the file is theirs.
    kept = [line for line in shared.lines if line in lines]
    return (list(verdict.removed), list(verdict.lifted)), {"lines": kept, "at": now}
