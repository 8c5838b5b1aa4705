"""`tacitd rescue`: words that were rejected, or that have waited for more than a day."""

from __future__ import annotations

import click

from tacitd.cli.control import tell_sync
from tacitd.cli.places import data, somewhere, talk
from tacitd.errors import PARKED, UsageError


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
@click.pass_context
def retry(ctx: click.Context, ids: tuple[str, ...], everything: bool) -> None:
    """Try these words again. They may be paid for up to twice more, within the budget.

    Prints what came of it. Ends with 75 where something is still parked.
    """
    if everything == bool(ids):
        raise UsageError("name ids, or --all", "`tacitd rescue` lists the ids")
    with somewhere() as call:
        said = call("retry", all=True) if everything else call("retry", ids=list(ids))
        after = call("sync") if said["retried"] or everything else None
    if ids and not said["retried"] and not said["gone"]:
        hint = "`tacitd rescue` lists what is kept; what is parked is tried again by itself, or now by `tacitd rescue retry --all`"
        raise UsageError("nothing was rejected under these ids", hint)
    talk(_count_tried(said["retried"], said.get("parked", 0), everything=everything))
    for id in said["gone"]:
        talk(f"{id}: its transcript is gone; `tacitd rescue` has its words, type them again in a session")
    if after is not None:
        tell_sync(after)
        ctx.exit(PARKED if after["parked"] or not after["done"] else 0)


def _count_tried(prompts: int, parked: int, *, everything: bool) -> str:
    """`tried again: 1 rejected prompt, 2 parked pieces of work`."""
    if everything and not prompts and not parked:
        return "nothing was rejected, and nothing is parked that can be tried now"
    tried = f"tried again: {prompts} rejected prompt{'' if prompts == 1 else 's'}"
    return f"{tried}, {parked} parked piece{'' if parked == 1 else 's'} of work" if everything else tried
