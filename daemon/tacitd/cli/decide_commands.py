"""`tacitd forget`, `accept` and `review`: a person's decisions about the items that each plugin lists with
its hook `items`."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from msgspec import Struct
from msgspec.structs import asdict

from tacitd.cli.common import (
    PROJECT_OPTION,
    add_pager_option,
    confirm,
    connect_or_run,
    echo_json,
    echo_message,
    echo_paged,
    escape_output,
    get_paths,
    json_option,
    resolve_directory,
    show_argument,
)
from tacitd.cli.program import load_plugin_table
from tacitd.errors import FAILED, TacitdError, UsageError
from tacitd.files.git import find_project_root
from tacitd.handler import StoredItem
from tacitd.mcp.agent_caller import is_agent, require_person
from tacitd.session_context.plugin_view import ask_each, list_items, open_shared
from tacitd.text.wording import count_noun

NAMED = 5
"""How many of several matches are named."""
_ANSWERS = {"k": "keep", "d": "drop", "e": "edit", "s": "skip", "q": "quit"}
QUESTIONS = {
    "proposed": "[k]eep it: store it, [d]rop for good, [e]dit and store, [s]kip, [q]uit",
    "stored": "[k]eep as it is, [d]rop for good, [e]dit, [s]kip, [q]uit",
}


@click.command(epilog="\b\nExample: tacitd forget 4f1c02ab\nExample: tacitd forget pnpm --purge")
@click.argument("asked", metavar="ID|TEXT")
@PROJECT_OPTION
@click.option("--undo", is_flag=True, help="Do not forget it any more, and put it back.")
@click.option(
    "--purge",
    is_flag=True,
    help="Also blank its words in tacitd's own logs. This cannot be undone; files of projects keep their history in git.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option("As JSON: a list with the item, and what was done.")
def forget(asked: str, cwd: str | None, undo: bool, purge: bool, yes: bool, as_json: bool) -> None:
    """Remove a learned line, a lesson or a value, and never learn it again. TEXT is a part of it.

    What was learned in a project is forgotten in that project; what was learned about you, in all. A line that was only
    proposed is not proposed again. Before a line that is not tacitd's is removed, and before words are purged, it asks.
    """
    if undo and purge:
        raise click.UsageError("--undo and --purge exclude each other")
    states = ["forgotten"] if undo else ["stored", "proposed", *["forgotten"] * purge]
    found = find_item(asked, find_project_root(resolve_directory(cwd)), states)
    _echo_item(found)
    if found.item.by_person and not undo and not yes:
        confirm(f"tacitd did not write this {found.item.kind}. Remove it?")
    if purge and not yes:
        confirm("Blank its words in tacitd's logs? This cannot be undone.")
    done = decide_item(found, "restore" if undo else "drop", purge=purge)
    if as_json:
        echo_json([{**found.as_data(), **done}])
        return
    echo_message(done["what"])
    if purge:
        echo_message(f"its words were blanked in {count_noun(len(done['purged']), 'file')} of tacitd's")
        for one in done["left"]:
            id, words = one["id"], escape_output(one["text"])
            echo_message(f"“{words}” is still stored as {id}: `tacitd forget {id} --purge` removes it there")
        if done["yours"]:
            files = ", ".join(map(escape_output, done["yours"]))
            echo_message(f"left in files that are yours, edit them by hand: {files}")
    elif not undo:
        echo_message(f"`tacitd forget --undo {found.item.id}` takes that back")


@click.command(epilog="\b\nExample: tacitd accept 4f1c02ab")
@click.argument("asked", metavar="ID|TEXT")
@PROJECT_OPTION
@click.option("--text", help="Store it with these words instead.")
@json_option("As JSON: a list with the item, and what was done.")
def accept(asked: str, cwd: str | None, text: str | None, as_json: bool) -> None:
    """Store a withheld or refused line after all. `tacitd review` lists them."""
    require_person(os.environ, "accepting what waits for a decision")
    if text is not None and not text.strip():
        raise UsageError("the text is empty", "leave --text out to store it as it was proposed")
    found = find_item(asked, find_project_root(resolve_directory(cwd)), ("proposed",))
    _echo_item(found)
    done = decide_item(found, "edit", text=text) if text is not None else decide_item(found, "keep")
    if as_json:
        echo_json([{**found.as_data(), **done}])
    else:
        echo_message(done["what"])


def _echo_item(found: FoundItem) -> None:
    item = found.item
    where = f"  ({escape_output(item.where)})" if item.where else ""
    echo_message(f"{item.id}  {escape_output(item.text or '(its words are not stored)')}{where}")


@click.command(epilog="\b\nExample: tacitd review\nExample: tacitd review --all --json | jq -r '.[].text'")
@click.argument("project", metavar="[DIR]", required=False)
@click.option("--all", "everywhere", is_flag=True, help="Of all projects.")
@click.option("--list", "only_list", is_flag=True, help="List them, and ask nothing.")
@json_option("As JSON: id, kind, text, where, review (why) and words of each.")
@add_pager_option
def review(project: str | None, everywhere: bool, only_list: bool, as_json: bool, no_pager: bool) -> int:
    """Go through what needs your decision: lines that were withheld or refused, that contradict yours, that you
    corrected again, or that were not said for long, and offers of rules for all projects.

    On a terminal it asks about each; otherwise, and with --list, it lists them. Nothing changes without an answer.
    """
    root = None if everywhere else find_project_root(resolve_directory(project))
    unread = list[str]()
    found = [one for one in collect_items(root, unread=unread) if one.item.review]
    if as_json:
        echo_json([one.as_data() for one in found])
    elif not found:
        if not unread:
            echo_message("nothing waits for your decision")
    elif not only_list and sys.stdin.isatty() and sys.stdout.isatty() and not is_agent(os.environ):
        _ask_about(found)
    else:
        head = f"{count_noun(len(found), 'item')} need{'s' if len(found) == 1 else ''} your decision, each with its ID:"
        echo_paged([head, *(line for one in found for line in _describe_item(one))], no_pager=no_pager)
    return FAILED if unread else 0


def _describe_item(found: FoundItem) -> Iterator[str]:
    """The lines of one item: id, kind and place, its text, why it is here, and the words that it came from."""
    item = found.item
    place = " · ".join(each for each in (str(item.root or ""), item.where) if each)
    yield f"{item.id}  {item.kind}" + (f" in {escape_output(place)}" if place else "")
    yield f"    {escape_output(item.text)}"
    yield f"    {escape_output(item.review)}"
    for words in item.words:
        yield f"    you said: {escape_output(words)}"


def _ask_about(items: list[FoundItem]) -> None:
    """Ask about each item, and carry out each answer before the next question."""
    decided = 0
    for number, one in enumerate(items, 1):
        click.echo(f"({number} of {len(items)})")
        for line in _describe_item(one):
            click.echo(line)
        question = QUESTIONS["proposed" if one.item.state == "proposed" else "stored"]
        choice = _ANSWERS[click.prompt(question, type=click.Choice(list(_ANSWERS)), show_choices=False)]
        if choice == "quit":
            break
        if choice == "skip":
            continue
        text = click.prompt("New text") if choice == "edit" else ""
        try:
            done = decide_item(one, choice, text=text)
        except TacitdError as error:  # one that cannot be carried out must not end the others
            echo_message(error.what, error.hint)
            continue
        decided += 1
        echo_message(done["what"])
    echo_message(f"{decided} of {len(items)} decided")


# --- what a person means by an id or a text


SHORTEST_ID = 4
"""Characters of an id's beginning that are looked for; a shorter one is a part of a text."""


