"""`tacitd status`: the status document as lines for a person (`status_lines.py`), or as JSON.

The document is made in the engine. `status` must feel instant, so nothing heavy is imported here.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from shutil import get_terminal_size
from typing import Any

import click

from tacitd.cli.common import echo_json, echo_message, echo_text, get_paths, measure_columns
from tacitd.cli.status_lines import StatusLine, list_status_lines
from tacitd.cli.terminal_text import layout_lines, wants_colour
from tacitd.control.client import BusyError, call_daemon
from tacitd.errors import UNAVAILABLE, TacitdError, UnavailableError, UsageError
from tacitd.state.paths import SNAPSHOT, find_file_in_the_way

PING = 0.3
"""Seconds within which a daemon that is well answers."""
EVERY = 1.0
"""Seconds between two looks of `--watch`."""
ERASE_SCREEN, TOP, ERASE_LINE, ERASE_REST = "\x1b[2J", "\x1b[H", "\x1b[K", "\x1b[J"
"""Control sequences: erase all, go to the first line, erase to the end of the line, erase what is below."""


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

    If no daemon runs, or it does not answer, it shows the last status that was saved, and ends with 69.
    """
    places = get_paths()
    if watch:
        _watch_status(places.socket, as_json=as_json, verbose=verbose)
        return 0
    silent: BusyError | None = None
    try:
        call_daemon(places.socket, "ping", timeout=PING)
        document: dict[str, Any] = call_daemon(places.socket, "status")
    except BusyError as error:
        silent, pid = error, read_lock_owner(places.state_dir / "lock")
        document = read_last_status(places.state_dir / SNAPSHOT) | {"state": "no answer", "pid": pid}
    except UnavailableError:
        document = read_last_status(places.state_dir / SNAPSHOT)
    in_the_way = None if document["running"] else find_file_in_the_way(places.state_dir)
    if as_json:
        echo_json(document)
    elif in_the_way is None:
        for text in _layout_status(list_status_lines(document, time.time(), verbose=verbose)):
            echo_text(text)
    if in_the_way is not None:
        echo_message(f"no daemon runs; {in_the_way} is a file where a directory belongs: move it away")
        return UNAVAILABLE
    if silent is not None:
        process = f" (process {document['pid']})" if document["pid"] else ""
        echo_message(f"{silent.what}{process}; this is its last status")
        echo_message(f"hint: {silent.hint}")
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


def read_lock_owner(lock: Path) -> int | None:
    """The id of the process that took the daemon's lock last; None if there is none."""
    try:
        return int(lock.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _layout_status(lines: Iterable[StatusLine]) -> Iterator[str]:
    columns = measure_columns()
    return layout_lines(lines, columns, colours=columns is not None and wants_colour(os.environ))


def _watch_status(socket: Path, *, as_json: bool, verbose: bool) -> None:
    """Print the status once a second until Ctrl-C. Raises UnavailableError if no daemon runs at the beginning, and UsageError
    without a terminal, where it would print without end."""
    if as_json or not sys.stdout.isatty():
        raise UsageError(
            "--watch needs a terminal", "`tacitd log -f --json` prints what happens, for programs"
        )
    call_daemon(socket, "ping")
    shown: list[StatusLine] = []
    with suppress(KeyboardInterrupt):
        echo_text(ERASE_SCREEN, nl=False)
        while True:
            problem = []
            try:
                shown = list_status_lines(call_daemon(socket, "status"), time.time(), verbose=verbose)
            except TacitdError:  # gone, or stopping: then it refuses to answer
                problem = [StatusLine("!", "no daemon runs; waiting for one", "problem")]
            except (KeyError, TypeError, AttributeError):
                problem = [
                    StatusLine("!", "the daemon is of another version: run `tacitd restart`", "problem")
                ]
            rows = get_terminal_size().lines - 1
            texts = list(_layout_status([*problem, *shown]))[:rows]
            echo_text("".join([TOP, *(text + ERASE_LINE + "\n" for text in texts), ERASE_REST]), nl=False)
            time.sleep(EVERY)


def format_status(document: Mapping[str, Any], now: float | None = None) -> Iterator[str]:
    """Given the status document, yield all lines for a person, as in a pipe. `now`: seconds since 1970; None: the time."""
    for line in list_status_lines(document, time.time() if now is None else now, verbose=True):
        yield line.whole
