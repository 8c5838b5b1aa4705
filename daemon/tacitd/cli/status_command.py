"""`tacitd status`: the status document as lines for a person (`status_lines.py`), or as JSON.

The document is made in the engine. `status` must feel instant, so nothing heavy is imported here.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from tacitd.cli.common import echo_json, echo_message, echo_text, get_paths, measure_columns
from tacitd.cli.status_lines import list_status_lines
from tacitd.cli.terminal_text import layout_lines, wants_colour
from tacitd.control.client import BusyError, call_daemon
from tacitd.errors import UNAVAILABLE, UnavailableError, UsageError
from tacitd.state.paths import SNAPSHOT, find_file_in_the_way


@click.command(
    epilog="\b\nExample: tacitd status --watch\nExample: tacitd status --json | jq .budget",
)
@click.option(
    "-v", "--verbose", is_flag=True, help="Print everything: all projects, and all lines of plugins."
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the whole document; docs/socket.md describes it."
)
@click.option("--watch", is_flag=True, help="Keep it on the terminal, up to date, until Ctrl-C.")
def status(verbose: bool, as_json: bool, watch: bool) -> int:
    """Show what is wrong, what tacitd does and waits for, what it learned today, and what that cost, on one screen.

    If no daemon runs, it shows the last status that was saved, and ends with 69.
    """
    places = get_paths()
    if watch:
        _watch_terminal(places.socket, as_json=as_json)
        return 0
    try:
        document: dict[str, Any] = call_daemon(places.socket, "status")
    except BusyError:
        raise  # a daemon runs, so the saved status is out of date
    except UnavailableError:
        document = read_last_status(places.state_dir / SNAPSHOT)
    in_the_way = None if document["running"] else find_file_in_the_way(places.state_dir)
    if as_json:
        echo_json(document)
    elif in_the_way is None:
        columns = measure_columns()
        colours = columns is not None and wants_colour(os.environ)
        lines = list_status_lines(document, time.time(), verbose=verbose)
        for text in layout_lines(lines, columns, colours=colours):
            echo_text(text)
    if in_the_way is not None:
        echo_message(f"no daemon runs; {in_the_way} is a file where a directory belongs: move it away")
        return UNAVAILABLE
    if not document["running"]:
        echo_message("no daemon runs; `tacitd run` starts one")
        return UNAVAILABLE
    return 0


def read_last_status(path: Path) -> dict[str, Any]:
    """The saved status of the last daemon, with `running` false; a document without `version` if there is none."""
    never: dict[str, Any] = {"schema": 1}
    gone = {"running": False, "pid": None, "state": "stopped"}
    try:
        document: dict[str, Any] = {**json.loads(path.read_bytes()), **gone}
        list_status_lines(document, 0.0, verbose=True)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return never | gone  # missing, damaged, or of another version
    return document


def _watch_terminal(socket: Path, *, as_json: bool) -> None:
    """Watch the status. Raises UsageError without a terminal, where it would print without end."""
    if as_json or not sys.stdout.isatty():
        raise UsageError(
            "--watch needs a terminal", "`tacitd log -f --json` prints what happens, for programs"
        )
    from tacitd.cli.watch_loop import watch_status

    watch_status(socket)


def format_status(document: Mapping[str, Any], now: float | None = None) -> Iterator[str]:
    """Given the status document, yield all lines for a person, as in a pipe. `now`: seconds since 1970; None: the time."""
    for line in list_status_lines(document, time.time() if now is None else now, verbose=True):
        yield line.whole
