"""What a person's commands have done in a project: tasks of the kind `command`, by `do` of their data; and the purge of words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from tacitd.contract import Done, Task, Tools
from tacitd.errors import FileRefusedError, UsageError
from tacitd.events import Project
from tacitd.files.purge import blank_in_place
from tacitd.handler import Notice
from tacitd_handlers.learning import hiding
from tacitd_handlers.learning.known import SUMMARY, init_project
from tacitd_handlers.learning.move_command import move_line
from tacitd_handlers.learning.project_rules import write_copies
from tacitd_handlers.learning.sources import is_tracked_source, list_paths
from tacitd_handlers.shared.rule_names import LEARNED
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
