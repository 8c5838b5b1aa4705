"""`tacitd trust`: show the text that came with a project to its sessions, or never ask about it again."""

from __future__ import annotations

import click

from tacitd.cli.common import connect_or_run, echo_message, get_paths
from tacitd.clock import SystemClock
from tacitd.files.log import Log
from tacitd_handlers.learning.link import find_project
from tacitd_handlers.learning.mirrors.trusted_projects import LOG, TrustedProjects
from tacitd_handlers.learning.store import LEARNED


@click.command(epilog="\b\nExample: tacitd trust ~/work/app\nExample: tacitd trust --undo ~/work/app")
@click.argument("project", metavar="[DIR]", required=False)
@click.option("--undo", is_flag=True, help="Do not show it, and do not ask again.")
def trust(project: str | None, undo: bool) -> None:
    """Show the whole LEARNED.md of a project to its sessions, also what came with the repository.

    Without it, sessions get the lines that tacitd or you wrote on this machine. Read the file first: its text becomes part
    of each session's instructions.
    """
    place = find_project(project)
    log = Log(get_paths().state_dir / "handlers" / "learning" / LOG)
    TrustedProjects(log, SystemClock()).set_trust(place.root, trusted=not undo)
    with connect_or_run() as call:
        call("due", job="mirror", project=str(place.root))
        call("sync")
    shown = "shows only what was written on this machine" if undo else "is shown to its sessions as a whole"
    echo_message(f"{place.root / LEARNED} {shown}")
