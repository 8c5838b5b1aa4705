"""`tacitd review`: what waits for a person's decision, one by one on a terminal.

Each plugin names such items with `StoredItem.review`; this module asks, and the daemon carries out the answer.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import click

from tacitd.cli.common import echo_json, echo_message, escape_output, resolve_directory
from tacitd.cli.item_lookup import FoundItem, collect_items, decide_item
from tacitd.cli.progress_bar import show_progress
from tacitd.errors import TacitdError
from tacitd.files.git import find_project_root
from tacitd.mcp.agent_caller import is_agent

_ANSWERS = {"k": "keep", "d": "drop", "e": "edit", "s": "skip", "q": "quit"}
QUESTIONS = {
    "proposed": "[k]eep it: store it, [d]rop for good, [e]dit and store, [s]kip, [q]uit",
    "stored": "[k]eep as it is, [d]rop for good, [e]dit, [s]kip, [q]uit",
}


@click.command(epilog="\b\nExample: tacitd review\nExample: tacitd review --all --json | jq -r '.[].text'")
@click.argument("project", metavar="[DIR]", required=False)
@click.option("--all", "everywhere", is_flag=True, help="Of all projects.")
@click.option(
    "--json", "as_json", is_flag=True, help="As JSON: id, kind, text, where, review (why) and words of each."
)
def review(project: str | None, everywhere: bool, as_json: bool) -> None:
    """Go through what needs your decision: lines that were withheld or refused, that contradict yours, that you
    corrected again, or that were not said for long, and offers of rules for all projects.

    On a terminal it asks about each; otherwise it lists them. Nothing changes without an answer.
    """
    root = None if everywhere else find_project_root(resolve_directory(project))
    if everywhere:  # only then it may take long
        with show_progress("review") as advance:
            found = [one for one in collect_items(None, advance) if one.item.review]
    else:
        found = [one for one in collect_items(root) if one.item.review]
    if as_json:
        echo_json([one.as_data() for one in found])
    elif not found:
        echo_message("nothing waits for your decision")
    elif is_interactive():
        ask_about(found)
    else:
        click.echo(
            f"{len(found)} {'item needs' if len(found) == 1 else 'items need'} your decision, each with its ID:"
        )
        for one in found:
            for line in describe_item(one):
                click.echo(line)


def is_interactive() -> bool:
    """Whether a person can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty() and not is_agent(os.environ)


def describe_item(found: FoundItem) -> Iterator[str]:
    """The lines of one item: id, kind and place, its text, why it is here, and the words that it came from."""
    item = found.item
    place = " · ".join(each for each in (str(item.root or ""), item.where) if each)
    yield f"{item.id}  {item.kind}" + (f" in {escape_output(place)}" if place else "")
    yield f"    {escape_output(item.text)}"
    yield f"    {escape_output(item.review)}"
    for words in item.words:
        yield f"    you said: {escape_output(words)}"


def ask_about(items: list[FoundItem]) -> None:
    """Ask about each item, and carry out each answer before the next question."""
    decided = 0
    for number, one in enumerate(items, 1):
        click.echo(f"({number} of {len(items)})")
        for line in describe_item(one):
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
            echo_message(error.what + (f"\nhint: {error.hint}" if error.hint else ""))
            continue
        decided += 1
        echo_message(done["what"])
    echo_message(f"{decided} of {len(items)} decided")
