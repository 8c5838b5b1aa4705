"""`tacitd spend`: what the model calls cost. Reads the store; no daemon is needed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, cast

import click

from tacitd.cli.common import (
    echo_json,
    echo_message,
    echo_text,
    escape_output,
    get_paths,
    measure_columns,
    parse_since,
)
from tacitd.text.wording import format_dollars, format_table, measure_width

if TYPE_CHECKING:
    from tacitd.model.spend_report import GroupBy, SpendRow

BAR = 24
"""Characters of the longest bar."""


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
@click.option("--since", metavar="AGE", help="Only calls that are not older, such as 7d.")
@click.option(
    "--json", "as_json", is_flag=True, help="As JSON: a list of groups with calls, dollars and tokens."
)
def spend(by: str, since: str | None, as_json: bool) -> None:
    """Show what the model calls cost in US dollars: as Claude Code reported it, or assumed where it did not (marked ~)."""
    from tacitd.model.spend_report import report_spending, sum_rows
    from tacitd.store import open_readonly

    begun = parse_since(since)
    with open_readonly(get_paths().state_dir) or nullcontext() as store:
        rows = report_spending(store, cast("GroupBy", by), begun) if store is not None else []
    if as_json:
        echo_json([row.as_data() for row in rows])
        return
    if not rows:
        echo_message("no model call was made" + (f" in the last {since}" if since else " yet"))
        return
    block = "█" if (sys.stdout.encoding or "").lower().replace("-", "") == "utf8" else "#"
    for line in format_rows(by, [*rows, sum_rows(rows)], measure_columns(), block=block):
        echo_text(line)


def format_rows(by: str, rows: Sequence[SpendRow], width: int | None, *, block: str) -> list[str]:
    """The lines of a table; the last row is the sum and has no bar.

    `width`: columns of the terminal, into which the bars fit; None: it is none, and there are no bars. `block`: what a bar
    is made of.
    """
    dearest = max((row.usd for row in rows[:-1]), default=0.0)
    head = [by.upper(), "COST", "CALLS", *(["UNANSWERED"] if rows[-1].unanswered else [])]
    cells = [
        (
            escape_output(row.name),
            f"{'~' if row.assumed_usd else ''}{format_dollars(row.usd)}",
            f"{row.calls:,}",
            *([str(row.unanswered or "")] if rows[-1].unanswered else []),
        )
        for row in rows
    ]
    lines = format_table(head, cells, right=range(1, len(head)))
    size = min(BAR, width - 3 - max(map(measure_width, lines))) if width is not None else 0
    bars = [round(size * row.usd / dearest) if size > 0 and dearest else 0 for row in rows[:-1]]
    return [
        lines[0],
        *(f"{line}  {block * bar}".rstrip() for line, bar in zip(lines[1:], [*bars, 0], strict=True)),
    ]
