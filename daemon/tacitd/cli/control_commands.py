"""The commands `stop`, `sync`, `pause` and `resume`, which call a running daemon."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping
from typing import Any

import click

from tacitd.cli.common import (
    connect_daemon,
    echo_json,
    echo_message,
    get_paths,
    json_option,
    resolve_directory,
)
from tacitd.cli.status_lines import find_reasons, parked_lines
from tacitd.control.client import call_daemon
from tacitd.errors import PARKED, UnavailableError
from tacitd.text.wording import count_noun
from tacitd.work.work_status import describe_waiting

LATE = 10.0
"""Seconds by which an answer may be later than the timeout of `sync`."""


@click.command(epilog="\b\nExample: tacitd stop")
def stop() -> None:
    """Stop the running daemon and wait until it has ended.

    No work is lost: what it was doing is done again at the next start.
    """
    from tacitd.service.detach import wait_until_gone

    places = get_paths()
    call_daemon(places.socket, "stop")
    if not wait_until_gone(places.state_dir):
        raise UnavailableError("the daemon still runs after 20 s", "`tacitd service logs` shows its log")
    echo_message("stopped")


@click.command(epilog="\b\nExample: tacitd sync --timeout 60")
@click.option("--timeout", type=click.FloatRange(min=0), default=None, help="Maximum seconds to wait.")
@click.option(
    "--write", is_flag=True, help="Write what was gathered now, without waiting for a session's end."
)
@json_option("Print JSON: what is parked, degraded, waiting and made.")
@click.pass_context
def sync(ctx: click.Context, timeout: float | None, write: bool, as_json: bool) -> None:
    """Handle everything that exists now, including gathered prompts, and wait until it is done.

    For sessions that have ended, it waits until their lines are written. What waits for a session's end is named; with
    --write it is done now. Ends with 75 if something is parked, with --write also if something still waits that could be
    written, and prints what and why. Facts of a project that you excluded wait for `tacitd exclude --undo`.
    """
    socket = get_paths().socket
    # `sync` has no time limit of its own, so a stopped or stuck daemon would block it for ever.
    call_daemon(socket, "ping")
    said = connect_daemon(socket, None if timeout is None else timeout + LATE)(
        "sync", timeout=timeout, write=write
    )
    if as_json:
        echo_json(said)
    else:
        echo_sync(said, write=write)
    # What has no job waits for the person, such as facts of an excluded project: no command can write it.
    undone = write and any(row.get("job") != "" for row in said["waits"])
    left = said["parked"] or not said["done"] or undone
    ctx.exit(PARKED if left else 0)


def echo_sync(said: Mapping[str, Any], *, write: bool = False) -> None:
    """Print the result of a `sync` on stderr: what was made, or why nothing was, what is parked, what waits.

    `write`: the command was `sync --write`, so the reason why something still waits is printed, not a hint to use it.
    """
    for one in (*said["made"], *said["unmade"]):
        echo_message(one["line"])
    if not said["done"]:
        echo_message("not done in time; the daemon continues in the background")
    for text, hint in parked_lines(said["parked"]):
        echo_message(f"parked: {text}", hint)
    for text in describe_waiting(said["waits"]):
        echo_message(f"waits: {text}")
    undone = dict.fromkeys(str(row["project"]) for row in said["waits"] if row.get("job") != "")
    if write:
        echo_reasons(said, undone)
        parked = {row.get("project") for row in said["parked"]}
        for root in undone:
            if said["done"] and root not in parked and not any(find_reasons(said["degraded"], [root])):
                echo_message(
                    f"{root}: it came after the call, or is not to be written now; the log says more"
                )
    elif undone:
        echo_message("hint: `tacitd sync --write` does it now")
    if rescued := said["rescued"]:
        verbs = "was rejected or waits" if rescued == 1 else "were rejected or wait"
        echo_message(f"{count_noun(rescued, 'text')} {verbs}: `tacitd rescue` lists them")
    if said["done"] and not said["parked"]:
        echo_message("all read" if said["waits"] or rescued else "all handled")


def echo_reasons(said: Mapping[str, Any], projects: Collection[str]) -> None:
    """Print what is degraded in these projects (roots), with its hint."""
    for what, hint in find_reasons(said["degraded"], sorted(projects)):
        echo_message(what, hint)


def _ask_pause(method: str, project: str | None, session: str | None) -> dict[str, Any]:
    """Pause or resume everything, a project or a session."""
    if project and session:
        raise click.UsageError("--project and --session exclude each other")
    if "" in (project, session):  # an unset shell variable must not mean everything
        raise click.UsageError("the name is empty; leave the option out for everything")
    scope = (
        {"session": session} if session else {"project": str(resolve_directory(project))} if project else {}
    )
    said: dict[str, Any] = connect_daemon(get_paths().socket)(method, **scope)
    return said


@click.command(epilog="\b\nExample: tacitd pause --project ~/work/secret")
@click.option("--project", metavar="DIR", help="Only this project (a directory in it).")
@click.option("--session", help="Only this session, by its id.")
def pause(project: str | None, session: str | None) -> None:
    """Pause learning. What you type meanwhile is passed over: it is never sent to the model, also not after `tacitd resume`.

    It survives a restart. What you typed before waits for `resume`.
    """
    said = _ask_pause("pause", project, session)
    what = "paused" if said["changed"] else "already paused"
    echo_message(f"{what}: {said['scope']} {said['name']}".rstrip())
    if not said.get("known", True):
        echo_message("no session with this id was read so far; `tacitd sessions list` has those that were")
    echo_message(
        "what you type meanwhile is passed over and never sent to the model, also not after `tacitd resume`"
    )


@click.command(epilog="\b\nExample: tacitd resume")
@click.option("--project", metavar="DIR", help="Only this project (a directory in it).")
@click.option("--session", help="Only this session, by its id.")
def resume(project: str | None, session: str | None) -> None:
    """Resume learning, and say how many prompts were passed over. Without an option, only a pause without an option ends:
    what else is paused stays so, and is listed.

    What was typed while it was paused stays unsent, unless you ask for it with `tacitd scan --since`. This also closes the growth breaker, which stops work when too many new sessions begin within an hour.
    """
    said = _ask_pause("resume", project, session)
    what = "resumed" if said["changed"] else "was not paused"
    echo_message(f"{what}: {said['scope']} {said['name']}".rstrip())
    if passed := said["passed"]:
        echo_message(
            f"{count_noun(passed, 'prompt')} {'was' if passed == 1 else 'were'} passed over and will not be sent; "
            "`tacitd scan --since` takes them, if you ask for it"
        )
    for one in said["paused"]:
        option = f" --{one['scope']} {shlex.quote(one['name'])}" if one["name"] else ""
        echo_message(f"still paused: {one['scope']} {one['name']}".rstrip() + f": `tacitd resume{option}`")
