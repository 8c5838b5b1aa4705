"""`tacitd context`: the text of each plugin for the start of a session, within a budget.

The text itself is made in the plugins' `context` modules; this module only orders the parts and divides the budget.
The order is fixed, so that a prompt cache stays valid.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import click

from tacitd.cli.common import echo_json, echo_message, resolve_directory
from tacitd.errors import TacitdError

SECTION_FUNCTIONS = (
    "tacitd_handlers.profile.context:build_section",
    "tacitd_handlers.lessons.context:build_section",
    "tacitd_handlers.continuity.context:build_section",
    "tacitd_handlers.learning.context:build_section",
)
"""In the order of output. The short parts come first: the learned lines take the rest of the budget."""
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
    """Print what a session that starts here gets: profile, lessons, last session, learned lines.

    Works without a daemon and without claude.
    """
    # A hook calls this, so a missing directory must not fail it.
    said = collect_sections(resolve_directory(cwd, missing_ok=True), budget)
    if as_json:
        echo_json(said)
        return
    for text in said.values():
        click.echo(text)


def collect_sections(cwd: Path, budget: int) -> dict[str, str]:
    """Given a directory, return the text of each plugin by its name. Empty texts are left out.

    All texts together have at most `budget` characters, newlines between them included.
    """
    said: dict[str, str] = {}
    left = budget
    for where in SECTION_FUNCTIONS:
        module, _, function = where.partition(":")
        section: Section = getattr(import_module(module), function)
        name = module.split(".")[1]
        try:
            text = section(cwd, left)
        except (OSError, TacitdError) as error:
            # Trigger: files of one plugin cannot be read. Why: a session's start waits for this output. Outcome: the
            # error goes to standard error, and the other plugins' texts are printed.
            echo_message(f"{name}: {error}")
            continue
        if text:
            said[name] = text
            left -= len(text) + 1
    return said
