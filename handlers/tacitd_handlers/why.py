"""`tacitd why`: the words that a stored line or lesson came from.

Each plugin looks up its own lines in its `reasons` module, which the table names; this module only prints them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from tacitd.cli.common import echo_json, echo_message, resolve_directory
from tacitd.errors import FAILED

REASON_FUNCTIONS = (
    "tacitd_handlers.learning.explain_line:find_reasons",
    "tacitd_handlers.lessons.explain_lesson:find_reasons",
)

Reasons = Callable[[str, Path], list[dict[str, Any]]]


@click.command(epilog='\b\nExample: tacitd why pnpm\nExample: tacitd why "read first" --json')
@click.argument("asked", metavar="TEXT")
@click.option("--cwd", help="The project; the default is the current directory.")
@click.option(
    "--json", "as_json", is_flag=True, help="As JSON: what, where, at, sessions, words of each match."
)
@click.pass_context
def why(ctx: click.Context, asked: str, cwd: str | None, as_json: bool) -> None:
    """Show which of your words a learned line or a lesson came from, and when. TEXT is a part of it, or a lesson's id.

    Works without a daemon. Exits with 1 if nothing that tacitd wrote contains TEXT.
    """
    found: list[dict[str, Any]] = []
    for where in REASON_FUNCTIONS:
        module, _, name = where.partition(":")
        reasons: Reasons = getattr(import_module(module), name)
        found += reasons(asked, resolve_directory(cwd))
    if as_json:
        echo_json(found)
    else:
        for one in found:
            _echo_reason(one)
    if not found:
        echo_message(f"nothing that tacitd wrote here contains {asked!r}")
        ctx.exit(FAILED)


def _echo_reason(one: dict[str, Any]) -> None:
    click.echo(one["what"])
    click.echo(f"    {one['where']}, {one['at']}")
    for session in one["sessions"]:
        click.echo(f"    from session {session}")
    for words in one["words"]:
        click.echo(f"    you said: {words}")
