"""The learning plugin's commands: learned, init, synthesize, demo.

`scan` is in its own module; link, share and exclude are in `link`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from tacitd.cli.common import connect_or_run, echo_json, echo_message, get_paths, resolve_directory
from tacitd.cli.control_commands import echo_reasons
from tacitd.cli.parked_lines import parked_lines
from tacitd.errors import PARKED, UsageError


@click.command(epilog="\b\nExample: tacitd learned ~/work/app --json | jq -r '.[].line'")
@click.argument("project", metavar="[DIR]", required=False)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print JSON: file, heading, line, time, sessions, confidence, counts.",
)
@click.option(
    "--withheld",
    "offered",
    is_flag=True,
    help="List lines that you removed and that were learned again since.",
)
@click.option(
    "--refused",
    "refused",
    is_flag=True,
    help="List what the model proposed in the last 90 days and tacitd did not store, with the reason.",
)
def learned(project: str | None, as_json: bool, offered: bool, refused: bool) -> None:
    """List what was learned in a project: every line that tacitd wrote and that is still in its file."""
    from tacitd_handlers.learning.inventory import list_learned

    if refused:
        _show_refused(resolve_directory(project), as_json)
        return
    if offered:
        _show_withheld(resolve_directory(project), as_json)
        return
    found = list_learned(resolve_directory(project), get_paths().state_dir)
    if as_json:
        echo_json([entry.as_data() for entry in found])
        return
    at = ("", "")
    for entry in found:
        if (entry.file, entry.heading) != at:
            at = (entry.file, entry.heading)
            click.echo(f"{entry.file} · {entry.heading}" if entry.heading else entry.file)
        count = entry.describe_count()
        click.echo(f"  - {entry.line}" + (f"  ({count})" if count else ""))
    if not found:
        echo_message("nothing was learned here yet")


def _show_withheld(project: Path, as_json: bool) -> None:
    """Print the withheld lines. A user who wants one writes it back by hand, which lifts its tombstone (SPEC S-28)."""
    from tacitd_handlers.learning.inventory import list_withheld

    found = list_withheld(project, get_paths().state_dir)
    if as_json:
        echo_json([{"line": one, "file": file} for one, file in found.items()])
        return
    for one, file in found.items():
        click.echo(f"{file}: {one}")
    if not found:
        echo_message("nothing is withheld here")


def _show_refused(project: Path, as_json: bool) -> None:
    """Print the refused texts, oldest first. A user accepts one by writing it into LEARNED.md (SPEC S-24)."""
    from tacitd.clock import utc_seconds
    from tacitd_handlers.learning.inventory import list_refusals

    found = list_refusals(project, get_paths().state_dir)
    if as_json:
        echo_json([{**one, "at": utc_seconds(float(one["at"]))} for one in found])
        return
    for one in found:
        click.echo(f"{utc_seconds(float(one['at']))}  {one['verdict']}  {one['kind']}: {one['text']}")
        click.echo(f"  because {one['reason']}")
        for words in one["words"]:
            click.echo(f"  from: {words}")
    if found:
        echo_message("to accept one, write it into LEARNED.md by hand")
    else:
        echo_message("nothing was refused here in the last 90 days")


@click.command(epilog="\b\nExample: tacitd init ~/work/app")
@click.argument("project", metavar="[DIR]", required=False)
@click.pass_context
def init(ctx: click.Context, project: str | None) -> None:
    """Set up a project: create LEARNED.md if it is missing, and the summary of what is known.

    If there are directives or an AGENTS.md, the model is asked once; without an answer the documents' own lines are used.
    """
    root = resolve_directory(project)
    with connect_or_run() as call:
        where = call("due", job="init", project=str(root))["project"]
        result = call("sync")
    code = _echo_parked(result, where)
    if not code and not (Path(where) / "LEARNED.md").exists():
        raise UsageError(f"{where} is excluded: nothing was written", f"`tacitd exclude --undo {where}`")
    if not code:
        echo_message(f"{where}/LEARNED.md and its summary are there")
    ctx.exit(code)


@click.command(epilog="\b\nExample: tacitd synthesize")
@click.argument("project", metavar="[DIR]", required=False)
@click.pass_context
def synthesize(ctx: click.Context, project: str | None) -> None:
    """Write lines for the facts that wait in a project now, without waiting for its session to end; print the lines."""
    root = resolve_directory(project)
    with connect_or_run() as call:
        result = call("sync", due=[{"job": "synthesize", "project": str(root)}])
    where = result["jobs"][0]["project"]
    code = _echo_parked(result, where)
    ctx.exit(code or echo_lines(result, where))


def echo_lines(result: Mapping[str, Any], where: str) -> int:
    """Given the answer of `sync` and the project's root, print the lines that were written, or why there are none.

    Returns the exit code: 75 if facts of this project still wait, 0 otherwise.
    """
    for one in result["made"]:
        echo_message(one["line"])
    waited, waits = (_list_facts(result[key], where) for key in ("waited", "waits"))
    if waits:
        facts = ", ".join(waits)
        verb = "waits" if facts.startswith("1 ") else "wait"
        echo_message(f"{facts} still {verb} in {where}")
        echo_reasons(result, [where])
        return PARKED
    if not waited and not result["made"]:
        echo_message(f"no facts wait in {where}: nothing to do")
    elif not result["made"]:
        unmade = result.get("unmade", ())  # a daemon of an older version does not send it
        why = "; ".join(dict.fromkeys(one["text"] for one in unmade if one["where"] == where))
        why = why or "it is written there already, or the model made no line of it"
        echo_message(f"{', '.join(waited)} made no new line in {where}: {why}")
    return 0


def _list_facts(rows: Iterable[Mapping[str, Any]], where: str) -> list[str]:
    """The counts of facts in the rows of `waits` that are of this project, such as `2 facts`."""
    return [one["what"] for one in rows if one["project"] == where and one["job"] == "synthesize"]


def _echo_parked(result: Mapping[str, Any], where: str) -> int:
    """Print what is parked for this project. Return the exit code: 75 if anything is, 0 otherwise."""
    parked = [one for one in result["parked"] if one.get("project", where) == where]
    for text, hint in parked_lines(parked):
        echo_message(f"parked: {text}")
        if hint:
            echo_message(f"hint: {hint}")
    return PARKED if parked else 0


@click.command(epilog="\b\nExample: tacitd demo")
def demo() -> None:
    """Show how tacitd works: typed prompts, extracted facts, LEARNED.md, status.

    A scripted model answers instead of Claude, and is labelled as such. Only a temporary directory is written.
    """
    import signal
    import sys

    from tacitd_handlers.learning.demo import play_demo

    # Exit through SystemExit, so that the temporary directory is removed.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda got, _: sys.exit(128 + got))
    for text in play_demo():
        click.echo(text)