class FoundItem(Struct, frozen=True):
    """An item with the plugin that it belongs to."""

    plugin: str
    item: StoredItem

    def as_data(self) -> dict[str, Any]:
        """Return JSON: `id`, `kind`, `text`, `where`, `root` ("" for the person), `state`, `by_person`, `review`, `words`."""
        fields = asdict(self.item) | {"root": str(self.item.root or ""), "words": list(self.item.words)}
        del fields["earlier"], fields["says"]
        return fields


def collect_items(
    root: Path | None, *, without: str = "", unread: list[str] | None = None
) -> list[FoundItem]:
    """The items of all plugins but `without`: those of a project and of the person, or of all projects
    (None). A plugin that fails is reported, and its name is appended to `unread`."""
    table = load_plugin_table()
    for what in table.broken:
        echo_message(what)

    def report(what: str) -> None:
        echo_message(what)
        if unread is not None:
            unread.append(what.partition(":")[0])

    asked = [one for one in table.plugins if one.name != without]
    with open_shared(get_paths().state_dir) as store:
        found = ask_each(asked, lambda one: list_items(one, os.environ, root, store), report)
        return [FoundItem(one.name, item) for one, item in found]


def find_item(asked: str, root: Path, states: Collection[str]) -> FoundItem:
    """The one item in one of these states that an id, its beginning, or a part of a text names. An id may be
    another project's. Raises TacitdError if there is none, UsageError if there are several."""
    if not asked.strip():
        raise UsageError("the id or text is empty", "`tacitd learned` lists the lines with their ids")
    unread = list[str]()
    found = match_items(asked, collect_items(root, unread=unread))
    if not found and not unread:
        found = _match_ids(asked, collect_items(None, unread=unread))
    shown = show_argument(asked)
    if not found and unread:
        raise TacitdError(
            f"{shown} was not found; what could not be read: {', '.join(unread)}",
            "try again once that is mended; `tacitd doctor` checks the machine",
        )
    if not found:
        hint = "`tacitd learned` lists the lines with their ids; an id changes when its text does"
        if list(states) == ["forgotten"]:
            hint = "`tacitd learned --forgotten` lists what is forgotten, and says how to lift it"
        raise TacitdError(f"nothing here has the id or the text {shown}", hint)
    # A forgotten line that is in its file again is the line: of one id the item that is not forgotten counts.
    ordered = sorted(found, key=lambda one: one.item.state != "forgotten")
    by_id = {(one.plugin, one.item.root, one.item.id): one for one in ordered if one.item.state in states}
    fitting = list(by_id.values())
    if not _match_ids(asked, fitting):  # an offer to make a line a rule has the line's text
        lines = [one for one in fitting if one.item.state == "stored"]
        texts = {one.item.text.casefold() for one in lines}
        fitting = lines + [
            one for one in fitting if one not in lines and one.item.text.casefold() not in texts
        ]
    if not fitting:
        one = found[0].item
        raise UsageError(f"the {one.kind} {one.id} is {_STATES[one.state]}: {escape_output(one.text)}")
    if len(fitting) > 1:
        named = "; ".join(
            f"{one.item.id}: {escape_output(one.item.text)} ({escape_output(one.item.where)})"
            for one in fitting[:NAMED]
        )
        raise UsageError(f"{len(fitting)} items match {shown}: {named}", "name the id of one of them")
    return fitting[0]


