"""`tacitd adopt`: make a line that was learned in three projects a rule of the person for all projects (SPEC S-55)."""

from __future__ import annotations

import os

import click

from tacitd.cli.common import echo_json, echo_message, escape_output, get_paths
from tacitd.errors import UsageError
from tacitd.mcp.agent_caller import require_person
from tacitd.text.text_table import format_table


@click.command(epilog='\b\nExample: tacitd adopt "use pnpm"')
@click.argument("text", required=False)
@click.option("--drop", is_flag=True, help="Decline it instead: it is not offered again.")
@click.option("--json", "as_json", is_flag=True, help="Print the open offers as JSON.")
def adopt(text: str | None, drop: bool, as_json: bool) -> None:
    """Make a line that was learned in at least three projects a rule for all projects. Every session loads it then.

    TEXT is a part of one offered line. Without it, the offered lines are listed. To take a rule back, use
    `tacitd forget`, or delete its line in `rules/tacitd.md` of Claude Code's directory.
    """
    from tacitd.clock import SystemClock
    from tacitd_handlers.learning.adopted_rules import AdoptedRules, list_open_offers
    from tacitd_handlers.learning.offer_items import make_offer_id

    state_directory = get_paths().state_dir
    offers = list_open_offers(state_directory)
    if text is None:
        if drop:
            raise UsageError("--drop needs the line that is declined", "`tacitd adopt` lists the offers")
        if as_json:
            echo_json(
                [
                    {
                        "id": make_offer_id(one.line),
                        "line": one.line,
                        "projects": [str(root) for root in one.roots],
                    }
                    for one in offers
                ]
            )
            return
        rows = [(escape_output(one.line), escape_output(", ".join(map(str, one.roots)))) for one in offers]
        for row in format_table(("LINE", "LEARNED IN"), rows):
            click.echo(row)
        if not offers:
            echo_message("no line was learned in three projects")
        return
    require_person(os.environ, "making a rule for all projects")
    named = [one.line for one in offers if text.casefold() in one.line.casefold()]
    if len(named) != 1:
        what = "no offered line contains" if not named else "several offered lines contain"
        raise UsageError(f"{what} {text!r}", "`tacitd adopt` lists the offers")
    rules = AdoptedRules(state_directory / "handlers" / "learning")
    rules.add(named[0], take=not drop, at=SystemClock().now())
    echo_message(f"declined: {named[0]}" if drop else f"a rule for all projects now: {named[0]}")
