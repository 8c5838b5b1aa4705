"""`tacitd rescue`: prompts that were rejected, or that have waited for more than a day."""

from __future__ import annotations

import click

from tacitd.cli.common import connect_or_run, echo_json, echo_message, escape_output, json_option
from tacitd.cli.control_commands import echo_sync
from tacitd.errors import PARKED, UsageError
from tacitd.text.wording import count_noun, format_table


@click.group(
    invoke_without_command=True,
    epilog="\b\nExample: tacitd rescue\nExample: tacitd rescue drop 4f1c…\nExample: tacitd rescue retry --all",
)
@json_option("Print JSON: id, project, reason, text, …")
@click.pass_context
def rescue(ctx: click.Context, as_json: bool) -> None:
    """List the prompts that wait or were rejected.

    Their text is kept, because Claude Code deletes transcripts after 30 days.
    """
    if ctx.invoked_subcommand is not None:
        return
    with connect_or_run() as call:
        kept = call("rescued")["kept"]
    if as_json:
        echo_json(kept)
        return
    rows = [(one["id"], escape_output(one["project"]), escape_output(one["reason"])) for one in kept]
    head, *lines = format_table(("ID", "PROJECT", "REASON"), rows) or [""]
    if kept:
        click.echo(head)
    for line, one in zip(lines, kept, strict=True):
        click.echo(line)
        click.echo(f"    {one['text'][:200]!r}")
    if not kept:
        echo_message("nothing waits here")


@rescue.command(epilog="\b\nExample: tacitd rescue drop 4f1c…")
@click.argument("ids", nargs=-1, required=True)
def drop(ids: tuple[str, ...]) -> None:
    """Delete these prompts: they are not tried again."""
    with connect_or_run() as call:
        dropped = call("drop", ids=list(ids))["dropped"]
    if not dropped:
        raise UsageError("nothing is kept under these ids", "`tacitd rescue` lists the ids")
    echo_message(f"dropped {dropped}")


@rescue.command(epilog="\b\nExample: tacitd rescue retry --all")
@click.argument("ids", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Everything that was rejected or is parked.")
@click.pass_context
def retry(ctx: click.Context, ids: tuple[str, ...], everything: bool) -> None:
    """Try these prompts again. Each may cost up to two more calls, within the budget.

    Prints the result. Ends with 75 if something is still parked.
    """
    if everything == bool(ids):
        raise UsageError("name ids, or --all", "`tacitd rescue` lists the ids")
    with connect_or_run() as call:
        said = call("retry", all=True) if everything else call("retry", ids=list(ids))
        after = call("sync") if said["retried"] or everything else None
    if ids and not said["retried"]:
        hint = "`tacitd rescue` lists the ids; parked work is retried automatically, or now with `tacitd rescue retry --all`"
        raise UsageError("nothing was rejected under these ids", hint)
    tried = [count_noun(said["retried"], "rejected prompt")]
    tried += [count_noun(said["parked"], "parked work item")] if everything else []
    if said["retried"] or said["parked"]:
        echo_message(f"tried again: {', '.join(tried)}")
    else:
        echo_message("nothing was rejected, and nothing is parked that can be tried now")
    if after is not None:
        echo_sync(after)
        ctx.exit(PARKED if after["parked"] or not after["done"] else 0)
