"""`tacitd report`: one page about what was learned and whether it helps. Reads what is stored; needs no daemon.

Each plugin brings its sections with its `report` hook; this module collects them and writes the page.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tacitd.cli.command_table import load_plugin_table
from tacitd.cli.common import (
    echo_json,
    echo_message,
    escape_output,
    get_paths,
    parse_since,
    resolve_directory,
)
from tacitd.cli.progress_bar import show_progress
from tacitd.errors import FAILED, UsageError, describe_plugin_error
from tacitd.session_context.plugin_view import make_report

if TYPE_CHECKING:
    from tacitd.cli.command_table import PluginTable
    from tacitd.report.sections import ReportScope, ReportSection

SCHEMA = 1
SPAN = "90d"


@click.command(
    epilog="\b\nExample: tacitd report --open\nExample: tacitd report --all --since 30d -o ~/report.html"
)
@click.argument("project", metavar="[DIR]", required=False)
@click.option("--all", "everywhere", is_flag=True, help="All projects.")
@click.option("--since", metavar="AGE", default=SPAN, show_default=True, help="How far back, such as 30d.")
@click.option("-o", "--output", metavar="FILE", help="Write the page to FILE; - is standard output.")
@click.option("--open", "show", is_flag=True, help="Open the page in a browser.")
@click.option("--json", "as_json", is_flag=True, help="Print the sections as JSON instead.")
@click.pass_context
def report(
    ctx: click.Context,
    project: str | None,
    everywhere: bool,
    since: str,
    output: str | None,
    show: bool,
    as_json: bool,
) -> None:
    """Show what was learned in a project, and whether it helps, as one HTML page.

    The page has what was learned by week, corrections before and after each rule, cost, and changes of files. It loads
    nothing from the network. Without -o it is written to the cache directory and its path is printed. Exits with 1 if a
    section had to be left out; the page says why.
    """
    if as_json and (output or show):
        raise UsageError("--json prints to standard output", "leave out -o and --open")
    if show and output == "-":
        raise UsageError("--open needs a file", "leave out `-o -`")
    scope = _make_scope(None if everywhere else project, since, everywhere=everywhere)
    sections, problems = collect_sections(load_plugin_table(), scope)
    for one in problems:
        echo_message(f"left out: {escape_output(one)}")
    code = FAILED if problems else 0
    if as_json:
        _echo_document(scope, sections, problems)
        ctx.exit(code)
    from tacitd.report.page import render_page

    page = render_page("What tacitd learned", describe_scope(scope), sections, problems).encode()
    if output == "-":
        click.echo(page, nl=False)
        ctx.exit(code)
    _show_file(_write_page(page, output), show=show)
    ctx.exit(code)


def collect_sections(table: PluginTable, scope: ReportScope) -> tuple[list[ReportSection], list[str]]:
    """Return the sections of all plugins and of the engine, and what is wrong with those that are left out."""
    from tacitd.report.engine_sections import build_changes, build_spending

    found: list[ReportSection] = []
    problems = list(table.broken)
    builders: list[tuple[str, Callable[[ReportScope], list[ReportSection]]]]
    builders = [(one.name, partial(make_report, one)) for one in table.plugins if one.report]
    builders += [
        ("cost", lambda scope: [build_spending(scope)]),
        ("history", lambda scope: [build_changes(scope)]),
    ]
    with show_progress("report") as advance:
        for number, (name, build) in enumerate(builders, 1):
            try:
                found += build(scope)
            except Exception as error:  # noqa: BLE001  a third-party plugin may raise anything
                problems.append(f"the section of {name}: {describe_plugin_error(error)}")
            advance(number, len(builders))
    return found, problems


def _make_scope(project: str | None, since: str, *, everywhere: bool) -> ReportScope:
    from tacitd.clock import SystemClock
    from tacitd.files.git import find_project_root
    from tacitd.report.sections import ReportScope

    root = None if everywhere else find_project_root(resolve_directory(project))
    now = SystemClock().now()
    return ReportScope(get_paths().state_dir, os.environ, root, parse_since(since), now)


def describe_scope(scope: ReportScope) -> str:
    """The sentence below the page's title: which projects, since when, and when it was made."""
    from tacitd.clock import local_date, local_minutes

    where = "All projects" if scope.root is None else str(scope.root)
    made = local_minutes(scope.now).replace("T", " ")
    return f"{where}, from {local_date(scope.since)} on. Made {made}, local time."


def _echo_document(scope: ReportScope, sections: Iterable[ReportSection], problems: list[str]) -> None:
    from tacitd.clock import utc_seconds
    from tacitd.report.sections import describe_section

    echo_json(
        {
            "schema": SCHEMA,
            "as_of": utc_seconds(scope.now),
            "since": utc_seconds(scope.since),
            "project": None if scope.root is None else str(scope.root),
            "sections": [describe_section(one) for one in sections],
            "problems": problems,
        }
    )


def _write_page(page: bytes, output: str | None) -> Path:
    """Write the page to the named file, or to the cache directory. Raises OSError, FileRefusedError."""
    from tacitd.files.locks import make_private_dir
    from tacitd.files.replaced import replace_file
    from tacitd.state.paths import report_file

    if output is not None:
        try:
            file = Path(output).expanduser().absolute()
        except RuntimeError as error:  # an unknown `~name`
            raise UsageError(f"{escape_output(output)}: {error}", "name a file") from None
        if file.is_dir() or output.endswith("/"):
            raise UsageError(f"{escape_output(output)} is a directory", "name a file in it")
        if not file.parent.is_dir():
            raise UsageError(f"{escape_output(str(file.parent))}: no such directory", "create it first")
        if file.exists() and not _is_report(file):
            raise UsageError(f"{escape_output(output)} exists and is not a report", "choose another name")
    else:
        file = report_file(os.environ)
        make_private_dir(file.parent)
    replace_file(file, page, mode=0o600)
    return file


def _is_report(file: Path) -> bool:
    """Whether a file is an earlier report: nothing else is replaced. Raises OSError."""
    from tacitd.report.page import GENERATOR

    with file.open("rb") as opened:
        return f'content="{GENERATOR}"'.encode() in opened.read(4096)


def _show_file(file: Path, *, show: bool) -> None:
    click.echo(escape_output(str(file)))
    if not show:
        return
    import webbrowser

    if not webbrowser.open(file.as_uri()):
        echo_message("no browser could be opened: open the file in one")
