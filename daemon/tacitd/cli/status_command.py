"""`tacitd status`: the status document as lines for a person (`status_lines.py`), or as JSON.

The document is made in the engine. `status` must feel instant, so nothing heavy is imported here.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tacitd.cli.answered_command import answered_command, option
from tacitd.cli.caller import (
    echo_message,
    echo_text,
    get_columns,
    get_environ,
    get_remote,
    require_own_process,
)
from tacitd.cli.common import echo_json, get_paths
from tacitd.cli.quick_status import ABSENT, read_last_status
from tacitd.cli.status_lines import list_status_lines
from tacitd.cli.terminal_text import layout_lines, wants_colour
from tacitd.control.client import BusyError, call_daemon
from tacitd.errors import UNAVAILABLE, UnavailableError, UsageError
from tacitd.state.paths import SNAPSHOT, find_file_in_the_way


@answered_command(
    epilog="\b\nExample: tacitd status --watch\nExample: tacitd status --json | jq .budget",
)
@option("-v", "--verbose", is_flag=True, help="Print everything: all projects, and all lines of plugins.")
@option("--json", "as_json", is_flag=True, help="Print the whole document; docs/status.md describes it.")
@option("--watch", is_flag=True, help="Keep it on the terminal, up to date, until Ctrl-C.")
def status(verbose: bool, as_json: bool, watch: bool) -> int:
    """Show what is wrong, what tacitd does and waits for, what it learned today, and what that cost, on one screen.

    If no daemon runs, it shows the last status that was saved, and ends with 69.
    """
    places, remote = get_paths(), get_remote()
    if watch:
        require_own_process()
        _watch_terminal(places.socket, as_json=as_json)
        return 0
    try:
        document = remote.call("status") if remote else call_daemon(places.socket, "status")
    except BusyError:
        raise  # a daemon runs, so the saved status is out of date
    except UnavailableError:
        document = read_last_status(places.state_dir / SNAPSHOT)
    in_the_way = None if document["running"] else find_file_in_the_way(places.state_dir)
    if as_json:
        echo_json(document)
    elif in_the_way is None:
        columns = get_columns()
        colours = columns is not None and wants_colour(get_environ())
        lines = list_status_lines(document, time.time(), verbose=verbose)
        for text in layout_lines(lines, columns, colours=colours):
            echo_text(text)
    if in_the_way is not None:
        echo_message(f"no daemon runs; {in_the_way} is a file where a directory belongs: move it away")
        return UNAVAILABLE
    if not document["running"]:
        echo_message(ABSENT)
        return UNAVAILABLE
    return 0


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
