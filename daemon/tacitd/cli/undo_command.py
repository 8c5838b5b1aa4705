"""`tacitd undo`: takes back what tacitd changed in a project's files. It runs in the daemon, which is the only writer."""

from __future__ import annotations

import click

from tacitd.cli.common import connect_or_run, echo_json, echo_message
from tacitd.cli.history_commands import find_change_id, format_change, list_changes
from tacitd.errors import UsageError


@click.command(epilog="\b\nExample: tacitd undo 20261122T061502-3fa2c1 --dry-run")
@click.argument("change", metavar="ID")
@click.option("--dry-run", is_flag=True, help="Show what would change and write nothing.")
@click.option("--json", "as_json", is_flag=True, help="As JSON: a list with the change that the undo made.")
def undo(change: str, dry_run: bool, as_json: bool) -> None:
    """Undo one change. Its lines are not written again unless you write them yourself; the undo can be undone too.

    A line that was changed since stays, and is named; it is refused if that is all of them. The first letters of ID suffice, and so do
    the last; `tacitd history` lists them.
    """
    every = list_changes(None)
    id = find_change_id(change, [each["id"] for each in every])
    if hint := next((each["undo"] for each in every if each["id"] == id and each.get("undo")), ""):
        raise UsageError(f"{id} is not a change of a project's file", hint)
    with connect_or_run() as call:
        done = call("undo", id=id, dry_run=dry_run)
    if as_json:
        echo_json([done])
        return
    for line in format_change(done, with_root=True):
        click.echo(line)
    if dry_run:
        echo_message("nothing was written; this is what it would do")
    else:
        for text in done.get("left", ()):
            echo_message(f"not undone, because somebody removed or changed it since: {text}")
        echo_message(f"{id} is undone; `tacitd undo {done['id']}` restores it")
