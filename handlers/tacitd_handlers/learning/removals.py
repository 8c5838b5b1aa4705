"""Check our lines for removals: which ones the user removed, and which came back (SPEC S-28).

What a check saw is kept in a commit, so each check compares a file with the previous check. The rules are in
`tombstones`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tacitd.errors import FileRefusedError
from tacitd.events import Project
from tacitd.files.git import read_head
from tacitd.files.transaction import History
from tacitd.files.transaction_records import UNDONE
from tacitd_handlers.learning.inherited_origins import is_by_person
from tacitd_handlers.learning.project_files import git_view, read_shared
from tacitd_handlers.learning.state import LearningState, LineSnapshot
from tacitd_handlers.learning.tombstones import judge_removals
from tacitd_handlers.shared.equality import find_equal


def find_written_lines(history: History, project: Project) -> dict[str, dict[str, float]]:
    """Return every line that tacitd wrote for itself and did not undo, by file relative to the project.

    The values are the times of writing in seconds since 1970, UTC.
    """
    found: dict[str, dict[str, float]] = {}
    for (path, line), past in history.list_lines(project.root).items():
        ours = past.put_at is not None and past.taken_at is None and not is_by_person(past.origin)
        if ours and past.put_at is not None and path.is_relative_to(project.root):
            found.setdefault(path.relative_to(project.root).as_posix(), {})[line] = past.put_at
    return found


def find_undone_lines(history: History, project: Project) -> dict[str, dict[str, float]]:
    """Return every line that a person took back with `tacitd undo` or deleted in a mirror, as `find_written_lines` does.

    The values are the times of that.
    """
    found: dict[str, dict[str, float]] = {}
    for (path, line), past in history.list_lines(project.root).items():
        by_person = UNDONE in past.cause or is_by_person(past.cause)
        if past.taken_at is not None and by_person and path.is_relative_to(project.root):
            found.setdefault(path.relative_to(project.root).as_posix(), {})[line] = past.taken_at
    return found


def check_removals(project: Project, state: LearningState, history: History, now: float) -> dict[str, Any]:
    """Compare our lines with the last check, and return the data of a `tombstone` commit; {} if we wrote no lines.

    `now`: seconds since 1970, UTC.
    """
    removed: dict[str, list[str]] = {}
    lifted: dict[str, list[str]] = {}
    looks: dict[str, Any] = {}
    known_head = read_head(project.root) if project.git else ""
    written, undone = find_written_lines(history, project), find_undone_lines(history, project)
    for name in dict.fromkeys((*written, *undone)):
        verdict, seen = _judge(project, state, name, written.get(name, {}), undone.get(name, {}), now)
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
    """Whether the result of `check_removals` differs from the state, so that a commit is needed."""
    if not data:
        return False
    before = state.snapshots.get(project.root, {})
    same = all(
        name in before and tuple(seen["lines"]) == before[name].lines for name, seen in data["looks"].items()
    )
    head_moved = bool(data["head"]) and data["head"] != state.heads.get(project.root)
    return bool(data["removed"] or data["lifted"] or head_moved or not same)


def _judge(
    project: Project,
    state: LearningState,
    name: str,
    lines: Mapping[str, float],
    undone: Mapping[str, float],
    now: float,
) -> tuple[tuple[list[str], list[str]], dict[str, Any]]:
    before = state.snapshots.get(project.root, {}).get(name, LineSnapshot((), 0.0))
    try:
        shared = read_shared(project.root / Path(name), project.root)
    except FileRefusedError:  # a file that cannot be read proves nothing, so the last check stays valid
        return ([], []), {"lines": list(before.lines), "at": before.at}
    tombstones = sorted(state.tombstones.get(project.root, {}).get(name, set()))
    current = None if shared.data is None else shared.lines
    verdict = judge_removals(lines, before.lines, before.at, current, tombstones, None)
    if verdict.removed and project.git:  # asking git is slow, so it is asked only if a line is missing
        seen_by_git = git_view(project, name, shared.data, state.heads.get(project.root))
        verdict = judge_removals(lines, before.lines, before.at, current, tombstones, seen_by_git)
    # Only our own lines are remembered. Other lines in the file are the user's and are not stored.
    kept = [line for line in shared.lines if line in lines]
    # Trigger: a person undid a line. Why: git may know the file without the line, and would then leave the question open.
    # Outcome: the person's command decides, once; a line that is there again, and is removed by git later, is git's.
    taken_back = [
        line
        for line, at in undone.items()
        if at >= before.at and line not in tombstones and find_equal(line, shared.lines) is None
    ]
    removed = list(dict.fromkeys((*verdict.removed, *taken_back)))
    return (removed, list(verdict.lifted)), {"lines": kept, "at": now}
