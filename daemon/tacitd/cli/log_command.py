"""`tacitd log`: what happened, one line each, from the running daemon and from the logs."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from tacitd.cli.common import echo_json, echo_json_line, echo_message, escape_output, get_paths, parse_since
from tacitd.clock import parse_utc
from tacitd.control.client import Subscription
from tacitd.errors import UnavailableError

SHOWN = 20
"""Lines that are printed without `-n` and `--since`."""
KEPT = 500
"""Activities that the daemon is asked for: all that it has kept."""
RETRY = 1.0
"""Seconds between two tries to reach a daemon that has stopped."""
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
        subscription = Subscription(places.socket, {"last": KEPT})
    except UnavailableError:
        subscription = None
    kept, begin = ([], math.inf) if subscription is None else _read_kept(subscription)
    rows = _list_rows(places.state_dir, kept, begin, earliest, count)
    if as_json and not follow:
        echo_json(rows)
    else:
        for row in rows:
            _echo_row(row, as_json)
    if subscription is not None and not follow:
        subscription.close()
    if follow:
        with suppress(KeyboardInterrupt):
            _follow_daemon(places.socket, subscription, rows, as_json)
    elif not rows:
        echo_message("nothing happened" + (f" in the last {since}" if since else " yet"))


def _read_kept(subscription: Subscription) -> tuple[list[dict[str, Any]], float]:
    """What the daemon has kept since its start, and the time before which only the logs tell what happened."""
    rows: list[dict[str, Any]] = []
    wanted = int(subscription.result.get("kept", 0))
    while len(rows) < wanted and (found := subscription.read_next(5.0)) is not None:
        if found[0] == "activity":
            rows.append(found[1])
    loaded = int(subscription.result.get("loaded", 0))
    begin = parse_utc(subscription.result.get("loaded_at")) or 0.0
    # The daemon keeps a number of rows, so those between are not kept any more.
    if rows and rows[0]["number"] > loaded + 1:
        begin = parse_utc(rows[0]["at"]) or begin
    return [row for row in rows if row["number"] > loaded], begin


def _list_rows(
    state: Path, kept: list[dict[str, Any]], begin: float, earliest: float, count: int
) -> list[dict[str, Any]]:
    """The newest rows: those that the daemon has kept, and those of the logs from before `begin`. Seconds since 1970."""
    chosen = [row for row in kept if (parse_utc(row["at"]) or 0.0) >= earliest]
    if len(chosen) < count:
        from tacitd.cli.stored_activities import list_stored
        from tacitd.plugins import find_declarations

        stored = list_stored(state, find_declarations().plugins, earliest, begin, count)
        chosen = [one.describe() for one in stored] + chosen
    return chosen[-count:] if count else []


def _follow_daemon(
    socket: Path, subscription: Subscription | None, printed: list[dict[str, Any]], as_json: bool
) -> None:
    """Print what happens until Ctrl-C, also after the daemon was stopped and started again.

    A daemon sends what it has kept first. Of that, only what is newer than the `printed` rows is printed.
    """
    seen = deque(((row["at"], row["line"]) for row in printed), maxlen=KEPT)
    is_waiting = False
    while True:
        try:
            if subscription is None:
                subscription, is_waiting = Subscription(socket, {"last": KEPT}), False
            with subscription:
                while (found := subscription.read_next(None)) is not None:
                    if found[0] == "missed":
                        echo_message(f"{found[1]['count']} lines were missed")
                    elif found[0] == "activity" and _is_new(found[1], subscription, seen):
                        seen.append((found[1]["at"], found[1]["line"]))
                        _echo_row(found[1], as_json)
        except UnavailableError:
            if not is_waiting:
                echo_message("no daemon runs; waiting for one")
                is_waiting = True
            time.sleep(RETRY)
        subscription = None


def _is_new(row: Mapping[str, Any], subscription: Subscription, seen: deque[tuple[str, str]]) -> bool:
    """Whether a row was not printed: it happened after the subscription, or after everything that was printed."""
    if row["number"] > subscription.result["number"]:
        return True
    return not seen or (row["at"] >= seen[-1][0] and (row["at"], row["line"]) not in seen)


def _echo_row(row: Mapping[str, Any], as_json: bool) -> None:
    if as_json:
        echo_json_line(row)
        return
    at = datetime.fromtimestamp(parse_utc(row["at"]) or 0.0).strftime("%Y-%m-%d %H:%M:%S")
    did, _, rest = escape_output(str(row["line"])).partition(":")
    colour = COLOURS.get(did)
    click.echo(f"{at}  {click.style(did, fg=colour) if colour else did}:{rest}")
