"""`tacitd trust`: show the text that stood in LEARNED.md before tacitd wrote there to the project's sessions, after a look at it."""

from __future__ import annotations

import os
from pathlib import Path

import click

from tacitd.cli.common import connect_or_run, echo_message, escape_output, get_paths, resolve_directory
from tacitd.clock import SystemClock
from tacitd.errors import FileRefusedError
from tacitd.files.git import find_project_root
from tacitd.mcp.agent_caller import require_person
from tacitd.session_context.plugin_view import open_rows
from tacitd.state.person_choices import Choice, choose
from tacitd.store import Store
from tacitd_handlers.learning import make_plugin
from tacitd_handlers.learning.learned_rows import read_lines_of
from tacitd_handlers.learning.rule_text import COPY, LIMIT
from tacitd_handlers.learning.sources import read_checked
from tacitd_handlers.shared.rule_names import LEARNED


@click.command(epilog="\b\nExample: tacitd trust ~/work/app\nExample: tacitd trust --remove ~/work/app")
@click.argument("project", metavar="[DIR]", required=False)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--remove", is_flag=True, help="Show sessions only the lines that tacitd wrote.")
def trust(project: str | None, yes: bool, remove: bool) -> None:
    """Print the text of LEARNED.md that tacitd did not write, and after confirmation show it to the project's sessions.

    A LEARNED.md that was there before tacitd first wrote in the project may be a stranger's: sessions get only tacitd's lines of it.
    After this they load the whole file as instructions, also what git brings later.
    """
    if not remove:
        require_person(os.environ, "trusting what came with a project")
    root = find_project_root(resolve_directory(project))
    trusted = not remove
    if trusted:
        shown = _echo_other_text(root)
        what = "Show it" if shown else f"Show what git brings into {LEARNED} later"
        trusted = yes or click.confirm(f"{what} to every session in {root}?", err=True)
    clock, state = SystemClock(), get_paths().state_dir
    store = Store.open(state, clock, owner=False)
    try:
        with store.write() as tx:
            choose(
                tx,
                state,
                Choice("project", str(root), "trust", "yes" if trusted else "no", clock.now()),
            )
    finally:
        store.close()
    with connect_or_run() as call:
        call("task", plugin="learning", key=f"trust {root}", project=str(root), data={"do": "follow"})
    shows = "is shown to its sessions as a whole" if trusted else "shows its sessions only what tacitd wrote"
    echo_message(f"{root / LEARNED} {shows}")


def _echo_other_text(root: Path) -> bool:
    """Print what sessions do not get without trust. Returns whether there is any."""
    path = root / LEARNED
    with open_rows(make_plugin(), get_paths().state_dir) as rows:
        own = {line.text for line in read_lines_of(rows, str(path))}
    try:
        data = read_checked(path, root)
    except FileRefusedError as error:
        echo_message(f"{error.what}")
        return False
    lines = [text for text in COPY.read_leaves(data or b"").values() if text not in own]
    if not lines:
        echo_message(f"{path} has no text but tacitd's")
        return False
    echo_message(f"{path} has text that tacitd did not write. Sessions would load it as instructions:")
    left = LIMIT
    for number, line in enumerate(lines):
        left -= len(line) + 1
        if left < 0:
            echo_message(f"(and {len(lines) - number} more lines: read the file)")
            break
        click.echo(escape_output(line))
    return True
