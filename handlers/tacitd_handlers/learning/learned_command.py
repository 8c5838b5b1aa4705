"""`tacitd learned`: the lines, lessons and values that were learned, what was withheld, refused or forgotten, and what waits
to be written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tacitd.cli.common import (
    add_pager_option,
    echo_json,
    echo_message,
    echo_paged,
    escape_output,
    get_paths,
    resolve_directory,
)
from tacitd.errors import FAILED, UsageError

if TYPE_CHECKING:
    from tacitd.handler import StoredItem
    from tacitd_handlers.learning.inventory import Inventory, LearnedLine

OWN_PLUGIN = "learning"


@click.command(
    epilog="\b\nExample: tacitd learned\nExample: tacitd learned ~/work/app pnpm --json | jq -r '.[].line'",
)
@click.argument("project", metavar="[DIR]", required=False)
@click.argument("words", metavar="[WORD]...", nargs=-1)
@click.option("--all", "everywhere", is_flag=True, help="In all projects.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print JSON: id, kind, file, heading, line, time, sessions, confidence, counts, stale.",
)
@click.option(
    "--withheld", is_flag=True, help="List lines that you removed and that were learned again since."
)
@click.option(
    "--refused",
    is_flag=True,
    help="List what the model proposed in the last 90 days and tacitd did not store, with the reason.",
)
@click.option("--forgotten", is_flag=True, help="List what is never learned again.")
@add_pager_option
def learned(
    project: str | None,
    words: tuple[str, ...],
    everywhere: bool,
    as_json: bool,
    withheld: bool,
    refused: bool,
    forgotten: bool,
    no_pager: bool,
) -> int:
    """List what was learned in a project: every line that tacitd wrote and that is still in its file.

    Behind them are the lessons and the values of your profile that were learned, which hold in all projects. With WORDs, only
    what contains all of them; a first argument that is a directory is the project. Exits with 1 if nothing does. `why`, `forget`
    and `accept` take the ids.
    """
    from tacitd_handlers.learning.inventory import Inventory

    if withheld + refused + forgotten > 1:
        raise click.UsageError("--withheld, --refused and --forgotten exclude each other")
    directory, wanted = _split_arguments(project, words, everywhere)
    inventory = Inventory(get_paths().state_dir)
    roots = inventory.list_roots() if directory is None else [_find_root(directory)]
    if withheld or refused or forgotten:
        kind = "withheld" if withheld else "refused" if refused else "forgotten"
        found = _show_items(inventory, roots, kind, wanted, as_json=as_json, no_pager=no_pager)
    else:
        found = _show_lines(
            inventory, roots, wanted, as_json=as_json, no_pager=no_pager, with_root=directory is None
        )
    return FAILED if wanted and not found else 0


def _split_arguments(
    project: str | None, words: Sequence[str], everywhere: bool
) -> tuple[Path | None, tuple[str, ...]]:
    """The directory (None: all projects), and the words to search for, without case.

    The first argument is a directory if there is one of that name, or if it is written like a path.
    """
    is_path = project is not None and (
        project in (".", "..")
        or project.startswith("~")
        or "/" in project
        or _is_directory(Path.cwd() / project)
    )
    if everywhere and is_path:
        raise UsageError("--all and a directory exclude each other", "leave one of them out")
    searched = words if is_path or project is None else (project, *words)
    directory = None if everywhere else resolve_directory(project if is_path else None)
    return directory, tuple(word.casefold() for word in searched)


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # a sentence that is searched for can be longer than any name
        return False


def _find_root(directory: Path) -> Path:
    from tacitd.files.git import find_project_root

    return find_project_root(directory)


def _contains(text: str, words: Iterable[str]) -> bool:
    folded = text.casefold()
    return all(word in folded for word in words)


def _show_lines(
    inventory: Inventory,
    roots: Sequence[Path],
    words: Sequence[str],
    *,
    as_json: bool,
    no_pager: bool,
    with_root: bool,
) -> int:
    """Print the learned lines that contain the words; return how many there are."""
    found = [one for root in roots for one in inventory.list_lines(root) if _contains(one.line, words)]
    theirs = [one for one in _list_person_items("stored", words) if not one.by_person]
    if as_json:
        made = [{"kind": "line", **one.as_data(inventory.count_projects(one.line))} for one in found]
        echo_json([*made, *({**_as_data(one, {}), "kind": one.kind, "root": ""} for one in theirs)])
        return len(made) + len(theirs)
    shown = [*_format_lines(found, with_root=with_root), *_format_person_items(theirs)]
    echo_paged(iter(shown), no_pager=no_pager)
    if not found and words:
        echo_message(f"no learned line contains {escape_output(' '.join(words))}")
    _echo_waiting(inventory, roots, is_empty=not found and not words)
    return len(found) + len(theirs)


def _list_person_items(state: str, words: Sequence[str]) -> list[StoredItem]:
    """What the other plugins' items say about the person, in all projects: lessons, values of the profile."""
    from tacitd.cli.item_lookup import collect_items

    listed = (one.item for one in collect_items(None, without=OWN_PLUGIN))
    return [one for one in listed if one.root is None and one.state == state and _contains(one.text, words)]


