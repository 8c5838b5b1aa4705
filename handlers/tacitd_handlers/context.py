"""`tacitd context`: what each slice would say at the start of a session, within a budget.

A slice says its part in a function of its own; the table below is in the order in which they are said. The order is
stable, so that a prompt cache survives.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import click

from tacitd.cli.places import data, directory, talk
from tacitd.errors import TacitdError

PARTS = (
    "tacitd_handlers.profile.context:section",
    "tacitd_handlers.lessons.context:section",
    "tacitd_handlers.continuity.context:section",
    "tacitd_handlers.learning.context:section",
)
"""The short ones first: what was learned takes whatever is left."""
BUDGET = 9000
"""Characters. Claude Code takes 10,000 from a hook and cuts what is longer down to a preview."""

Section = Callable[[Path, int], str]


@click.command(epilog="\b\nExample: tacitd context --cwd ~/work/app")
@click.option("--cwd", help="Where the session works; the current directory where not given.")
@click.option(
    "--budget", default=BUDGET, show_default=True, type=click.IntRange(100), help="Characters at most."
)
@click.option("--json", "as_json", is_flag=True, help="As JSON: one text for each slice.")
def context(cwd: str | None, budget: int, as_json: bool) -> None:
    """What was learned, as a session that starts here would be told. Works without a daemon and without claude."""
    said = parts(directory(cwd, missing_ok=True), budget)  # a hook calls it: the rest is said all the same
    if as_json:
        data(said)
        return
    for text in said.values():
        click.echo(text)


def parts(cwd: Path, budget: int) -> dict[str, str]:
    """Given a directory, return what each slice says, all together within the budget; what is empty is left out."""
    said: dict[str, str] = {}
    left = budget
    for where in PARTS:
        module, _, function = where.partition(":")
        section: Section = getattr(import_module(module), function)
        name = module.split(".")[1]
        try:
            text = section(cwd, left)
        except (OSError, TacitdError) as error:
            # Trigger: files of one slice cannot be read. Why: a session waits here for all of them. Outcome: what is
            # wrong is said on standard error, and the others say their part.
            talk(f"{name}: {error}")
            continue
        if text:
            said[name] = text
            left -= len(text) + 1
    return said
