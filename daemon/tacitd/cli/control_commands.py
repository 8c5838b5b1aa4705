"""The commands `stop` and `sync`, which call a running daemon, `rescue`, and those that only change rows: `pause`, `resume`, `project`."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Collection, Mapping
from typing import Any

import click

from tacitd.cli.common import (
    connect_or_run,
    echo_json,
    echo_message,
    escape_output,
    find_project,
    get_paths,
    json_option,
    leave_to_daemon,
    open_store,
    read_store,
    resolve_directory,
    wake_daemon,
)
from tacitd.cli.program import OrderedGroup, load_plugin_table
from tacitd.cli.status_command import call_running_daemon, find_reasons, parked_lines
from tacitd.clock import SystemClock
from tacitd.control.client import BusyError, call_daemon
from tacitd.errors import PARKED, TacitdError, UnavailableError, UsageError
from tacitd.files.locks import find_holder
from tacitd.state.paths import Paths, find_silent_daemon
from tacitd.state.person_choices import Choice, Scope, choose, withdraw
from tacitd.text.wording import count_noun
from tacitd.work.project_rows import list_aliases
from tacitd.work.prompt_rows import drop_prompts, list_rescued
from tacitd.work.task_rows import RETRY, make_parked_due, try_again
from tacitd.work.work_status import PAUSED, PAUSED_SESSION, describe_waiting
from tacitd.work.write_modes import set_pause

LONGEST = 200
"""Characters of a session's id."""
LATE = 10.0
"""Seconds by which an answer may be later than the timeout of `sync`."""


@click.command(epilog="\b\nExample: tacitd stop")
def stop() -> None:
    """Stop the running daemon and wait until it has ended.

    No work is lost: what it was doing is done again at the next start.
    """
    from tacitd.service.detach import wait_until_gone

    places = get_paths()
    try:
        call_daemon(places.socket, "stop")
    except BusyError as error:
        raise UnavailableError(error.what, _describe_kill(places) or error.hint) from None
    except UnavailableError as error:  # its socket may be gone, such as one in /tmp
        pid = find_silent_daemon(places.state_dir)
        if pid is None:
            hint = "nothing is to be stopped; `tacitd run` starts one"
            raise UnavailableError(error.what, hint) from None
        os.kill(pid, signal.SIGTERM)
    if not wait_until_gone(places.state_dir):
        hint = _describe_kill(places) or "`tacitd service logs` shows its log"
        raise UnavailableError("the daemon still runs after 20 s", hint)
    echo_message("stopped")


