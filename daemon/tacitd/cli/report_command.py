"""`tacitd report`: one page about what was learned and whether it helps, from what is stored and the plugins'
hook `report`."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path

import click
from msgspec import to_builtins

from tacitd.cli.common import (
    echo_json,
    echo_message,
    escape_output,
    get_paths,
    json_option,
    parse_since,
    read_store,
    resolve_directory,
)
from tacitd.cli.program import PluginTable, load_plugin_table
from tacitd.clock import SystemClock, local_date, local_minutes, utc_seconds
from tacitd.errors import FAILED, UsageError, describe_plugin_error
from tacitd.files.atomic import replace_file
from tacitd.files.git import find_project_root
from tacitd.files.locks import make_private_dir
from tacitd.model.budget import report_spending, sum_rows
from tacitd.report.page import GENERATOR, render_page
from tacitd.report.sections import (
    ReportScope,
    ReportSection,
    ReportSeries,
    ReportTable,
)
from tacitd.session_context.plugin_view import make_report
from tacitd.state.paths import report_file
from tacitd.text.wording import count_noun, format_dollars

SCHEMA = 1


@click.command(
    epilog="\b\nExample: tacitd report --open\nExample: tacitd report --all --since 30d -o ~/report.html"
)
@click.argument("project", metavar="[DIR]", required=False)
@click.option("--all", "everywhere", is_flag=True, help="All projects.")
@click.option("--since", metavar="AGE", default="90d", show_default=True, help="How far back, such as 30d.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="Write the page to FILE; - is standard output.",
)
@click.option("--open", "show", is_flag=True, help="Open the page in a browser.")
@json_option("Print the sections as JSON instead.")
def report(
    project: str | None, everywhere: bool, since: str, output: str | None, show: bool, as_json: bool
) -> int:
    """Show what was learned in a project, and whether it helps, as one HTML page.

    The page has what was learned by week, corrections before and after each rule, and cost. It loads nothing from the network. Without -o it is written to the cache directory and its path is printed. Exits with 1 if a
    section had to be left out; the page says why.
    """
    if (as_json and (output or show)) or (show and output == "-"):
        raise UsageError("--open needs a file, and --json prints to standard output", "leave one of them out")
    root = None if everywhere else find_project_root(resolve_directory(project))
    now = SystemClock().now()
    scope = ReportScope(get_paths().state_dir, os.environ, root, parse_since(since), now)
    sections, problems = collect_sections(load_plugin_table(), scope)
    for one in problems:
        echo_message(f"left out: {one}")
    if as_json:
        times = {"as_of": utc_seconds(now), "since": utc_seconds(scope.since)}
        about = {"schema": SCHEMA, **times, "project": None if root is None else str(root)}
        echo_json(about | {"sections": to_builtins(sections), "problems": problems})
        return FAILED if problems else 0
    where = "All projects" if root is None else str(root)
    made = local_minutes(now).replace("T", " ")
    about_it = f"{where}, from {local_date(scope.since)} on. Made {made}, local time."
    page = render_page("What tacitd learned", about_it, sections, problems).encode()
    if output == "-":
        click.echo(page, nl=False)
    else:
        file = _write_page(page, output)
        click.echo(escape_output(str(file)))
        if show and click.launch(file.as_uri()):
            echo_message("no browser could be opened: open the file in one")
    return FAILED if problems else 0


def collect_sections(table: PluginTable, scope: ReportScope) -> tuple[list[ReportSection], list[str]]:
    """Return the sections of all plugins and of the engine, and what is wrong with those that are left out."""
    found, problems = list[ReportSection](), list(table.broken)
    builders: list[tuple[str, Callable[[], list[ReportSection]]]]
    builders = [(one.name, partial(make_report, one, scope)) for one in table.plugins if one.report]
    builders.append(("cost", lambda: [build_spending(scope)]))
    for name, build in builders:
        try:
            found += build()
        except Exception as error:  # noqa: BLE001  a third-party plugin may raise anything
            problems.append(f"the section of {name}: {describe_plugin_error(error)}")
    return found, problems


def _write_page(page: bytes, output: str | None) -> Path:
    """Write the page to the named file, or to the cache directory; return where. Raises UsageError for a file
    that is no earlier report."""
    if output is None:
        file = report_file(os.environ)
        make_private_dir(file.parent)
    else:
        file = Path(output).absolute()
        if not file.parent.is_dir():
            raise UsageError(f"{escape_output(str(file.parent))}: no such directory", "create it first")
        if file.exists() and f'content="{GENERATOR}"'.encode() not in file.read_bytes()[:4096]:
            raise UsageError(f"{escape_output(output)} exists and is not a report", "choose another name")
    try:
        replace_file(file, page, mode=0o600)
    except OSError as error:  # a write that fails names no file
        error.filename = error.filename or str(file)
        raise
    return file


# --- the engine's own section


def build_spending(scope: ReportScope) -> ReportSection:
    """What the model calls cost, by week and by purpose. Raises TacitdError."""
    root = "" if scope.root is None else str(scope.root)
    by_day = read_store(lambda rows: report_spending(rows, "day", scope.since, root), scope.state_dir) or []
    rows = read_store(lambda rows: report_spending(rows, "purpose", scope.since, root), scope.state_dir) or []
    days = [(datetime.fromisoformat(row.name).timestamp(), row.usd) for row in by_day]
    total = sum_rows(rows)
    cells = tuple(
        (row.name, row.calls, row.unanswered, f"{'~' if row.assumed_usd else ''}{format_dollars(row.usd)}")
        for row in rows
    )
    note = f"{count_noun(total.calls, 'call')} for {format_dollars(total.usd)}."
    if total.assumed_usd:
        note += " ~ marks a cost that is assumed, because the client reported none."
    series = ReportSeries("Dollars by week", scope.count_by_week(days), "$")
    table = ReportTable("By purpose", ("purpose", "calls", "without an answer", "dollars"), cells)
    return ReportSection("What it cost", (series, table), note)
