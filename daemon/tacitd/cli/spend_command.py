"""`tacitd spend`: what the model calls cost. Reads the store; no daemon is needed."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, cast

import click

from tacitd.cli.common import (
    SINCE_OPTION,
    echo_json,
    echo_message,
    echo_text,
    escape_output,
    get_paths,
    json_option,
    parse_since,
)
from tacitd.text.wording import format_dollars, format_table

if TYPE_CHECKING:
    from tacitd.model.spend_report import GroupBy


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
    total = sum_rows(rows)
    columns = [by.upper(), "COST", "CALLS", *(["UNANSWERED"] if total.unanswered else [])]
    cells = [
        (
            escape_output(row.name),
            f"{'~' if row.assumed_usd else ''}{format_dollars(row.usd)}",
            f"{row.calls:,}",
            str(row.unanswered or ""),
        )
        for row in (*rows, total)
    ]
    right = range(1, len(columns))
    for line in format_table(columns, (row[: len(columns)] for row in cells), right=right):
        echo_text(line)
