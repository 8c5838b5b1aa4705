"""`tacitd log`: what happened, one line each: what the running daemon keeps, and before it what the store has."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from tacitd.cli.common import (
    SINCE_OPTION,
    add_pager_option,
    echo_json,
    echo_message,
    echo_paged,
    escape_output,
    get_paths,
    json_option,
    parse_since,
    to_json_line,
)
from tacitd.clock import parse_utc
from tacitd.control.client import call_daemon
from tacitd.errors import TacitdError, UnavailableError

SHOWN = 20
"""Lines that are printed without `-n` and `--since`."""
KEPT = 500
"""Lines that are printed with `--since` and without `-n`."""
EVERY = 0.5
"""Seconds between two looks of `-f`."""
LATEST = 253_402_300_800.0
"""The year 10000, in seconds since 1970: a foreign record may have a time that cannot be shown."""
COLOURS = {"learned": "green", "refused": "yellow", "parked": "red", "changed": "cyan"}


@click.command(epilog="\b\nExample: tacitd log -f\nExample: tacitd log --since 7d -n 200 --json")
@click.option("-f", "--follow", is_flag=True, help="Print what happens from now on too, until Ctrl-C.")
@click.option(
    "-n",
    "limit",
    type=click.IntRange(min=0),
    help=f"At most this many lines, the newest; the default is {SHOWN}.",
)
@SINCE_OPTION
@json_option("As JSON: a list; with -f one object a line.")
@add_pager_option
def log(follow: bool, limit: int | None, since: str | None, as_json: bool, no_pager: bool) -> None:
    """Show what happened, one line each: what was read, asked, extracted, learned, changed, refused and parked.

    Without a running daemon it shows what the store has: calls, changes of files, and what was made. What was read and
    parked is only known since the daemon's start.
    """
    places, earliest = get_paths(), parse_since(since)
    count = limit if limit is not None else (KEPT if since else SHOWN)
    try:
        kept: Mapping[str, Any] = call_daemon(places.socket, "log")
    except UnavailableError:
        kept = {"rows": [], "since": math.inf, "number": 0, "started": None}
    rows = [row for row in kept["rows"] if (parse_utc(row["at"]) or 0.0) >= earliest]
    if len(rows) < count:
        rows = _list_stored(places.state_dir, max(earliest, 0.0), kept["since"]) + rows
    rows = rows[-count:] if count else []
    if as_json and not follow:
        echo_json(rows)
    else:
        echo_paged(_format_rows(rows, as_json), no_pager=no_pager or follow)
    if follow:
        with suppress(KeyboardInterrupt):
            _follow_daemon(places.socket, kept, as_json)
    elif not rows:
        echo_message("nothing happened" + (f" in the last {since}" if since else " yet"))


def _list_stored(state: Path, since: float, before: float) -> list[dict[str, Any]]:
    """What happened from `since` on and earlier than `before` (seconds since 1970, UTC), oldest first: calls, changes of files, and what
    plugins made."""
    from tacitd.files.row_history import list_row_changes
    from tacitd.model.budget import list_ended
    from tacitd.store import open_readonly
    from tacitd.work.activities import Activity, describe_call, describe_change, read_activities

    store = open_readonly(state)
    if store is None:
        return []
    with store:
        found = [
            Activity(parse_utc(each["at"]) or 0.0, "changed", *describe_change(each))
            for each in list_row_changes(store.rows)
            if each["state"] == "done" and each["lines"]
        ]
        found += [Activity(at, "asked", *describe_call(one)) for at, one in list_ended(store, since)]
        found += read_activities(store.rows, since)
    chosen = [one for one in found if since <= one.at < min(before, LATEST)]
    return [one.describe() for one in sorted(chosen, key=lambda one: one.at)]


def _follow_daemon(socket: Path, kept: Mapping[str, Any], as_json: bool) -> None:
    """Print what happens until Ctrl-C, also after the daemon was stopped and started again. `kept`: what was printed."""
    is_waiting = False
    while True:
        try:
            answer = call_daemon(socket, "log", {"after": kept["number"]})
            if answer["started"] != kept["started"]:  # another daemon, with numbers of its own
                answer = call_daemon(socket, "log")
            kept, is_waiting = answer, False
            for line in _format_rows(answer["rows"], as_json):
                click.echo(line)
        except TacitdError:  # gone, or stopping: then it refuses to answer
            if not is_waiting:
                echo_message("no daemon runs; waiting for one")
                is_waiting = True
        time.sleep(EVERY)


def _format_rows(rows: Iterable[Mapping[str, Any]], as_json: bool) -> Iterator[str]:
    for row in rows:
        if as_json:
            yield to_json_line(row)
            continue
        at = datetime.fromtimestamp(parse_utc(row["at"]) or 0.0).strftime("%Y-%m-%d %H:%M:%S")
        did, _, rest = escape_output(str(row["line"])).partition(":")
        colour = COLOURS.get(did) if sys.stdout.isatty() else None
        yield f"{at}  {click.style(did, fg=colour) if colour else did}:{rest}"
