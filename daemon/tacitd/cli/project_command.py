"""`tacitd project`: what a person says of projects. It needs no daemon; one that runs finds it with its next question."""

from __future__ import annotations

import os
from pathlib import Path

import click

from tacitd.cli.common import echo_json, echo_message, get_paths
from tacitd.cli.program import OrderedGroup
from tacitd.clock import SystemClock
from tacitd.errors import UsageError
from tacitd.state.person_choices import Choice, choose, withdraw
from tacitd.store import Store, open_readonly
from tacitd.work.project_rows import list_aliases


@click.group(cls=OrderedGroup, epilog="\b\nExample: tacitd project alias /workspaces/app ~/app")
def project() -> None:
    """Say which project a directory of a container, or of another machine, is here."""


@project.command(
    epilog="\b\nExample: tacitd project alias /workspaces/app ~/app\nExample: tacitd project alias --remove /workspaces/app"
)
@click.argument("name", metavar="[DIR", required=False)
@click.argument("place", metavar="HERE]", required=False)
@click.option("--remove", is_flag=True, help="Forget what was said of DIR.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def alias(name: str | None, place: str | None, remove: bool, as_json: bool) -> None:
    """Say that sessions which name DIR work in the directory HERE. Without arguments, list what was said.

    For a container that shares your ~/.claude: it names its own directory, which does not exist here. What was typed there waits, and
    is learned in the project of HERE. The choice is kept over a restart.
    """
    if name is None:
        _print_aliases(as_json)
        return
    name = name.rstrip("/")
    if remove == (place is not None):
        raise UsageError("give the directory here, or --remove", "see `tacitd project alias --help`")
    if place is None:
        if not _store(Choice("project", name, "alias"), remove=True):
            raise UsageError(f"nothing was said of {name}", "`tacitd project alias` lists what was said")
        echo_message(f"{name}: forgotten")
        return
    here = Path(os.path.realpath(Path(place).expanduser()))
    if not name.startswith("/"):
        raise UsageError(
            f"{name} is not an absolute path", "name it as the sessions do, such as /workspaces/app"
        )
    if os.path.lexists(name):
        raise UsageError(f"{name} exists here", "what is typed there belongs to it")
    if not here.is_dir():
        raise UsageError(f"{here} is no directory", "name the directory of the project on this machine")
    _store(Choice("project", name, "alias", str(here), SystemClock().now()), remove=False)
    echo_message(f"{name} is {here}; what was typed there is learned within a minute, if a daemon runs")


def _print_aliases(as_json: bool) -> None:
    store, found = open_readonly(get_paths().state_dir), dict[str, str]()
    if store is not None:
        with store:
            found = list_aliases(store.rows)
    if as_json:
        echo_json(found)
        return
    for name, place in found.items():
        click.echo(f"{name} -> {place}")


def _store(choice: Choice, *, remove: bool) -> bool:
    """Store or withdraw a choice; return whether something changed. Raises UnwritableError."""
    state_dir = get_paths().state_dir
    store = Store.open(state_dir, SystemClock(), owner=False)
    try:
        with store.write() as tx:
            if remove:
                return withdraw(tx, state_dir, choice)
            choose(tx, state_dir, choice)
            return True
    finally:
        store.close()
