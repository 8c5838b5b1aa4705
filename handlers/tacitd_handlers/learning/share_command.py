"""`tacitd share` and `tacitd exclude`: where learned lines may be written, and whether git shows them.

The write mode is a choice of the person's, a row that the command writes itself. What git shows and what sessions load follows in a
task of the project (`project_tasks`), with or without a daemon.
"""

from __future__ import annotations

from uuid import uuid4

import click

from tacitd.cli.common import connect_or_run, echo_message, get_paths, resolve_directory
from tacitd.clock import SystemClock
from tacitd.errors import UsageError
from tacitd.events import NoProject, Project
from tacitd.sources.projects import ProjectFinder
from tacitd.work.write_modes import WriteModes
from tacitd_handlers.shared.rule_names import LEARNED


@click.command(epilog="\b\nExample: tacitd share ~/work/app\nExample: tacitd share --undo ~/work/app")
@click.argument("project", metavar="[DIR]", required=False)
@click.option(
    "--undo", is_flag=True, help="Hide what git does not track yet again, and write nothing that it tracks."
)
def share(project: str | None, undo: bool) -> None:
    """Share LEARNED.md and AGENTS.md with a team: remove them from this clone's `.git/info/exclude`.

    Nothing is added or committed. From then on git shows them, and new ones, like any other file. The copies in
    `.claude/rules/` stay private: each clone makes its own.
    """
    place, modes = find_project(project), _write_modes()
    root = place.root
    if modes.get_mode(place) == "off":
        raise UsageError(f"{root} is excluded", f"tacitd exclude --undo {root}")
    if undo:
        modes.set_mode(root, "local")
        left = _follow(root, "hide")
        echo_message(f"{root} is not shared any more: what tacitd makes there is hidden from git again")
        for path in left:
            echo_message(
                f"{path} is tracked by git and stays so; tacitd does not write it any more. `git rm --cached {path}` takes it out"
            )
        return
    modes.set_mode(root, "shared")
    _follow(root, "reveal")
    learned = root / LEARNED
    if learned.exists():
        echo_message(f"git shows {learned} now; add and commit it if you want to")
    else:
        echo_message(f"git will show {learned} once something is learned")


@click.command(
    epilog="\b\nExample: tacitd exclude ~/work/secret\nExample: tacitd exclude --undo ~/work/secret"
)
@click.argument("project", metavar="DIR")
@click.option("--undo", is_flag=True, help="Write in the project again.")
def exclude(project: str, undo: bool) -> None:
    """Stop writing in a project. What was learned there is kept; nothing from it is sent to the model any more."""
    root, modes = find_project(project).root, _write_modes()
    modes.set_mode(root, modes.get_previous(root, "off") if undo else "off")
    echo_message(f"{root} is {'learned from again' if undo else 'excluded'}")
    for left in _follow(root, "follow"):
        echo_message(f"hint: {left} is not tacitd's text alone, so it stays; delete it if you do not want it")


def find_project(given: str | None) -> Project:
    """Return the project that contains a directory (None: the working directory). Raises UsageError if there is none."""
    places = get_paths()
    wanted = resolve_directory(given)
    private = [places.state_dir, places.config_dir]
    place = ProjectFinder(places.home, private=private).find_project(str(wanted))
    if isinstance(place, NoProject):
        raise UsageError(f"{place.cwd} is not a project: {place.reason}", "name a directory that you work in")
    return place


def _follow(root: object, do: str) -> list[str]:
    """Have git's exclude file and the copies follow the choice; return the files that stay."""
    with connect_or_run() as call:
        done = call("task", plugin="learning", key=f"{do} {uuid4()}", project=str(root), data={"do": do})
    return [str(one["text"]) for one in done["made"] if one["did"] == "kept"]


def _write_modes() -> WriteModes:
    return WriteModes(get_paths().state_dir, SystemClock())
