"""`tacitd move`: move a learned line to the person's own file for all projects, or to a project or one of its folders."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from tacitd.contract import Done, Edits, Leaf, Task, Tools, Tx


@click.command(
    epilog="\b\nExample: tacitd move 3fa1b2c4 --everywhere\nExample: tacitd move 3fa1b2c4 --here src/api"
)
@click.argument("line", metavar="ID")
@click.option("--everywhere", is_flag=True, help="To ~/.agents/LEARNED.md: it holds in all projects.")
@click.option(
    "--here", metavar="DIR", help="To the LEARNED.md of a project, or the AGENTS.md of a folder in it."
)
def move(line: str, everywhere: bool, here: str | None) -> None:
    """Move a learned line to where it holds: to all projects, to one project, or to a folder.

    `tacitd learned` shows the ids. What it was learned from, and how often it was said, goes with it.
    """
    from tacitd.cli.common import connect_or_run, echo_message, resolve_directory
    from tacitd.errors import UsageError

    if everywhere == bool(here):
        raise UsageError("say where it holds", "`--everywhere`, or `--here DIR`")
    place = str(resolve_directory(here)) if here else ""
    with connect_or_run() as call:
        data = {"do": "move", "id": line, "directory": place}
        made = call("task", plugin="learning", key=f"move {line}", project=place, data=data)["made"]
    echo_message(f"{made[0]['text']!r} is in {made[0]['where']} now")


def move_line(task: Task, tools: Tools) -> Done:
    """Do it. Raises UsageError."""
    from tacitd.contract import Cause, Done, FileChange
    from tacitd.errors import UsageError
    from tacitd.events import Project
    from tacitd.handler import Notice
    from tacitd_handlers.learning.hiding import hide
    from tacitd_handlers.learning.learned_rows import find_line, make_line_id
    from tacitd_handlers.learning.project_rules import queue_copies, queue_project
    from tacitd_handlers.learning.sources import find_leaf, make_format

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
    """The root of the place, and the file there."""
    from tacitd.errors import UsageError
    from tacitd.events import Project
    from tacitd_handlers.learning.sources import (
        Place,
        find_root_file,
        open_folders,
        person_root,
    )
    from tacitd_handlers.shared.rule_names import AGENTS, LEARNED

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