def _format_person_items(items: Iterable[StoredItem]) -> Iterator[str]:
    """A head for each kind, and a line with id and text."""
    kind = ""
    for one in items:
        if one.kind != kind:
            yield f"{one.kind}s, in all projects"
            kind = one.kind
        yield f"  {one.id}  {escape_output(one.text)}"


def _format_lines(found: Iterable[LearnedLine], *, with_root: bool) -> Iterator[str]:
    """A head for each file and heading, and a line with id, text, how often and when it was last said."""
    from tacitd.clock import local_minutes

    place = ""
    for one in found:
        here = f"{one.file} · {one.heading}" if one.heading else one.file
        here = f"{one.root}/{here}" if with_root else here
        if here != place:
            yield escape_output(here)
            place = here
        said = one.describe_count() or "said once"
        last = local_minutes(one.strength.last_seen).partition("T")[0]
        stale = ", stale" if one.is_stale else ""
        yield f"  {one.id}  {escape_output(one.line)}  ({said}, last on {last}{stale})"


def _echo_waiting(inventory: Inventory, roots: Sequence[Path], *, is_empty: bool) -> None:
    """Say on stderr what was extracted and is not written yet. `is_empty`: there is no line; say when the first will come."""
    from tacitd_handlers.learning.waiting_facts import describe_first_lines, describe_waiting_facts

    now = inventory.clock.now()
    waiting = list(describe_waiting_facts(inventory.state, roots, inventory.state_dir, now))
    if is_empty:
        when = "" if waiting else f"; {describe_first_lines(roots, inventory.state_dir, now)}"
        echo_message(f"nothing was learned here yet{when}")
    for line in waiting:
        echo_message(line)


def _show_items(
    inventory: Inventory,
    roots: Sequence[Path],
    kind: str,
    words: Sequence[str],
    *,
    as_json: bool,
    no_pager: bool,
) -> int:
    """Print the items of one kind; return how many there are."""
    from tacitd_handlers.learning.line_items import list_project

    refusals = {} if kind != "refused" else _read_refusals(inventory, roots)
    found = [
        one
        for root in roots
        for one in list_project(inventory, root)
        if _is_of_kind(one, kind) and _contains(one.text, words)
    ]
    found += _list_person_items("forgotten", words) if kind == "forgotten" else []
    if as_json:
        echo_json([_as_data(one, refusals.get(one.id, {})) for one in found])
        return len(found)
    echo_paged(_format_items(found, refusals), no_pager=no_pager)
    if not found:
        verb = "was refused" if kind == "refused" else f"is {kind}"
        echo_message(f"nothing {verb} here" + (" in the last 90 days" if kind == "refused" else ""))
    elif kind != "forgotten":
        echo_message(
            "`tacitd accept ID` stores one; so does writing it by hand. `tacitd forget ID` drops one for good"
        )
    else:
        echo_message("`tacitd forget --undo ID` takes that back")
    return len(found)


def _format_items(items: Sequence[StoredItem], refusals: Mapping[str, dict[str, Any]]) -> Iterator[str]:
    """The lines of withheld, forgotten or refused texts. `refusals`: the records of refused ones, by id."""
    from tacitd.text.text_table import format_table

    if not refusals:
        rows = ((one.id, one.where, escape_output(one.text) or "(its words were purged)") for one in items)
        yield from format_table(("ID", "FILE", "LINE"), rows)
        return
    known = [(one, refusals[one.id]) for one in items if one.id in refusals]
    heads = ("ID", "WHEN", "VERDICT", "KIND", "TEXT")
    cells = (
        (
            one.id,
            _format_time(float(record["at"])),
            record["verdict"],
            record["kind"],
            escape_output(one.text),
        )
        for one, record in known
    )
    head, *lines = format_table(heads, cells) or [""]
    yield from [head] if known else []
    for line, (one, record) in zip(lines, known, strict=True):
        yield line
        yield f"  because {escape_output(str(record['reason']))}"
        for words in one.words:
            yield f"  from: {escape_output(words)}"


def _is_of_kind(item: StoredItem, kind: str) -> bool:
    return item.state == "forgotten" if kind == "forgotten" else item.kind.startswith(kind)


def _read_refusals(inventory: Inventory, roots: Iterable[Path]) -> dict[str, dict[str, Any]]:
    """The records of refused texts by the ids of their items."""
    from tacitd_handlers.learning.refusals import make_refusal_id

    return {make_refusal_id(one): one for root in roots for one in inventory.list_refusals(root)}


def _as_data(item: StoredItem, record: dict[str, Any]) -> dict[str, Any]:
    """An item as JSON; a refused text also has the fields of its record. Times are UTC, `2025-12-17T01:50:00Z`."""
    from tacitd.clock import utc_seconds

    if not record:
        return {"id": item.id, "line": item.text, "file": item.where}
    return {"id": item.id, **record, "at": utc_seconds(float(record["at"]))}


def _format_time(at: float) -> str:
    from tacitd.clock import local_minutes

    return local_minutes(at).replace("T", " ")
