"""The commands `init`, `synthesize`, `demo`, `share`, `exclude`, `move` and `trust`. `learned` and `scan` are in modules of their own."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from shlex import quote
from uuid import uuid4

import click

from tacitd.cli.common import (
    StoredError,
    connect_or_run,
    echo_message,
    escape_output,
    find_project,
    get_paths,
    open_store,
    read_store,
    resolve_directory,
)
from tacitd.cli.control_commands import echo_reasons, echo_sync, find_undone
from tacitd.cli.status_command import find_reasons
from tacitd.clock import SystemClock
from tacitd.errors import PARKED, FileRefusedError, UnavailableError, UsageError
from tacitd.files.git import find_project_root
from tacitd.mcp.agent_caller import require_person
from tacitd.session_context.plugin_view import open_rows
from tacitd.state.person_choices import Choice, choose
from tacitd.state.settings_in_force import SettingsInForce
from tacitd.work.write_modes import WriteModes
from tacitd_handlers.learning import make_plugin
from tacitd_handlers.learning.learned_rows import make_line_id, read_lines_of
from tacitd_handlers.learning.sources import read_checked
from tacitd_handlers.reach.client_rules import AGENTS, LEARNED, SEE_ALSO
from tacitd_handlers.reach.rule_text import COPY
from tacitd_handlers.shared.places import read_text

NO_GIT = "it is not in git, so nothing there was or is hidden: who gets the directory gets its LEARNED.md"


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
    """Write lines for the facts that wait in a project now, without waiting for its session to end; print the lines.

    Ends with 75 if something of this project still waits, or its files cannot be written now.
    """
    root = resolve_directory(project)
    with connect_or_run() as call:
        said = call("sync", due=[{"job": "synthesize", "project": str(root)}])
    where = said["jobs"][0]["project"]
    echo_sync(said, write=True)
    # What is paused waits too: it is asked for here.
    undone = [*said["parked"], *find_undone(said, write=True)]
    waits = any(row.get("project", where) == where for row in undone)
    # Files that are decided on and cannot be written now.
    busy = [one for one in said["degraded"] if one.get("id") in ("files.busy", "files.unfinished")]
    if not waits:
        echo_reasons({"degraded": busy}, [where])
    ctx.exit(PARKED if waits or any(find_reasons(busy, [where])) else 0)


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


@click.command(epilog="\b\nExample: tacitd share ~/work/app\nExample: tacitd share --undo ~/work/app")
@click.argument("project", metavar="[DIR]", required=False)
@click.option(
    "--undo", is_flag=True, help="Hide what git does not track yet again, and write nothing that it tracks."
)
def share(project: str | None, undo: bool) -> int:
    """Share LEARNED.md and AGENTS.md with a team: remove them from this clone's `.git/info/exclude`.

    Nothing is added or committed. From then on git shows them, and new ones, like any other file. The copies in
    `.claude/rules/` stay private: each clone makes its own.
    """
    place, modes = find_project(project), _write_modes()
    root = place.root
    if modes.get_mode(place) == "off":
        raise UsageError(f"{root} is excluded", f"`tacitd exclude --undo {quote(str(root))}`")
    modes.set_mode(root, "local" if undo else "shared")
    left = _follow(root, "hide" if undo else "reveal", "git's exclude file")
    if left is None:
        return PARKED
    if not undo:
        later = "" if (root / LEARNED).exists() else ", once something is learned"
        shown = f"git shows {root / LEARNED}{later}; add and commit it if you want to"
        echo_message(shown if place.git else f"{root} counts as shared; {NO_GIT}")
        return 0
    hidden = "what tacitd makes there is hidden from git" if place.git else NO_GIT
    echo_message(f"{root} is not shared: {hidden}")
    for path in left:
        what = "is tracked by git and stays so; tacitd does not write it any more"
        echo_message(f"{path} {what}. `git rm --cached {path}` takes it out")
    return 0


@click.command(
    epilog="\b\nExample: tacitd exclude ~/work/secret\nExample: tacitd exclude --undo ~/work/secret"
)
@click.argument("project", metavar="DIR")
@click.option("--undo", is_flag=True, help="Write in the project again.")
def exclude(project: str, undo: bool) -> None:
    """Stop writing in a project. What was learned there is kept; nothing from it is sent to the model any more."""
    root, modes = find_project(project).root, _write_modes()
    modes.set_mode(root, "" if undo else "off")
    echo_message(f"{root} is {'learned from again' if undo else 'excluded'}")
    if not undo:
        echo_message("what you type there is never sent to the model; what was learned there is kept")
        echo_message(
            f"`tacitd exclude --undo {quote(str(root))}` takes it back, for what you type from then on"
        )
    for left in _follow(root, "follow", "the copies in .claude/rules") or ():
        echo_message(f"hint: {left} is not tacitd's text alone, so it stays; delete it if you do not want it")


def _follow(root: object, do: str, what: str) -> list[str] | None:
    """Have git's exclude file and the copies follow the choice; return the files that stay; None if they wait: the choice is stored and
    counts, `what` is to follow."""
    try:
        with connect_or_run() as call:
            done = call("task", plugin="learning", key=f"{do} {uuid4()}", project=str(root), data={"do": do})
    except StoredError as error:
        echo_message(error.what, error.hint)
        return None
    except UnavailableError as error:
        echo_message(f"{error.what}: the choice is stored; run this again later, so that {what} follows")
        return None
    return [str(one["text"]) for one in done["made"] if one["did"] == "kept"]


def _write_modes() -> WriteModes:
    """The projects' modes; where no choice was made, `shared` if it is configured."""
    configured = read_store(lambda rows: SettingsInForce(rows).get("projects", "write", "local"))
    return WriteModes(get_paths().state_dir, SystemClock(), "shared" if configured == "shared" else "local")


