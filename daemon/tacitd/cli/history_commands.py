"""`tacitd history`, `show` and `undo`: what tacitd changed in files. Only `undo` needs the daemon, or an engine in this process."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from tacitd.cli.common import (
    SINCE_OPTION,
    add_pager_option,
    connect_or_run,
    echo_json,
    echo_message,
    echo_paged,
    escape_output,
    format_moment,
    json_option,
    parse_since,
    read_store,
    resolve_directory,
    show_argument,
)
from tacitd.cli.program import load_plugin_table
from tacitd.errors import TacitdError, UsageError
from tacitd.handler import load_hook
from tacitd.plugin import PluginSpec
from tacitd.session_context.plugin_view import ask_each
from tacitd.text.wording import count_noun

SHOWN = 20
"""How many changes `tacitd history` prints without `-n`."""


@click.command(
    epilog="\b\nExample: tacitd history\nExample: tacitd history ~/work/app --since 7d --json",
)
@click.argument("project", metavar="[DIR]", required=False)
@click.option("--all", "everywhere", is_flag=True, help="Changes in all projects.")
@SINCE_OPTION
@click.option(
    "-n", "limit", type=click.IntRange(1), help=f"At most this many, the newest; the default is {SHOWN}."
)
@json_option("As JSON, the newest first; all of them without -n.")
@add_pager_option
def history(
    project: str | None, everywhere: bool, since: str | None, limit: int | None, as_json: bool, no_pager: bool
) -> None:
    """Show what tacitd changed: when, which lines, and from which words. The newest comes first.

    The files of the project with their copies in `.claude/rules`, and what belongs to you everywhere: lessons, profile
    and rules file.
    """
    from tacitd.clock import parse_utc
    from tacitd.files.git import find_project_root

    root = None if everywhere else find_project_root(resolve_directory(project))
    found = list_changes(root)[::-1]
    visible = [each for each in found if each["lines"] or each["files"] or each["state"] != "done"]
    earliest = parse_since(since)
    chosen = [each for each in visible if (parse_utc(each["at"]) or 0.0) >= earliest]
    shown = chosen if limit is None and as_json else chosen[: limit or SHOWN]
    if as_json:
        echo_json(shown)
        return
    lines = [line for each in shown for line in format_change(each, with_root=everywhere)]
    where = "all projects" if root is None else escape_output(str(root))
    head = f"What tacitd changed in {where}, the newest first; `tacitd show ID` and `tacitd undo ID` take the id of each:"
    echo_paged([head, *lines] if lines else [], no_pager=no_pager)
    if not chosen:
        echo_message(f"tacitd changed nothing in {where}" + (f" in the last {since}" if since else ""))
    elif len(chosen) > len(shown):
        echo_message(f"{len(chosen) - len(shown)} older: `-n {len(chosen)}` shows all of them")


@click.command(epilog="\b\nExample: tacitd show 20261122T061502-3fa2c1")
@click.argument("change", metavar="ID")
@json_option("As JSON: a list with the change.")
@add_pager_option
def show(change: str, as_json: bool, no_pager: bool) -> None:
    """Show one change whole: its lines, its files, and the facts that it was made of. The first letters of ID suffice."""
    every = list_changes(None)
    id = find_change_id(change, [each["id"] for each in every])
    found = next(each for each in every if each["id"] == id)
    if as_json:
        echo_json([found])
        return
    lines = list(format_change(found, with_root=True))
    lines += [f"    {each['did']}: {escape_output(each['file'])}" for each in found["files"]]
    lines += [f"    from: {escape_output(fact)}" for fact in found["facts"]]
    lines += [f"    session: {escape_output(session)}" for session in found["sessions"]]
    lines += [f"    to take it back: {escape_output(found['undo'])}"] if found.get("undo") else []
    echo_paged(lines, no_pager=no_pager)


@click.command(epilog="\b\nExample: tacitd undo 20261122T061502-3fa2c1 --dry-run")
@click.argument("change", metavar="ID")
@click.option("--dry-run", is_flag=True, help="Show what would change and write nothing.")
@json_option("As JSON: a list with the change that the undo made.")
def undo(change: str, dry_run: bool, as_json: bool) -> None:
    """Undo one change. Its lines are not written again unless you write them yourself; the undo can be undone too.

    A line that was changed since stays, and is named; it is refused if that is all of them, or if it was moved. The first letters
    of ID suffice, and so do the last; `tacitd history` lists them.
    """
    every = list_changes(None)
    id = find_change_id(change, [each["id"] for each in every])
    if hint := next((each["undo"] for each in every if each["id"] == id and each.get("undo")), ""):
        raise UsageError(f"{id} is not a change of a project's file", hint)
    with connect_or_run() as call:
        done = call("undo", id=id, dry_run=dry_run)
    if as_json:
        echo_json([done])
        return
    for line in format_change(done, with_root=True):
        click.echo(line)
    if dry_run:
        echo_message("nothing was written; this is what it would do")
    else:
        for text in done.get("left", ()):
            echo_message(f"not undone, because somebody removed or changed it since: {text}")
        echo_message(f"{id} is undone; `tacitd undo {done['id']}` restores it")


def format_change(change: Mapping[str, Any], *, with_root: bool) -> Iterator[str]:
    """The lines of one change as a small diff. Times are local."""
    yield f"{change['id'] or '(not written)'}  {format_moment(change['at'])}  {escape_output(_describe_cause(change))}"
    if with_root and change["root"]:
        yield f"    in {escape_output(change['root'])}"
    name, place = Path(change["root"]).name, ""
    for line in change["lines"]:
        here = str(Path(name, line["file"])) + (f" · {line['heading']}" if line["heading"] else "")
        if here != place:
            yield f"    {escape_output(here)}"
            place = here
        for sign, text in (("-", line["removed"]), ("+", line["added"])):
            for part in text.splitlines():
                yield f"      {sign} {escape_output(part)}"
    if not change["lines"]:
        names = list(dict.fromkeys(escape_output(each["file"]) for each in change["files"]))
        yield f"    {count_noun(len(names), 'file')}: {', '.join(names) or 'none'}"


_CAUSES = {
    "forget": "you forgot it",
    "accept": "you accepted it",
    "review edit": "you worded it anew",
    "mirror edit": "you edited the copy that sessions load",
    "init": "you ran `tacitd init`",
    "mirrors": "the copy that sessions load follows the file",
    "kept out of git": "tacitd's files are kept out of git",
}
"""What a person reads for the name of a kind of work in the history. Other names are shown as they are."""


def _describe_cause(change: Mapping[str, Any]) -> str:
    """Why a change was made, for a person: `from 2 prompts`, `undoes 2026…`, `you forgot it`."""
    if change["undoes"]:
        what = f"undoes {change['undoes']}"
    elif (count := len(change["prompts"])) and change["what"] not in _CAUSES:
        what = f"from {count_noun(count, 'prompt')}"
    else:
        what = _CAUSES.get(change["what"], change["what"]) or "no words of yours"
    if change["state"] != "done" and change["id"]:  # a dry run has no id
        what += ", not finished yet"
    return what + (f", undone by {change['undone_by']}" if change["undone_by"] else "")


def list_changes(root: Path | None) -> list[dict[str, Any]]:
    """The changes of a project's files (None: of all) and of the person's own files, oldest first. A plugin
    that fails is reported."""
    from tacitd.files.row_history import list_row_changes

    found = read_store(lambda rows: list_row_changes(rows, root)) or []

    def ask(spec: PluginSpec) -> list[dict[str, Any]]:
        hook = spec.prompt_parts.get("history")
        every = map(dict, load_hook(hook)(os.environ)) if hook else ()
        return [each for each in every if root is None or each["root"] in ("", str(root))]

    found += [each for _, each in ask_each(load_plugin_table().plugins, ask, echo_message)]
    return sorted(found, key=lambda each: str(each["at"]))


def find_change_id(asked: str, ids: Iterable[str]) -> str:
    """The one id that is, begins with or ends with `asked`. Raises TacitdError if there is none, UsageError if there are several."""
    if not asked.strip():
        raise UsageError("the id is empty", "`tacitd history --all` lists them")
    known, shown = list(dict.fromkeys(ids)), show_argument(asked)
    if asked in known:
        return asked
    found = [each for each in known if each.startswith(asked) or each.endswith(asked)]
    if not found:
        raise TacitdError(f"no change has the id {shown}", "`tacitd history --all` lists them")
    if len(found) > 1:
        named = ", ".join(found[-5:])
        raise UsageError(f"{len(found)} changes begin or end with {shown}: {named}", "name one of them")
    return found[0]
