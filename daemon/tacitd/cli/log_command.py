"""`tacitd log` and `spend`: what happened, one line each, and what the model calls cost. Both read the store."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

import click

from tacitd.cli.common import (
    SINCE_OPTION,
    add_pager_option,
    echo_json,
    echo_message,
    echo_paged,
    echo_table,
    escape_output,
    json_option,
    parse_since,
    read_store,
    to_json_line,
)
from tacitd.clock import parse_utc
from tacitd.text.wording import format_dollars
from tacitd.work.activities import list_newest, list_since

if TYPE_CHECKING:
    from tacitd.model.budget import GroupBy

SHOWN = 20
"""Lines that are printed without `-n` and `--since`."""
KEPT = 500
"""Lines that are printed with `--since` and without `-n`."""
EVERY = 0.5
"""Seconds between two looks of `-f`."""


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
    """Show what happened in the last 90 days, one line each: what was read, asked, extracted, learned, changed, refused and parked.

    It is read from the store, with and without a daemon.
    """
    earliest = parse_since(since)
    count = limit if limit is not None else (KEPT if since else SHOWN)
    found = read_store(lambda rows: list_newest(rows, earliest, count)) or []
    shown = [one.describe() for one in found]
    if as_json and not follow:
        echo_json(shown)
    else:
        echo_paged(_format_rows(shown, as_json), no_pager=no_pager or follow)
    if follow:
        newest = found or read_store(lambda rows: list_newest(rows, 0.0, 1)) or []
        with suppress(KeyboardInterrupt):
            _follow(newest[-1].number if newest else 0, as_json)
    elif not shown and count:
        echo_message(f"nothing happened in the last {since or '90 days'}")


def _follow(mark: int, as_json: bool) -> None:
    """Print what happens until Ctrl-C. `mark`: the number of the newest activity that was printed."""
    while True:
        found = read_store(partial(list_since, mark=mark)) or []
        for line in _format_rows([one.describe() for one in found], as_json):
            click.echo(line)
        sys.stdout.flush()
        mark = found[-1].number if found else mark
        time.sleep(EVERY)


def _format_rows(rows: Iterable[Mapping[str, Any]], as_json: bool) -> Iterator[str]:
    """A line for each row. For a person, the same thing several times in a row is one line, with the newest time."""
    if as_json:
        yield from map(to_json_line, rows)
        return
    for _, same in groupby(rows, key=lambda row: row["line"]):
        *earlier, row = same
        at = datetime.fromtimestamp(parse_utc(row["at"]) or 0.0).strftime("%Y-%m-%d %H:%M:%S")
        times = f"  ({len(earlier) + 1} times)" if earlier else ""
        yield f"{at}  {escape_output(str(row['line']))}{times}"


# --- `tacitd spend`


@click.command(
    epilog="\b\nExample: tacitd spend --since 30d\nExample: tacitd spend --by project --json",
)
@click.option(
    "--by",
    type=click.Choice(["day", "project", "purpose", "model"]),
    default="day",
    show_default=True,
    help="What to group the calls by.",
)
@SINCE_OPTION
@json_option("As JSON: a list of groups with calls, dollars and tokens.")
def spend(by: str, since: str | None, as_json: bool) -> None:
    """Show what the model calls cost in US dollars: as Claude Code reported it, or assumed where it did not (marked ~)."""
    from tacitd.model.budget import report_spending, sum_rows

    begun = parse_since(since)
    rows = read_store(lambda rows: report_spending(rows, cast("GroupBy", by), begun)) or []
    if as_json:
        echo_json([row.as_data() for row in rows])
        return
    if not rows:
        echo_message("no model call was made" + (f" in the last {since}" if since else " yet"))
        return
    total = sum_rows(rows)
    columns = [by.upper(), "COST", "CALLS", *(["UNANSWERED"] if total.unanswered else [])]
    cells = [
        (
            row.name,
            f"{'~' if row.assumed_usd else ''}{format_dollars(row.usd)}",
            f"{row.calls:,}",
            str(row.unanswered or ""),
        )
        for row in (*rows, total)
    ]
    echo_table(columns, (row[: len(columns)] for row in cells), "", right=range(1, len(columns)))
