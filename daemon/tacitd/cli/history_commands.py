"""`tacitd history`, `show` and `undo`: what tacitd changed in a project's files, and how to take it back.

The first two read the history log and need no daemon. `undo` runs in the daemon, which is the only writer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tacitd.cli.common import (
    connect_or_run,
    echo_json,
    echo_message,
    escape_output,
    get_paths,
    parse_since,
    resolve_directory,
)
from tacitd.errors import UsageError

if TYPE_CHECKING:
    from tacitd.files.transaction_records import Transaction

SHOWN = 20
"""How many changes `tacitd history` prints unless told otherwise."""


@click.command(epilog="\b\nExample: tacitd history\nExample: tacitd history ~/work/app --since 7d --json")
@click.argument("project", metavar="[DIR]", required=False)
@click.option("--all", "everywhere", is_flag=True, help="Changes in all projects.")
@click.option("--since", metavar="AGE", help="Only changes that are not older, such as 12h or 7d.")
@click.option(
    "-n", "limit", type=click.IntRange(min=1), help=f"At most this many, the newest; the default is {SHOWN}."
)
@click.option("--json", "as_json", is_flag=True, help="As JSON, the newest first; all of them without -n.")
def history(
    project: str | None, everywhere: bool, since: str | None, limit: int | None, as_json: bool
) -> None:
    """Show what tacitd changed in a project's files: when, which lines, and from which words. The newest comes first."""
    from tacitd.clock import parse_utc
    from tacitd.files.change_view import describe_transactions

    root = None if everywhere else _find_root(resolve_directory(project))
    found = describe_transactions(_list_transactions(root))[::-1]
    visible = [each for each in found if each["lines"] or each["files"] or each["state"] != "done"]
    earliest = parse_since(since)
    chosen = [each for each in visible if (parse_utc(each["at"]) or 0.0) >= earliest]
    shown = chosen if limit is None and as_json else chosen[: limit or SHOWN]
    if as_json:
        echo_json(shown)
        return
    for each in shown:
        _echo_change(each, with_root=everywhere)
    if not chosen:
        where = "" if root is None else f" in {escape_output(str(root))}"
        echo_message(f"tacitd changed nothing{where}" + (f" in the last {since}" if since else ""))
    elif len(chosen) > len(shown):
        echo_message(f"{len(chosen) - len(shown)} older: `-n {len(chosen)}` shows all of them")


@click.command(epilog="\b\nExample: tacitd show 20261122T061502-3fa2c1")
@click.argument("change", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def show(change: str, as_json: bool) -> None:
    """Show one change whole: its lines, its files, and the facts that it was made of. The first letters of ID suffice."""
    from tacitd.files.change_view import describe_transactions

    every = _list_transactions(None)
    id = _find_id(change, [each.id for each in every])
    found = next(each for each in describe_transactions(every) if each["id"] == id)
    if as_json:
        echo_json(found)
        return
    _echo_change(found, with_root=True)
    for each in found["files"]:
        click.echo(f"    {each['did']}: {escape_output(each['file'])}")
    for fact in found["facts"]:
        click.echo(f"    from: {escape_output(fact)}")
    for session in found["sessions"]:
        click.echo(f"    session: {escape_output(session)}")


@click.command(epilog="\b\nExample: tacitd undo 20261122T061502-3fa2c1 --dry-run")
@click.argument("change", metavar="ID")
@click.option("--dry-run", is_flag=True, help="Show what would change and write nothing.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def undo(change: str, dry_run: bool, as_json: bool) -> None:
    """Undo one change. Its lines are not written again unless you write them yourself; the undo can be undone too.

    It is refused if one of its lines was changed since. The first letters of ID suffice; `tacitd history` lists them.
    """
    id = _find_id(change, [each.id for each in _list_transactions(None)])
    with connect_or_run() as call:
        done = call("undo", id=id, dry_run=dry_run)
    if as_json:
        echo_json(done)
        return
    _echo_change(done, with_root=True)
    if dry_run:
        echo_message("nothing was written; this is what it would do")
    else:
        echo_message(f"{id} is undone; `tacitd undo {done['id']}` restores it")


def _echo_change(change: Mapping[str, Any], *, with_root: bool) -> None:
    click.echo(f"{change['id'] or '(not written)'}  {_format_time(change['at'])}  {_describe_cause(change)}")
    if with_root:
        click.echo(f"    in {escape_output(change['root'])}")
    place = ""
    for line in change["lines"]:
        here = f"{line['file']} · {line['heading']}" if line["heading"] else line["file"]
        if here != place:
            click.echo(f"    {escape_output(here)}")
            place = here
        for sign, text in (("-", line["removed"]), ("+", line["added"])):
            if text:
                click.echo(f"      {sign} {escape_output(text)}")
    if not change["lines"]:
        count = len(change["files"])
        click.echo(f"    {count} file{'' if count == 1 else 's'}: " + _name_files(change["files"]))


def _name_files(files: Iterable[Mapping[str, str]]) -> str:
    return ", ".join(dict.fromkeys(escape_output(each["file"]) for each in files)) or "none"


def _describe_cause(change: Mapping[str, Any]) -> str:
    """Why a change was made, for a person: `from 2 prompts`, `undoes 2026…`, `by a plugin`."""
    if change["undoes"]:
        what = f"undoes {change['undoes']}"
    elif count := len(change["prompts"]):
        what = f"from {count} prompt{'' if count == 1 else 's'}"
    else:
        what = " ".join(each for each in (change["by"], change["what"]) if each) or "no words of yours"
    if change["state"] != "done":
        what += ", not finished yet"
    return what + (f", undone by {change['undone_by']}" if change["undone_by"] else "")


def _format_time(at: str) -> str:
    from tacitd.clock import local_minutes, parse_utc

    return local_minutes(parse_utc(at) or 0.0).replace("T", " ")


def _find_root(directory: Path) -> Path:
    """The project's root: the git top level, the main worktree's in a linked one, otherwise the directory itself."""
    from tacitd.files.git import find_repository

    real = directory.resolve()
    found = find_repository(real)
    return found.top if found is not None else real


def _list_transactions(root: Path | None) -> list[Transaction]:
    from tacitd.clock import SystemClock
    from tacitd.files.log import Log
    from tacitd.files.transaction import History

    return History(Log(get_paths().state_dir / "history.jsonl"), SystemClock()).list_transactions(root)


def _find_id(asked: str, ids: Iterable[str]) -> str:
    """The one id that is or begins with `asked`, or ends with it (the part after the date). Raises UsageError."""
    known = list(dict.fromkeys(ids))
    if asked in known:
        return asked
    found = [each for each in known if asked and (each.startswith(asked) or each.endswith(f"-{asked}"))]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(f"no change has the id {escape_output(asked)}", "`tacitd history --all` lists them")
    named = ", ".join(found[-5:])
    raise UsageError(f"{len(found)} changes begin with {escape_output(asked)}: {named}", "name one of them")
