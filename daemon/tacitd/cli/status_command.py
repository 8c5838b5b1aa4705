"""`tacitd status`: the status document as lines for a person (`status_lines.py`), or as JSON.

The document is read from the store; the daemon is only asked whether it answers.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from tacitd.cli.common import echo_json, echo_message, echo_text, get_paths, json_option, measure_columns
from tacitd.cli.status_lines import StatusLine, layout_lines, list_status_lines
from tacitd.control.client import BusyError, call_daemon
from tacitd.errors import UNAVAILABLE, UnavailableError, UsageError
from tacitd.handler import Degradation
from tacitd.plugins import find_declarations
from tacitd.state.paths import Paths, find_file_in_the_way
from tacitd.status import read_stored_status

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
@json_option("Print the whole document; docs/socket.md describes it.")
@click.option("--watch", is_flag=True, help="Keep it on the terminal, up to date, until Ctrl-C.")
def status(verbose: bool, as_json: bool, watch: bool) -> int:
    """Show what is wrong, what tacitd does and waits for, what it learned today, and what that cost, on one screen.

    It is read from the store, so it is the same if no daemon runs or it does not answer; then it ends with 69.
    """
    if watch:
        _watch_status(as_json=as_json, verbose=verbose)
        return 0
    places = get_paths()
    document, silent = _read_status(places)
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
        echo_message(f"{silent.what}{process}; this is what the store says", silent.hint)
        return UNAVAILABLE
    if not document["running"]:
        echo_message("no daemon runs; `tacitd run` starts one")
        return UNAVAILABLE
    return 0


def _read_status(places: Paths) -> tuple[dict[str, Any], BusyError | None]:
    """The document, and the error if a daemon runs that does not answer."""
    pid, problem, silent = None, None, None
    try:
        answer = call_daemon(places.socket, "ping", timeout=PING)
        pid, problem = answer["pid"], answer.get("problem")
    except BusyError as error:
        silent = error
    except UnavailableError:
        pass
    plugins, told = find_declarations().plugins, Degradation(**problem) if problem else None
    document = read_stored_status(places.state_dir, plugins, time.time(), pid, told)
    if silent is not None:
        document |= {"state": "no answer", "pid": read_lock_owner(places.state_dir / "lock")}
    return document, silent


def read_lock_owner(lock: Path) -> int | None:
    """The id of the process that took the daemon's lock last; None if there is none."""
    try:
        return int(lock.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _layout_status(lines: Iterable[StatusLine]) -> Iterator[str]:
    columns = measure_columns()
    dull = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"  # no-color.org
    return layout_lines(lines, columns, colours=columns is not None and not dull)


def _watch_status(*, as_json: bool, verbose: bool) -> None:
    """Print the status once a second until Ctrl-C. Raises UsageError without a terminal, where it would print without end."""
    if as_json or not sys.stdout.isatty():
        raise UsageError(
            "--watch needs a terminal", "`tacitd log -f --json` prints what happens, for programs"
        )
    from shutil import get_terminal_size  # it imports three compressions

    places = get_paths()
    with suppress(KeyboardInterrupt):
        echo_text(ERASE_SCREEN, nl=False)
        while True:
            document, silent = _read_status(places)
            problem = silent.what if silent is not None else "no daemon runs; waiting for one"
            shown = [] if document["running"] else [StatusLine("!", problem, "problem")]
            shown += list_status_lines(document, time.time(), verbose=verbose)
            texts = list(_layout_status(shown))[: get_terminal_size().lines - 1]
            echo_text("".join([TOP, *(text + ERASE_LINE + "\n" for text in texts), ERASE_REST]), nl=False)
            time.sleep(EVERY)


def format_status(document: Mapping[str, Any], now: float | None = None) -> Iterator[str]:
    """Given the status document, yield the lines that `status` prints in a pipe. `now`: seconds since 1970; None: the time."""
    for line in list_status_lines(document, time.time() if now is None else now):
        yield line.whole
