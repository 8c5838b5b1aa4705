"""`tacitd rescue`: words that were rejected, or that have waited for more than a day."""

from __future__ import annotations

import click

from tacitd.cli.places import data, somewhere, talk
from tacitd.errors import UsageError


@click.group(
    invoke_without_command=True, epilog="\b\nExample: tacitd rescue\nExample: tacitd rescue drop 4f1c…"
)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_context
def rescue(ctx: click.Context, as_json: bool) -> None:
    """Words that wait or were rejected. They are kept here because Claude Code deletes transcripts after 30 days."""
    if ctx.invoked_subcommand is not None:
        return
    with somewhere() as call:
        kept = call("rescued")["kept"]
    if as_json:
        data(kept)
        return
    for one in kept:
        click.echo(f"{one['id']}  {one['project']}  {one['reason']}")
        click.echo(f"    {one['text'][:200]!r}")
    if not kept:
        talk("nothing waits here")


@rescue.command()
@click.argument("ids", nargs=-1, required=True)
def drop(ids: tuple[str, ...]) -> None:
    """Let go of these words for good."""
    with somewhere() as call:
        dropped = call("drop", ids=list(ids))["dropped"]
    if not dropped:
        raise UsageError("nothing is kept here under these ids", "`tacitd rescue` lists what is")
    talk(f"dropped {dropped}")
