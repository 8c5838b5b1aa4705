"""`tacitd status`: the status document as lines for a person, or as JSON.

The document is made in the engine. `status` must feel instant, so nothing heavy is imported here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from tacitd.cli.common import echo_json, echo_message, get_paths
from tacitd.cli.parked_lines import parked_lines
from tacitd.control.client import BusyError, call_daemon
from tacitd.dispatch.waiting_lines import describe_waiting
from tacitd.errors import UNAVAILABLE, UnavailableError
from tacitd.state.paths import SNAPSHOT, find_file_in_the_way


@click.command(epilog="\b\nExample: tacitd status --json | jq .budget")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the whole document; docs/status.md describes it."
)
@click.pass_context
def status(ctx: click.Context, as_json: bool) -> None:
    """Show what tacitd does, what it waits for, and what it cost.

    If no daemon runs, it shows the last status that was saved, and ends with 69.
    """
    places = get_paths()
    try:
        document = call_daemon(places.socket, "status")
    except BusyError:
        raise  # a daemon runs, so the saved status is out of date
    except UnavailableError:
        document = read_last_status(places.state_dir / SNAPSHOT)
    in_the_way = None if document["running"] else find_file_in_the_way(places.state_dir)
    if as_json:
        echo_json(document)
    elif in_the_way is None:
        for text in format_status(document):
            click.echo(text)
    if in_the_way is not None:
        echo_message(f"no daemon runs; {in_the_way} is a file where a directory belongs: move it away")
        ctx.exit(UNAVAILABLE)
    if not document["running"]:
        echo_message("no daemon runs; `tacitd run` starts one")
        ctx.exit(UNAVAILABLE)


def read_last_status(path: Path) -> dict[str, Any]:
    """The saved status of the last daemon, with `running` false; a document without `version` if there is none."""
    never: dict[str, Any] = {"schema": 1}
    gone = {"running": False, "pid": None, "state": "stopped"}
    try:
        document: dict[str, Any] = {**json.loads(path.read_bytes()), **gone}
        list(format_status(document))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return never | gone  # missing, or of another version
    return document


def format_status(document: Mapping[str, Any]) -> Iterator[str]:
    """Given the status document, yield the lines for a person."""
    if "version" not in document:
        yield "tacitd has not run here yet"
        return
    since = f" since {document['since']}" if document["running"] else f", last seen {document['as_of']}"
    yield f"tacitd {document['version']}: {document['state']}{since}"
    watching = document["watching"]
    yield f"watching  {watching['transcripts']} transcripts below {watching['root']}"
    yield from _damage_lines(watching["lines"])
    yield from _model_lines(document["model"], document["budget"])
    for name, one in document["slices"].items():
        for text in one.get("says", ()):
            yield text if text.startswith("!") else f"{name:<9} {text}"
    yield from _lag_lines(document["handlers"])
    yield from _waiting_rows(document)
    for one in document["degraded"]:
        yield f"! {one['what']}"
        if one["hint"]:
            yield f"  hint: {one['hint']}"


def _lag_lines(handlers: Mapping[str, Any]) -> Iterator[str]:
    """The lag: a line for each handler that has not handled everything yet, or `none`."""
    for name, one in handlers.items():
        lag = one["lag"]
        if lag["transcripts"] or one["gathering"]:
            what = f"{one.get('waiting', 0)} prompts wait in {lag['transcripts']} transcripts, {lag['bytes']} bytes"
            yield f"lag       {name}: {what}"
    if not any(one["lag"]["transcripts"] or one["gathering"] for one in handlers.values()):
        yield "lag       none"


def _damage_lines(counts: Mapping[str, int]) -> Iterator[str]:
    """Counts of transcript lines that were not read as usual, since the start."""
    if counts.get("damaged"):
        yield f"! {counts['damaged']} damaged lines; {counts.get('salvaged', 0)} complete records in them were read"
    if counts.get("long"):
        yield f"! {counts['long']} lines longer than 8 MB were skipped"
    if counts.get("failed"):
        yield f"! {counts['failed']} lines were skipped because a rule failed on them: the log names them"
    unknown = sum(number for name, number in counts.items() if name.startswith("unknown type"))
    if unknown:
        yield f"  {unknown} lines of types unknown to this version were skipped"


def _model_lines(model: Mapping[str, Any], budget: Mapping[str, Any]) -> Iterator[str]:
    if model:
        where = model.get("program") or "not found"
        yield f"model     claude: {where}; {model.get('children', 0)} children"
    yield (
        f"spent     today {budget['calls_today']} of {budget['calls_per_day']} calls, "
        f"${budget['usd_today']:.2f} of ${budget['usd_per_day']:.2f}; "
        f"this month ${budget['usd_month']:.2f} of ${budget['usd_per_month']:.2f}"
    )


def _waiting_rows(document: Mapping[str, Any]) -> Iterator[str]:
    for hold in document["paused"]:
        yield f"paused    {hold['scope']} {hold['name']}".rstrip()
    for text, hint in parked_lines(document["parked"]):
        yield f"parked    {text}"
        if hint:
            yield f"          hint: {hint}"
    # Where no daemon runs, nothing writes the lines of open sessions at that time.
    for text in describe_waiting(
        document.get("waits", ()), document.get("sessions", ()) if document["running"] else ()
    ):
        yield f"waits     {text}"
    if document["dead_letters"] or document["rescued"]:
        yield f"rejected  {document['dead_letters']} dead letters; {document['rescued']} texts kept"
        for one in document.get("rescued_by_reason", ()):  # the snapshot of an older daemon has no such field
            yield f"          {one['texts']} of {one['handler']}: {one['reason']}"
        yield "          hint: `tacitd rescue` lists them, `tacitd rescue retry --all` tries them again"
