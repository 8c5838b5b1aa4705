"""What a person's commands have done in a project: tasks of the kind `command`, by `do` of their data; and the purge of words."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from tacitd.contract import Cause, Done, Edits, FileChange, Leaf, Task, Tools, Tx
from tacitd.errors import FileRefusedError, UsageError
from tacitd.events import Project
from tacitd.files.purge import blank_in_place
from tacitd.handler import Notice
from tacitd_handlers.learning import hiding
from tacitd_handlers.learning.hiding import hide
from tacitd_handlers.learning.known import SUMMARY, init_project
from tacitd_handlers.learning.learned_rows import find_line, make_line_id
from tacitd_handlers.learning.project_rules import queue_copies, queue_project, write_copies
from tacitd_handlers.learning.sources import (
    Place,
    find_leaf,
    find_root_file,
    is_tracked_source,
    list_paths,
    make_format,
    open_folders,
    person_root,
)
from tacitd_handlers.shared.rule_names import AGENTS, LEARNED
from tacitd_handlers.shared.safe_read import leads_out

RAW = "tmp/learning-raw.jsonl"


def run_command(task: Task, tools: Tools) -> Done:
    """Do what `init`, `share`, `exclude`, `trust` and `move` ask. Raises UsageError, FileRefusedError, OSError."""
    match task.data.get("do"):
        case "init":
            return init_project(task, tools)
        case "move":
            return move_line(task, tools)
        case "follow":
            return write_copies(task, tools)
        case "reveal" | "hide" as do:
            return _follow_choice(task, tools, do)
        case do:
            raise UsageError(f"learning has no command {do!r}")


def _follow_choice(task: Task, tools: Tools, do: str) -> Done:
    """Let git show the project's files, or hide those that it does not track; the copies follow. The notices name files that stay."""
    project = task.project
    assert isinstance(project, Project)
    paths = _list_files(project, tools)
    stays = list[Path]()
    if do == "reveal":
        hiding.reveal(project, paths)
    elif do == "hide" and project.git:
        stays = [path for path in paths if path.exists() and is_tracked_source(project, path)]
        patterns = [hiding.pattern_of(one.relative_to(project.root)) for one in paths if one not in stays]
        if why := hiding.list_patterns(project, patterns):
            raise FileRefusedError(f"what tacitd makes in {project.root} cannot be hidden: {why}")
    done = write_copies(task, tools)
    return replace(done, notices=[*done.notices, *(Notice("kept", str(path)) for path in stays)])


def _list_files(project: Project, tools: Tools) -> list[Path]:
    """LEARNED.md and the folders' AGENTS.md with lines of tacitd; not those in the client's directory."""
    found = list_paths(tools.rows, {}, project.root)
    return [path for path in found if ".claude" not in path.relative_to(project.root).parts] or [
        project.root / LEARNED
    ]


def move_line(task: Task, tools: Tools) -> Done:
    """Move a line. Raises UsageError."""
    line, now = find_line(tools.rows, str(task.data["id"])), tools.clock.now()
    if line is None or line.state != "present":
        raise UsageError(f"no learned line has the id {task.data['id']}", "`tacitd learned` shows the ids")
    root, path = _find_target(task, tools)
    if str(path) == line.path:
        raise UsageError(f"the line is in {path} already")
    if isinstance(task.project, Project) and (why := hide(task.project, [path], tools)):
        raise UsageError(f"{path} is not written, because git would show it: {why}")

    def take(there: Mapping[Leaf, str], edits: Edits) -> dict[Leaf, str | None]:
        leaf = find_leaf(there, line.heading, line.text)
        return {leaf: None} if leaf in there else {}

    def put(there: Mapping[Leaf, str], edits: Edits) -> dict[Leaf, str | None]:
        return {find_leaf(there, line.heading, line.text): line.text}

    def apply(tx: Tx) -> None:
        id = make_line_id(str(path), line.text)
        tx.execute("DELETE FROM learning_line WHERE id = ?", id)
        tx.execute(
            "UPDATE learning_line SET id = ?, path = ?, project = ? WHERE number = ?",
            id,
            str(path),
            task.project_number,
            line.number,
        )
        queue_copies(tx, task, now)
        for before, common in tx.rows("SELECT root, common FROM project WHERE number = ?", line.project):
            queue_project(tx, Project(Path(before), git=common is not None), line.project, now)

    cause = Cause(f"move {line.id} {now}", "person", f"tacitd move {line.id}")
    source = Path(line.path)
    changes = (
        FileChange(source, make_format(source, source.parent), take, cause),
        FileChange(path, make_format(path, root), put, cause, theirs=line.by == "person"),
    )
    return Done(apply, changes, notices=(Notice("moved", line.text, str(path)),))


def _find_target(task: Task, tools: Tools) -> tuple[Path, Path]:
    """The root of the place that a line is moved to, and the file there."""
    if not isinstance(task.project, Project):
        if task.data.get("directory"):
            raise UsageError(f"{task.data['directory']} is not a project")
        return person_root(os.environ), person_root(os.environ) / LEARNED
    project, directory = task.project, Path(str(task.data["directory"]))
    mode = tools.write_mode(project)
    if mode == "off":
        raise UsageError(f"{project.root} is excluded", f"`tacitd exclude --undo {project.root}`")
    place = Place(task.project_number, project.root, project, is_local=mode == "local")
    if not directory.is_relative_to(project.root) or directory == project.root:
        return project.root, project.root / find_root_file(place)
    folder = directory.relative_to(project.root).as_posix()
    if not open_folders(place, [folder]):
        raise UsageError(f"{directory} cannot have an AGENTS.md of tacitd's", f"`--here {project.root}`")
    return project.root, directory / AGENTS


# --- purge


def purge_words(task: Task, tools: Tools) -> Done:
    """Blank forgotten words in what tacitd makes in the `tmp/` of projects. A file that git tracks is the person's. Raises OSError."""
    texts = [str(text) for text in task.data.get("texts", ())]
    changed = [path for path in _list_temporary(tools) if blank_in_place(path, texts)]
    return Done(notices=[Notice("purged", str(path)) for path in changed])


def _list_temporary(tools: Tools) -> Sequence[Path]:
    found = list[Path]()
    for (root,) in tools.rows("SELECT root FROM project"):
        project = tools.find_project(root)
        if not isinstance(project, Project):
            continue
        for name in (RAW, SUMMARY):
            path = project.root / name
            if path.is_file() and not leads_out(path, project.root) and not is_tracked_source(project, path):
                found.append(path)
    return found
