"""`tacitd trust`: show the text that came with a project to its sessions, after a look at it, or never ask about it again."""

from __future__ import annotations

import os
from pathlib import Path

import click

from tacitd.cli.common import connect_or_run, echo_message, escape_output, get_paths
from tacitd.clock import SystemClock
from tacitd.events import Project
from tacitd.files.log import Log
from tacitd.mcp.agent_caller import require_person
from tacitd_handlers.learning.link import find_project
from tacitd_handlers.learning.mirrors.mirror_checks import survey_state
from tacitd_handlers.learning.mirrors.mirror_text import LIMIT
from tacitd_handlers.learning.mirrors.trusted_projects import LOG, TrustedProjects
from tacitd_handlers.learning.store import LEARNED


@click.command(epilog="\b\nExample: tacitd trust ~/work/app\nExample: tacitd trust --remove ~/work/app")
@click.argument("project", metavar="[DIR]", required=False)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--remove", is_flag=True, help="Do not show it to sessions any more, and do not ask again.")
def trust(project: str | None, yes: bool, remove: bool) -> None:
    """Print the text of LEARNED.md that came with a project, and after confirmation show it to the project's sessions.

    Without it, sessions get the lines that tacitd or you wrote on this machine. The text becomes part of each session's
    instructions, also what git brings later. It belongs to this repository: another one at the same path is not trusted.
    """
    if not remove:
        require_person(os.environ, "trusting what came with a project")
    place = find_project(project)
    trusted = not remove
    if trusted:
        shown = _echo_withheld(place, get_paths().state_dir)
        what = "Show it" if shown else f"Show what git brings into {LEARNED} later"
        trusted = yes or click.confirm(f"{what} to every session in {place.root}?", err=True)
    log = Log(get_paths().state_dir / "handlers" / "learning" / LOG)
    TrustedProjects(log, SystemClock()).set_trust(place, trusted=trusted)
    with connect_or_run() as call:
        call("due", job="mirror", project=str(place.root))
        call("sync")
    shows = (
        "is shown to its sessions as a whole" if trusted else "shows only what was written on this machine"
    )
    echo_message(f"{place.root / LEARNED} {shows}")


def _echo_withheld(place: Project, state: Path) -> bool:
    """Print the lines that sessions do not get without trust. Returns whether there are any."""
    texts = _list_withheld(place, state)
    left, any_shown = LIMIT, False
    for path, lines in texts.items():
        if lines:
            any_shown = True
            echo_message(
                f"{path} came with the project. Sessions would load this text of it as instructions:"
            )
        for n, line in enumerate(lines):
            left -= len(line) + 1
            if left < 0:
                echo_message(f"(and {len(lines) - n} more lines: read the file)")
                break
            click.echo(escape_output(line))
    if not any_shown:
        echo_message(f"{place.root / LEARNED} has no text that came with the project")
    return any_shown


def _list_withheld(place: Project, state: Path) -> dict[Path, list[str]]:
    """By file, the lines that sessions do not get without trust. A linked work tree may have a file of its own."""
    survey = survey_state(place, state, trusted=False)
    mains = {target.source: target for target in survey.targets if not target.folder}
    return {
        path: [line for unit in survey.list_withheld(target) for line in unit.lines]
        for path, target in mains.items()
    }