def _describe_kill(places: Paths) -> str:
    """How a daemon is ended that does not end by itself; "" if its process is not known."""
    pid = find_holder(places.state_dir / "lock")
    return f"try again, or `kill -9 {pid}`, then `tacitd start`: no work is lost" if pid else ""


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
    --write it is done now. Ends with 75 if something else waits, with --write also if something could not be written, and prints what
    and why. What you paused or excluded waits for you: `tacitd resume`, `tacitd exclude --undo`.
    """
    places = get_paths()
    # `sync` has no time limit of its own, so a stopped or stuck daemon would block it for ever.
    call_running_daemon(places, "ping")
    limit = None if timeout is None else timeout + LATE
    said = call_daemon(places.socket, "sync", {"timeout": timeout, "write": write}, limit)
    if as_json:
        echo_json(said)
    else:
        echo_sync(said, write=write)
    ctx.exit(PARKED if not said["done"] or find_undone(said, write=write) else 0)


def find_undone(said: Mapping[str, Any], *, write: bool = False) -> list[Mapping[str, Any]]:
    """The rows of a `sync` that wait although nobody wants it: what is parked, and with `write` what still waits for a session's end.
    What a person paused or excluded waits for them.
    """
    held = [row for row in said["parked"] if row["reason"].startswith(PAUSED)]
    roots = {row.get("project") for row in held if not row["reason"].startswith(PAUSED_SESSION)}
    waits = [row for row in said["waits"] if row.get("job") != "" and row["project"] not in roots]
    return [*(row for row in said["parked"] if row not in held), *(waits if write else ())]


def echo_sync(said: Mapping[str, Any], *, write: bool = False) -> None:
    """Print the result of a `sync` on stderr: what was made, or why nothing was, what is parked, what waits;
    with `write` also why."""
    for one in (*said["made"], *said["unmade"]):
        echo_message(one["line"])
    if not said["done"]:
        echo_message("not done in time; the daemon continues in the background")
    for text, hint in parked_lines(said["parked"]):
        echo_message(f"parked: {text}", hint)
    for text in describe_waiting(said["waits"]):
        echo_message(f"waits: {text}")
    if write:
        echo_reasons(said, {str(row["project"]) for row in said["waits"]})
    elif len(find_undone(said, write=True)) > len(find_undone(said)):
        echo_message("hint: `tacitd sync --write` does it now")
    if rescued := said["rescued"]:
        echo_message(f"{count_noun(rescued, 'text')} rejected or waiting: `tacitd rescue` lists them")
    if said["done"] and not find_undone(said):
        echo_message("all read" if said["waits"] or said["parked"] or rescued else "all handled")


def echo_reasons(said: Mapping[str, Any], projects: Collection[str]) -> None:
    """Print what is degraded in these projects (roots), with its hint."""
    for what, hint in find_reasons(said["degraded"], sorted(projects)):
        echo_message(what, hint)


def _set_pause(project: str | None, session: str | None, *, held: bool) -> tuple[str, dict[str, Any]]:
    """Pause or resume everything, a project or a session. Returns what, and what `set_pause` does."""
    if project and session:
        raise click.UsageError("--project and --session exclude each other")
    if "" in (project, session):  # an unset shell variable must not mean everything
        raise click.UsageError("the name is empty; leave the option out for everything")
    scope: Scope = "session" if session else "project" if project else "all"
    name = session or (str(find_project(project).root) if project else "")
    if session and (not session.isprintable() or any(map(str.isspace, session)) or len(session) > LONGEST):
        raise UsageError("this is no session's id", "`tacitd sessions list` has them")
    answers = wake_daemon()  # what was typed before is read first, and counted
    with open_store() as store:
        done = set_pause(store, get_paths().state_dir, scope, name, SystemClock().now(), held=held)
        done["known"] = scope != "session" or bool(store.rows("SELECT 1 FROM session WHERE id = ?", name))
    if answers:
        wake_daemon()
    return f"{scope} {name}".rstrip(), done


@click.command(epilog="\b\nExample: tacitd pause --project ~/work/secret")
@click.option("--project", metavar="DIR", help="Only this project (a directory in it).")
@click.option("--session", help="Only this session, by its id.")
def pause(project: str | None, session: str | None) -> None:
    """Pause learning. What you type meanwhile is passed over: it is never sent to the model, also not after `tacitd resume`.

    It survives a restart, and needs no daemon. What you typed before waits for `resume`.
    """
    what, said = _set_pause(project, session, held=True)
    echo_message(f"{'paused' if said['changed'] else 'already paused'}: {what}")
    if not said["known"]:
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
    what, said = _set_pause(project, session, held=False)
    echo_message(f"{'resumed' if said['changed'] else 'was not paused'}: {what}")
    if passed := said["passed"]:
        echo_message(
            f"{count_noun(passed, 'prompt')} passed over, never to be sent; "
            "`tacitd scan --since` takes them, if you ask for it"
        )
    for one in said["paused"]:
        option = f" --{one['scope']} {shlex.quote(one['name'])}" if one["name"] else ""
        echo_message(f"still paused: {one['scope']} {one['name']}".rstrip() + f": `tacitd resume{option}`")


# --- `tacitd rescue`


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
    kept = read_store(lambda rows: list_rescued(rows, SystemClock().now())) or []
    if as_json:
        echo_json(kept)
        return
    for one in kept:
        click.echo(f"{one['id']}  {escape_output(one['project'])}: {escape_output(one['reason'])}")
        click.echo(f"    {one['text'][:200]!r}")
    if not kept:
        echo_message("nothing was rejected or has waited for a day; `tacitd status` shows what waits")


@rescue.command(epilog="\b\nExample: tacitd rescue drop 4f1c…")
@click.argument("ids", nargs=-1, required=True)
def drop(ids: tuple[str, ...]) -> None:
    """Delete these prompts: they are not tried again."""
    now = SystemClock().now()
    with open_store() as store, store.write() as tx:
        dropped = drop_prompts(tx, ids, now)
        make_parked_due(tx, now)
    wake_daemon()
    if not dropped:
        raise TacitdError("nothing is kept under these ids", "`tacitd rescue` lists the ids")
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
    plugins = [one.name for one in load_plugin_table().plugins if any(job.name == RETRY for job in one.jobs)]
    with open_store() as store, store.write() as tx:
        prompts, tasks = try_again(tx, None if everything else set(ids), plugins, SystemClock().now())
    if ids and not prompts:
        raise TacitdError("nothing was rejected under these ids", "`tacitd rescue` lists the ids")
    parked = f", {count_noun(tasks, 'parked work item')}" if everything else ""
    what = f"{count_noun(prompts, 'rejected prompt')}{parked}"
    try:
        with connect_or_run() as call:
            after = call("sync")
    except UnavailableError as error:
        echo_message(f"to be tried again: {what}")
        raise leave_to_daemon(error) from None
    echo_message(f"tried again: {what}")
    echo_sync(after)
    ctx.exit(PARKED if find_undone(after) or not after["done"] else 0)


# --- `tacitd project`


@click.group(cls=OrderedGroup, epilog="\b\nExample: tacitd project alias /workspaces/app ~/app")
def project() -> None:
    """Say which project a directory of a container, or of another machine, is here."""


@project.command(
    epilog="\b\nExample: tacitd project alias /workspaces/app ~/app\nExample: tacitd project alias --remove /workspaces/app"
)
@click.argument("name", metavar="[DIR", required=False)
@click.argument("place", metavar="HERE]", required=False)
@click.option("--remove", is_flag=True, help="Forget what was said of DIR.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def alias(name: str | None, place: str | None, remove: bool, as_json: bool) -> None:
    """Say that sessions which name DIR work in the directory HERE. Without arguments, list what was said.

    For a container that shares your ~/.claude: it names its own directory, which does not exist here. What was typed there waits, and
    is learned in the project of HERE. The choice is kept over a restart.
    """
    if name is None:
        found = read_store(list_aliases) or {}
        if as_json:
            echo_json(found)
        for known, where in () if as_json else found.items():
            click.echo(f"{known} -> {where}")
        return
    name, state_dir = name.rstrip("/"), get_paths().state_dir
    if remove == (place is not None):
        raise UsageError("give the directory here, or --remove", "see `tacitd project alias --help`")
    if place is None:
        with open_store() as store, store.write() as tx:
            was_there = withdraw(tx, state_dir, Choice("project", name, "alias"))
        if not was_there:
            raise TacitdError(f"nothing was said of {name}", "`tacitd project alias` lists what was said")
        echo_message(f"{name}: forgotten")
        return
    here = resolve_directory(place).resolve()
    if not name.startswith("/"):
        raise UsageError(
            f"{name} is not an absolute path", "name it as the sessions do, such as /workspaces/app"
        )
    if os.path.lexists(name):
        raise UsageError(f"{name} exists here", "what is typed there belongs to it")
    with open_store() as store, store.write() as tx:
        choose(tx, state_dir, Choice("project", name, "alias", str(here), SystemClock().now()))
    echo_message(f"{name} is {here}; what was typed there is learned within a minute, if a daemon runs")
