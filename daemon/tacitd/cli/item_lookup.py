"""What a person means by an id or a text, among the items that each plugin lists with its `items` hook; and deciding about one."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from tacitd.cli.command_table import load_plugin_table
from tacitd.cli.common import connect_or_run, echo_message, escape_output, show_argument
from tacitd.errors import UsageError, describe_plugin_error
from tacitd.handler import StoredItem
from tacitd.session_context.plugin_view import list_items

SHORTEST_ID = 4
"""Characters of an id's beginning that are looked for; a shorter one is a part of a text."""
NAMED = 5
"""How many of several matches an error names."""


class FoundItem(Struct, frozen=True):
    """An item with the plugin that it belongs to."""

    plugin: str
    item: StoredItem

    def as_data(self) -> dict[str, Any]:
        """Return JSON: `id`, `kind`, `text`, `where`, `root` ("" for the person), `state`, `by_person`, `review`, `words`."""
        fields = asdict(self.item) | {"root": str(self.item.root or ""), "words": list(self.item.words)}
        del fields["earlier"]
        return fields


def collect_items(root: Path | None, *, without: str = "") -> list[FoundItem]:
    """The items of all plugins: those of a project and of the person, or of all projects (None).

    `without`: the name of a plugin that is left out. A plugin that fails is reported on standard error.
    """
    table = load_plugin_table()
    for what in table.broken:
        echo_message(what)
    found: list[FoundItem] = []
    for one in table.plugins:
        if not one.items or one.name == without:
            continue
        try:
            found += [FoundItem(one.name, item) for item in list_items(one, os.environ, root)]
        except Exception as error:  # noqa: BLE001  a third-party plugin may raise anything
            echo_message(f"{one.name}: {describe_plugin_error(error)}")
    return found


def find_item(asked: str, root: Path, states: Collection[str]) -> FoundItem:
    """The one item in one of these states that an id, the beginning of an id, or a part of a text names.

    An id may be another project's; a text is looked for in this one, and in what belongs to the person. Raises UsageError if
    there is none, or if there are several.
    """
    if not asked.strip():
        raise UsageError("the id or text is empty", "`tacitd learned` lists the lines with their ids")
    found = match_items(asked, collect_items(root)) or _match_ids(asked, collect_items(None))
    shown = show_argument(asked)
    if not found:
        raise UsageError(
            f"nothing here has the id or the text {shown}",
            "`tacitd learned` lists the lines with their ids; an id changes when its text does",
        )
    fitting = _drop_doubles(one for one in found if one.item.state in states)
    if not _match_ids(asked, fitting):
        fitting = _drop_equal_proposals(fitting)
    if not fitting:
        one = found[0].item
        raise UsageError(f"the {one.kind} {one.id} is {_STATES[one.state]}: {escape_output(one.text)}")
    if len(fitting) > 1:
        named = "; ".join(
            f"{one.item.id}: {escape_output(one.item.text)} ({escape_output(one.item.where)})"
            for one in fitting[:NAMED]
        )
        more = f"; and {len(fitting) - NAMED} more" if len(fitting) > NAMED else ""
        raise UsageError(f"{len(fitting)} items match {shown}: {named}{more}", "name the id of one of them")
    return fitting[0]


def _drop_doubles(items: Iterable[FoundItem]) -> list[FoundItem]:
    """The items, each id once: a forgotten line that is in its file again is the line."""
    found: dict[tuple[str, Path | None, str], FoundItem] = {}
    for one in items:
        key = (one.plugin, one.item.root, one.item.id)
        if key not in found or found[key].item.state == "forgotten":
            found[key] = one
    return list(found.values())


def _drop_equal_proposals(items: list[FoundItem]) -> list[FoundItem]:
    """The items without proposals whose text is stored already, such as the offer to make a line a rule."""
    stored = {one.item.text.casefold() for one in items if one.item.state == "stored"}
    return [one for one in items if one.item.state == "stored" or one.item.text.casefold() not in stored]


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
