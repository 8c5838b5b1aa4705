"""`tacitd forget`, `accept` and `review`: a person's decisions about what was learned or proposed.

The items are the plugins' (`item_lookup`); the daemon, or an engine in this process, carries the decision out.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

import click

from tacitd.cli.common import (
    PROJECT_OPTION,
    add_pager_option,
    echo_json,
    echo_message,
    echo_paged,
    escape_output,
    json_option,
    resolve_directory,
)
from tacitd.cli.item_lookup import FoundItem, collect_items, decide_item, find_item
from tacitd.errors import TacitdError, UsageError
from tacitd.files.git import find_project_root
from tacitd.mcp.agent_caller import is_agent, require_person
from tacitd.text.wording import count_noun

NAMED = 5
"""How many files are named in which a word is left."""
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

    A line that was only proposed is not proposed again. Before a line of your own is removed, and before words are purged,
    it asks.
    """
    if undo and purge:
        raise click.UsageError("--undo and --purge exclude each other")
    states = (
        ("forgotten",) if undo else ("stored", "proposed", "forgotten") if purge else ("stored", "proposed")
    )
    found = find_item(asked, find_project_root(resolve_directory(cwd)), states)
    _echo_item(found)
    if found.item.by_person and not undo and not yes:
        click.confirm(f"You wrote this {found.item.kind} yourself. Remove it?", abort=True, err=True)
    if purge and not yes:
        click.confirm("Blank its words in tacitd's logs? This cannot be undone.", abort=True, err=True)
    done = decide_item(found, "restore" if undo else "drop", purge=purge)
    if as_json:
        echo_json([{**found.as_data(), **done}])
        return
    echo_message(done["what"])
    if purge:
        echo_message(f"its words were blanked in {count_noun(len(done['purged']), 'file')} of tacitd's")
        for one in done["left"]:
            echo_message(_describe_left(one["text"], one["files"], one["id"]))
        if done["yours"]:
            echo_message(f"left in files that are yours, edit them by hand: {_name_files(done['yours'])}")
    elif not undo:
        echo_message(f"`tacitd forget --undo {found.item.id}` takes that back")


@click.command(epilog="\b\nExample: tacitd accept 4f1c02ab")
@click.argument("asked", metavar="ID|TEXT")
@PROJECT_OPTION
@click.option("--text", help="Store it with these words instead.")
@json_option("As JSON: a list with the item, and what was done.")
def accept(asked: str, cwd: str | None, text: str | None, as_json: bool) -> None:
    """Store a withheld or refused line after all. `tacitd review` and `tacitd learned --refused` list them."""
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


def _describe_left(text: str, files: Sequence[str], id: str) -> str:
    """Say where a single word is left, or which other item (`id`) has the text."""
    if id:
        return (
            f"“{escape_output(text)}” is still stored as {id}: `tacitd forget {id} --purge` removes it there"
        )
    names = _name_files(files)
    return f"left, because a word this short is in other texts and records too: “{escape_output(text)}” in {names}"


def _name_files(files: Sequence[str]) -> str:
    more = f" and {len(files) - NAMED} more" if len(files) > NAMED else ""
    return ", ".join(map(escape_output, files[:NAMED])) + more


def _echo_item(found: FoundItem) -> None:
    """Print what was found on stderr, before a question about it is asked."""
    item = found.item
    where = f"  ({escape_output(item.where)})" if item.where else ""
    echo_message(f"{item.id}  {escape_output(item.text or '(its words were purged)')}{where}")


@click.command(epilog="\b\nExample: tacitd review\nExample: tacitd review --all --json | jq -r '.[].text'")
@click.argument("project", metavar="[DIR]", required=False)
@click.option("--all", "everywhere", is_flag=True, help="Of all projects.")
@click.option("--list", "only_list", is_flag=True, help="List them, and ask nothing.")
@json_option("As JSON: id, kind, text, where, review (why) and words of each.")
@add_pager_option
def review(project: str | None, everywhere: bool, only_list: bool, as_json: bool, no_pager: bool) -> None:
    """Go through what needs your decision: lines that were withheld or refused, that contradict yours, that you
    corrected again, or that were not said for long, and offers of rules for all projects.

    On a terminal it asks about each; otherwise, and with --list, it lists them. Nothing changes without an answer.
    """
    root = None if everywhere else find_project_root(resolve_directory(project))
    found = [one for one in collect_items(root) if one.item.review]
    if as_json:
        echo_json([one.as_data() for one in found])
    elif not found:
        echo_message("nothing waits for your decision")
    elif not only_list and sys.stdin.isatty() and sys.stdout.isatty() and not is_agent(os.environ):
        _ask_about(found)
    else:
        head = f"{count_noun(len(found), 'item')} need{'s' if len(found) == 1 else ''} your decision, each with its ID:"
        echo_paged([head, *(line for one in found for line in _describe_item(one))], no_pager=no_pager)


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