_STATES = {
    "stored": "stored already",
    "proposed": "only proposed, not stored",
    "forgotten": "forgotten already (`tacitd forget --undo` lifts that)",
}


def match_items(asked: str, listed: Sequence[FoundItem]) -> list[FoundItem]:
    """The items with this id; otherwise those whose id begins with it; otherwise those whose text is or contains it."""
    if found := _match_ids(asked, listed):
        return found
    wanted = asked.strip().removeprefix("- ").casefold()
    exact = [one for one in listed if wanted and one.item.text.casefold() == wanted]
    exact = exact or [one for one in listed if one.item.says is not None and one.item.says(wanted)]
    return exact or [one for one in listed if wanted and wanted in one.item.text.casefold()]


def _match_ids(asked: str, listed: Sequence[FoundItem]) -> list[FoundItem]:
    if exact := [one for one in listed if one.item.id == asked]:
        return exact
    if len(asked) < SHORTEST_ID:
        return []
    return [one for one in listed if one.item.id.startswith(asked)]


def decide_item(found: FoundItem, choice: str, *, text: str = "", purge: bool = False) -> dict[str, Any]:
    """Have the running daemon, or an engine in this process, carry out a decision. Raises TacitdError."""
    with connect_or_run() as call:
        done: dict[str, Any] = call(
            "decide",
            plugin=found.plugin,
            id=found.item.id,
            choice=choice,
            root=str(found.item.root or ""),
            text=text,
            purge=purge,
        )
    return done
