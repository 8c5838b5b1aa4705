"""`tacitd rescue`: words that were rejected, or that have waited for more than a day."""

from __future__ import annotations

import click

from tacitd.cli.places import data, somewhere, talk
from tacitd.errors import UsageError


@click.group(
    invoke_without_command=True,
    epilog="\b\nExample: tacitd rescue\nExample: tacitd rescue drop 4f1c…\nExample: tacitd rescue retry --all",
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


@rescue.command()
@click.argument("ids", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Everything that was rejected or is parked.")
def retry(ids: tuple[str, ...], everything: bool) -> None:
    """Try these words again. They may be paid for up to twice more, within the budget."""
    if everything == bool(ids):
        raise UsageError("name ids, or --all", "`tacitd rescue` lists the ids")
    with somewhere() as call:
        said = call("retry", all=True) if everything else call("retry", ids=list(ids))
        if said["retried"] or everything:
            call("sync")
    if ids and not said["retried"] and not said["gone"]:
        raise UsageError("nothing was rejected under these ids", "`tacitd rescue` lists what is kept")
    talk(f"tried {said['retried']} again; `tacitd status` shows what still waits")
    for id in said["gone"]:
        talk(f"{id}: its transcript is gone; `tacitd rescue` has its words, type them again in a session")
