"""The learning plugin's commands: init, synthesize, demo.

`learned`, `scan`, and `share` with `exclude` are in modules of their own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import uuid4

import click

from tacitd.cli.common import connect_or_run, echo_message, resolve_directory
from tacitd.cli.control_commands import echo_reasons
from tacitd.cli.status_command import find_reasons, parked_lines
from tacitd.clock import SystemClock
from tacitd.errors import PARKED
from tacitd.files.git import find_project_root
from tacitd.work.work_status import describe_waiting
from tacitd_handlers.learning.waiting_facts import SYNC, describe_time_of_writing
from tacitd_handlers.shared.rule_names import AGENTS, LEARNED, SEE_ALSO
from tacitd_handlers.shared.safe_read import read_text


@click.command(epilog="\b\nExample: tacitd init ~/work/app")
@click.argument("project", metavar="[DIR]", required=False)
def init(project: str | None) -> None:
    """Set up a project: create LEARNED.md if it is missing, and the summary of what is known.

    If there are directives or an AGENTS.md, the model is asked about each once; without an answer the documents' own lines are used.
    For an AGENTS.md that does not name LEARNED.md, the line by which other agents find it is printed; Claude Code needs none.
    """
    directory = resolve_directory(project)
    with connect_or_run() as call:
        call("task", plugin="learning", key=f"init {uuid4()}", project=str(directory), data={"do": "init"})
    root = find_project_root(directory)
    echo_message(f"{root}/LEARNED.md and its summary are there")
    agents = read_text(root / AGENTS)
    if agents and LEARNED not in agents:
        echo_message(f"hint: other agents find it by this line in {root / AGENTS}: {SEE_ALSO}")


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

    Returns the exit code: 75 if facts of this project still wait, or its files cannot be written now, 0 otherwise.
    """
    for one in result["made"]:
        echo_message(one["line"])
    waited, waits = (_list_facts(result[key], where) for key in ("waited", "waits"))
    if waits:
        for row in waits:
            verb = "waits" if row["what"].startswith("1 ") else "wait"
            when = describe_time_of_writing(row, SystemClock().now())
            echo_message(f"{row['what']} still {verb} in {where}, {when}")
        echo_reasons(result, [where])
        _echo_others(result, where)
        return PARKED
    if not waited and not result["made"]:
        echo_message(f"no facts wait in {where}: nothing to do")
    elif not result["made"]:
        unmade = result.get("unmade", ())  # a daemon of an older version does not send it
        why = "; ".join(dict.fromkeys(one["text"] for one in unmade if one["where"] == where))
        why = why or "it is written there already, or the model made no line of it"
        facts = ", ".join(row["what"] for row in waited)
        echo_message(f"{facts} made no new line in {where}: {why}")
    _echo_others(result, where)
    if _list_busy(result):
        echo_reasons({"degraded": _list_busy(result)}, [where])
        return PARKED if any(find_reasons(_list_busy(result), [where])) else 0
    return 0


def _list_busy(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The rows of `degraded` about files that are decided on and cannot be written now."""
    return [one for one in result["degraded"] if one.get("id") in ("files.busy", "files.unfinished")]


def _list_facts(rows: Iterable[Mapping[str, Any]], where: str) -> list[Mapping[str, Any]]:
    """The rows of `waits` about facts of this project; `what` is their count, such as `2 facts`."""
    return [one for one in rows if one["project"] == where and one["job"] == "synthesize"]


def _echo_others(result: Mapping[str, Any], where: str) -> None:
    """Print what waits in other projects, when it is written, and the command that does all of it now."""
    others = [row for row in result["waits"] if row["project"] != where]
    for text in describe_waiting(others):
        echo_message(f"waits: {text}")
    if any(row.get("job") != "" for row in others):
        echo_message(f"hint: {SYNC}")


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

    from tacitd_handlers.learning.demo import play_demo

    # Exit through SystemExit, so that the temporary directory is removed.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda got, _: sys.exit(128 + got))
    for text in play_demo():
        click.echo(text)
