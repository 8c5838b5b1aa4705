"""`tacitd context`: the section of each plugin for the start of a session, within a budget.

The text itself is made by the plugins' `context` hooks; this module only orders the sections and divides the budget.
The order is fixed, so that a prompt cache stays valid.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import click

from tacitd.cli import load_plugin_table
from tacitd.cli.common import describe_plugin_error, echo_json, echo_message, resolve_directory
from tacitd.cli.plugin_table import PluginTable
from tacitd.handler import load_hook

BUDGET = 9000
"""Characters. Claude Code accepts 10,000 from a hook and replaces a longer output with a preview."""

Section = Callable[[Path, int], str]


@click.command(epilog="\b\nExample: tacitd context --cwd ~/work/app")
@click.option("--cwd", help="The session's working directory; the default is the current one.")
@click.option(
    "--budget", default=BUDGET, show_default=True, type=click.IntRange(100), help="Characters at most."
)
@click.option("--json", "as_json", is_flag=True, help="As JSON: one text for each plugin.")
def context(cwd: str | None, budget: int, as_json: bool) -> None:
    """Print what a session that starts here gets: the section of each plugin.

    Works without a daemon and without claude.
    """
    # A hook calls this, so a missing directory must not fail it.
    directory = resolve_directory(cwd, missing_ok=True)
    sections = collect_sections(load_plugin_table(os.environ), directory, budget)
    if as_json:
        echo_json(sections)
        return
    for text in sections.values():
        click.echo(text)


def collect_sections(table: PluginTable, cwd: Path, budget: int) -> dict[str, str]:
    """Given a directory, return the section of each plugin by its name. Empty sections are left out.

    All sections together have at most `budget` characters, newlines between them included.
    """
    for what in table.broken:
        echo_message(what)
    sections: dict[str, str] = {}
    left = budget
    for one in table.list_sections():
        try:
            section: Section = load_hook(one.context)
            text = section(cwd, left)
            if not isinstance(text, str):
                raise TypeError(f"its section is {type(text).__name__}, not text")
        except Exception as error:  # noqa: BLE001
            # Trigger: one plugin's code or files are damaged. Why: a session's start waits for this output. Outcome: the
            # error goes to standard error, and the other plugins' sections are printed.
            echo_message(f"{one.name}: {describe_plugin_error(error)}")
            continue
        if text:
            sections[one.name] = text = text[: max(0, left)]
            left -= len(text) + 1
    return {name: text for name, text in sections.items() if text}