@click.command(
    epilog="\b\nExample: tacitd move 3fa1b2c4 --everywhere\nExample: tacitd move 3fa1b2c4 --here src/api"
)
@click.argument("line", metavar="ID")
@click.option("--everywhere", is_flag=True, help="To ~/.agents/LEARNED.md: it holds in all projects.")
@click.option(
    "--here", metavar="DIR", help="To the LEARNED.md of a project, or the AGENTS.md of a folder in it."
)
def move(line: str, everywhere: bool, here: str | None) -> None:
    """Move a learned line to where it holds: to all projects, to one project, or to a folder.

    `tacitd learned` shows the ids. What it was learned from, and how often it was said, goes with it.
    """
    if everywhere == bool(here):
        raise UsageError("say where it holds", "`--everywhere`, or `--here DIR`")
    place = str(resolve_directory(here)) if here else ""
    with connect_or_run() as call:
        data = {"do": "move", "id": line, "directory": place}
        made = call("task", plugin="learning", key=f"move {line}", project=place, data=data)["made"]
    text, where = made[0]["text"], made[0]["where"]
    echo_message(f"{text!r} is in {where} now, as {make_line_id(where, text)}")


@click.command(epilog="\b\nExample: tacitd trust ~/work/app\nExample: tacitd trust --remove ~/work/app")
@click.argument("project", metavar="[DIR]", required=False)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--remove", is_flag=True, help="Show sessions only the lines that tacitd wrote.")
def trust(project: str | None, yes: bool, remove: bool) -> None:
    """Print the text of LEARNED.md that tacitd did not write, and after confirmation show it to the project's sessions.

    A LEARNED.md that was there before tacitd first wrote in the project may be a stranger's: sessions get only tacitd's lines of it.
    After this they load the whole file as instructions, also what git brings later.
    """
    if not remove:
        require_person(os.environ, "trusting what came with a project")
    root, what = find_project_root(resolve_directory(project)), ""
    if not remove:
        what = "Show it" if _echo_other_text(root) else f"Show what git brings into {LEARNED} later"
    trusted = not remove and (yes or click.confirm(f"{what} to every session in {root}?", err=True))
    choice = Choice("project", str(root), "trust", "yes" if trusted else "no", SystemClock().now())
    with open_store() as store, store.write() as tx:
        choose(tx, get_paths().state_dir, choice)
    _follow(root, "follow", "the copies in .claude/rules")
    shows = "is shown to its sessions as a whole" if trusted else "shows its sessions only what tacitd wrote"
    echo_message(f"{root / LEARNED} {shows}")


def _echo_other_text(root: Path) -> bool:
    """Print what sessions do not get without trust. Returns whether there is any."""
    path = root / LEARNED
    with open_rows(make_plugin(), get_paths().state_dir) as rows:
        own = {line.text for line in read_lines_of(rows, str(path))}
    try:
        leaves = COPY.read_leaves(read_checked(path, root) or b"")
    except FileRefusedError as error:
        echo_message(error.what)
        return False
    lines = [text for text in leaves.values() if text not in own]
    if lines:
        echo_message(f"{path} has text that tacitd did not write. Sessions would load it as instructions:")
    else:
        echo_message(f"{path} has no text but tacitd's" if path.exists() else f"there is no {path} yet")
    for line in lines:
        click.echo(escape_output(line))
    return bool(lines)
