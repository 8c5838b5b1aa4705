"""`tacitd log`: what happened, one line each, from the running daemon and from the logs."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from tacitd.cli.common import echo_json, echo_json_line, echo_message, escape_output, get_paths, parse_since
from tacitd.clock import parse_utc
from tacitd.control.client import call_daemon
from tacitd.errors import TacitdError, UnavailableError

SHOWN = 20
"""Lines that are printed without `-n` and `--since`."""
KEPT = 500
"""Lines that are printed with `--since` and without `-n`."""
EVERY = 0.5
"""Seconds between two looks of `-f`."""
COLOURS = {"learned": "green", "refused": "yellow", "parked": "red", "changed": "cyan"}


@click.command(epilog="\b\nExample: tacitd log -f\nExample: tacitd log --since 7d -n 200 --json")
@click.option("-f", "--follow", is_flag=True, help="Print what happens from now on too, until Ctrl-C.")
@click.option(
    "-n",
    "limit",
    type=click.IntRange(min=0),
    help=f"At most this many lines, the newest; the default is {SHOWN}.",
)
@click.option("--since", metavar="AGE", help="Only what is not older, such as 12h or 7d.")
@click.option("--json", "as_json", is_flag=True, help="As JSON: a list; with -f one object a line.")
def log(follow: bool, limit: int | None, since: str | None, as_json: bool) -> None:
    """Show what happened, one line each: what was read, asked, extracted, learned, changed, refused and parked.

    Without a running daemon it shows what the logs contain: calls, changes of files, and what was made. What was read and
    parked is only known since the daemon's start.
    """
    places, earliest = get_paths(), parse_since(since)
    count = limit if limit is not None else (KEPT if since else SHOWN)
    try:
        kept: Mapping[str, Any] = call_daemon(places.socket, "log")
    except UnavailableError:
        kept = {"rows": [], "since": math.inf, "number": 0, "started": None}
    rows = _list_rows(places.state_dir, kept, earliest, count)
    if as_json and not follow:
        echo_json(rows)
    else:
        _echo_rows(rows, as_json)
    if follow:
        with suppress(KeyboardInterrupt):
            _follow_daemon(places.socket, kept, as_json)
    elif not rows:
        echo_message("nothing happened" + (f" in the last {since}" if since else " yet"))


def _list_rows(state: Path, kept: Mapping[str, Any], earliest: float, count: int) -> list[dict[str, Any]]:
    """The newest rows: those that the daemon has `kept`, and those of the logs from before. Seconds since 1970."""
    chosen = [row for row in kept["rows"] if (parse_utc(row["at"]) or 0.0) >= earliest]
    if len(chosen) < count:
        from tacitd.cli.stored_activities import list_stored

        stored = list_stored(state, earliest, kept["since"], count)
        chosen = [one.describe() for one in stored] + chosen
    return chosen[-count:] if count else []


def _follow_daemon(socket: Path, kept: Mapping[str, Any], as_json: bool) -> None:
    """Print what happens until Ctrl-C, also after the daemon was stopped and started again. `kept`: what was printed."""
    is_waiting = False
    while True:
        try:
            answer = call_daemon(socket, "log", {"after": kept["number"]})
            if answer["started"] != kept["started"]:  # another daemon, with numbers of its own
                answer = call_daemon(socket, "log")
            kept, is_waiting = answer, False
            _echo_rows(answer["rows"], as_json)
        except TacitdError:  # gone, or stopping: then it refuses to answer
            if not is_waiting:
                echo_message("no daemon runs; waiting for one")
                is_waiting = True
        time.sleep(EVERY)


def _echo_rows(rows: Sequence[Mapping[str, Any]], as_json: bool) -> None:
    for row in rows:
        if as_json:
            echo_json_line(row)
            continue
        at = datetime.fromtimestamp(parse_utc(row["at"]) or 0.0).strftime("%Y-%m-%d %H:%M:%S")
        did, _, rest = escape_output(str(row["line"])).partition(":")
        colour = COLOURS.get(did)
        click.echo(f"{at}  {click.style(did, fg=colour) if colour else did}:{rest}")
