"""`tacitd learned`: the lines, lessons and values that were learned, what is forgotten, and what waits to be written. `--check ID` prints a hook of Claude Code that enforces a line which sessions do not heed."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
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
    show_argument,
)
from tacitd.clock import local_date, utc_seconds
from tacitd.errors import FAILED, TacitdError, UsageError
from tacitd.files.git import find_project_root
from tacitd.session_context.plugin_view import open_rows
from tacitd.text.wording import count_noun, format_table
from tacitd_handlers.learning import make_plugin
from tacitd_handlers.learning.learned_rows import PRESENT, LineRow, read_lines
from tacitd_handlers.learning.learning_status import describe_first_lines, describe_waiting_facts
from tacitd_handlers.learning.line_queries import (
    ItemPlace,
    SaidFact,
    describe_corrections,
    describe_count,
    is_stale,
    list_own_lines,
    list_places,
    name_file,
    name_place,
    read_said,
)

if TYPE_CHECKING:
    from tacitd.contract import Rows
    from tacitd.handler import StoredItem
OWN_PLUGIN = "learning"
_ONCE_LEARNED = (
    "SELECT 1 FROM learning_line l WHERE project = ? AND state <> 'present' "
    "AND EXISTS(SELECT 1 FROM learning_line_fact f WHERE f.line = l.number) LIMIT 1"
)
"""Whether a project had a line of tacitd's that is in no file now; a person's own that they forgot was made of no fact."""


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
    help="Print JSON: id, kind, file, heading, line, times, sessions, counts, corrections since it was written, stale.",
)
@click.option("--forgotten", is_flag=True, help="List what is never learned again.")
@click.option(
    "--check", metavar="ID", help="Print a hook of Claude Code that checks a line which is not heeded."
)
@add_pager_option
def learned(
    project: str | None,
    words: tuple[str, ...],
    everywhere: bool,
    as_json: bool,
    forgotten: bool,
    check: str | None,
    no_pager: bool,
) -> int:
    """List what was learned in a project: every line that tacitd wrote and that is still in its file.

    Behind them are the lines that hold in all projects, the lessons, and the values of your profile, also those that you stated
    yourself. With WORDs, only what contains all of them; a first argument that is a directory is the project. Exits with 1 if nothing does. `why` and `forget`
    take the ids; `review` lists what was not stored.
    """
    # A directory is one that is there, or what is written like a path.
    is_path = project is not None and (
        project in (".", "..") or project.startswith("~") or "/" in project or os.path.isdir(project)  # noqa: PTH112  a sentence that is searched for can be longer than any name
    )
    if everywhere and is_path:
        raise UsageError("--all and a directory exclude each other", "leave one of them out")
    searched = words if is_path or project is None else (project, *words)
    wanted = tuple(word.casefold() for word in searched)
    root = None if everywhere else find_project_root(resolve_directory(project if is_path else None))
    with open_rows(make_plugin(), get_paths().state_dir) as rows:
        if check is not None:
            _print_check(rows, check)
            return 0
        show = _show_forgotten if forgotten else _show_lines
        found = show(rows, root, wanted, as_json=as_json, no_pager=no_pager)
    return FAILED if wanted and not found else 0


def _contains(text: str, words: Iterable[str]) -> bool:
    folded = text.casefold()
    return all(word in folded for word in words)


def _print_check(rows: Rows, id: str) -> None:
    """Print how a line that is not heeded can be enforced. Raises UsageError if there is no such line."""
    places = [None, *(number for (number,) in rows("SELECT number FROM project"))]
    found = [one for place in places for one in read_lines(rows, place, PRESENT) if one.id.startswith(id)]
    if len(found) != 1:
        raise TacitdError(
            f"no line has the id {show_argument(id)}", "`tacitd learned` lists the lines with their ids"
        )
    about, hooks = make_check(found[0].text)
    echo_message(about)
    echo_json(hooks)


# --- lines


def _show_lines(rows: Rows, root: Path | None, words: Sequence[str], *, as_json: bool, no_pager: bool) -> int:
    found: list[tuple[ItemPlace, LineRow, list[SaidFact]]] = []
    for place in [*list_places(rows, root)[1:], *list_places(rows, root)[:1]]:  # the person's last
        said = read_said(rows, place.number)
        lines = [one for one in read_lines(rows, place.number) if _contains(one.text, words)]
        lines.sort(key=lambda one: (name_place(one, place.root), one.number))
        found += [(place, one, said.get(one.number, [])) for one in lines]
    theirs = _list_person_items("stored", words)
    if as_json:
        counts: dict[str, int] = dict(
            rows("SELECT same, count(DISTINCT project) FROM learning_line WHERE state = 'present' GROUP BY 1")
        )
        made = [_as_data(*one, counts) for one in found]
        echo_json([*made, *(_item_data(one) | {"kind": one.kind, "root": ""} for one in theirs)])
        return len(made) + len(theirs)
    shown = [*_format_lines(found, with_root=root is None), *_format_person_items(theirs)]
    echo_paged(iter(shown), no_pager=no_pager)
    if not found and words:
        echo_message(f"no learned line contains {escape_output(' '.join(words))}")
    _echo_waiting(rows, root, is_empty=not any(place.root for place, _, _ in found) and not words)
    return len(found) + len(theirs)


def _as_data(
    place: ItemPlace, line: LineRow, said: Sequence[SaidFact], counts: dict[str, int]
) -> dict[str, Any]:
    return {
        "kind": "line",
        "id": line.id,
        "root": str(place.root or ""),
        "file": name_file(line.path, place.root),
        "heading": line.heading,
        "line": line.text,
        "at": utc_seconds(line.written_at),
        "sessions": list(dict.fromkeys(one.session for one in said if one.session)),
        "source": ", ".join(dict.fromkeys(one.source for one in said if one.source)),
        "prompts": list(dict.fromkeys(one.prompt for one in said if one.prompt)),
        "firstSeen": utc_seconds(min((one.said_at for one in said), default=line.written_at)),
        "lastSeen": utc_seconds(line.last_said),
        "seenCount": line.said,
        "corrections": line.corrections,
        "correctedSince": [utc_seconds(at) for at in line.corrected_since],
        "projects": counts.get(line.same, 0),
        "stale": is_stale(line, time.time()),
    }


def _list_person_items(state: str, words: Sequence[str]) -> list[StoredItem]:
    """What the other plugins' items say about the person, in all projects: lessons, values of the profile."""
    from tacitd.cli.decide_commands import collect_items

    listed = (one.item for one in collect_items(None, without=OWN_PLUGIN))
    return [one for one in listed if one.root is None and one.state == state and _contains(one.text, words)]


def _format_person_items(items: Iterable[StoredItem]) -> Iterator[str]:
    kind = ""
    for one in items:
        if one.kind != kind:
            yield f"{one.kind}s, in all projects"
            kind = one.kind
        yield f"  {one.id}  {escape_output(one.text)}{'  (yours)' if one.by_person else ''}"


def _format_lines(
    found: Iterable[tuple[ItemPlace, LineRow, Sequence[SaidFact]]], *, with_root: bool
) -> Iterator[str]:
    before, now = "", time.time()
    for place, line, said in found:
        here = name_place(line, place.root)
        if place.root is None:
            here += ", in all projects"
        elif with_root:
            here = f"{place.root}/{here}"
        if here != before:
            yield escape_output(here)
            before = here
        sessions = {one.session for one in said if one.session}
        notes = [describe_count(line.said, len(sessions), line.corrections)]
        notes += [f"last on {local_date(line.last_said)}", describe_corrections(line)]
        notes += ["stale"] if is_stale(line, now) else []
        yield f"  {line.id}  {escape_output(line.text)}  ({', '.join(filter(None, notes))})"


def _echo_waiting(rows: Rows, root: Path | None, *, is_empty: bool) -> None:
    """Say on stderr what was heard and is not written yet. `is_empty`: there is no line; say when the first will come."""
    state_dir, now = get_paths().state_dir, time.time()
    places = [place for place in list_places(rows, root) if place.root is not None]
    roots = [place.root for place in places if place.root is not None]
    waiting = list(describe_waiting_facts(rows, roots, state_dir, now))
    if is_empty and any(rows(_ONCE_LEARNED, place.number) for place in places):
        where = "the projects' files" if root is None else "this project's files"
        echo_message(f"nothing is in {where} now; `tacitd history` shows what was")
    elif is_empty:
        when = "" if waiting else f"; {describe_first_lines(roots, state_dir, now)}"
        echo_message(f"nothing was learned here yet{when}")
    own = (name_file(path, one.root) for one in places for path, *_ in list_own_lines(rows, one, os.environ))
    for file, number in Counter(own).items() if is_empty else ():
        echo_message(f"{file} has {count_noun(number, 'line')} that tacitd did not write")
    for line in waiting:
        echo_message(line)


# --- what is no line


def _show_forgotten(
    rows: Rows, root: Path | None, words: Sequence[str], *, as_json: bool, no_pager: bool
) -> int:
    from tacitd_handlers.learning.line_items import list_items

    listed = [one for one in list_items(rows, os.environ, root) if one.state == "forgotten"]
    found = [one for one in listed if _contains(one.text, words)]
    found += _list_person_items("forgotten", words)
    if as_json:
        echo_json([_item_data(one) for one in found])
        return len(found)
    table = [(one.id, one.where, escape_output(one.text) or "(its words are not stored)") for one in found]
    echo_paged(iter(format_table(("ID", "FILE", "TEXT"), table) if table else ()), no_pager=no_pager)
    if found:
        echo_message("`tacitd forget --undo ID` takes that back")
    elif not listed:
        echo_message("nothing is forgotten here")
    if unworded := sum(1 for one in listed if one.says is not None):
        what = f"{count_noun(unworded, 'forgotten text')} {'is' if unworded == 1 else 'are'} known by a digest alone"
        echo_message(what, "`tacitd forget --undo TEXT` with all its words finds and lifts it")
    return len(found)


def _item_data(item: StoredItem) -> dict[str, Any]:
    file, _, heading = item.where.partition(" · ")
    return {"id": item.id, "line": item.text, "file": file, "heading": heading}


_FORBIDDEN = re.compile(
    r"\b(?:never|not|don['’]t|do not|avoid|without|no|instead of|rather than)\s+(?:use|run|call|add|with|the|a)?\s*`?([\w][\w./-]*)`?",
    re.IGNORECASE,
)
_NO_NAMES = "a an the any to be in on it that this for of or and more than only"
_PLAIN = frozenset(_NO_NAMES.split())


def make_check(line: str) -> tuple[str, dict[str, Any]]:
    """A sentence about the hook for a line, and what to put into a project's `.claude/settings.json`."""
    words = [word.strip(".-/") for word in _FORBIDDEN.findall(line)]
    words = [word for word in dict.fromkeys(words) if len(word) > 1 and word.casefold() not in _PLAIN]
    if not words:
        about = "put this into .claude/settings.json: each prompt brings the line with it. A rule of your linter holds better"
        return about, (_hook("UserPromptSubmit", "", f"echo {_quote(f'Remember: {line}')}"))
    found = "|".join(re.escape(word) for word in words)
    program = f"jq -r .tool_input.command | grep -qwE {_quote(found)} && {{ echo {_quote(line)} >&2; exit 2; }}; exit 0"
    about = (
        f"put this into .claude/settings.json: a command with {' or '.join(words)} is refused, with the line as the reason "
        "(it needs jq). Try it with a command of that kind, and change the pattern if it refuses too much"
    )
    return about, (_hook("PreToolUse", "Bash", program))


def _hook(event: str, matcher: str, program: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"matcher": matcher} if matcher else {}
    return {"hooks": {event: [{**entry, "hooks": [{"type": "command", "command": program}]}]}}


def _quote(text: str) -> str:
    """For a shell: in single quotes."""
    plain = " ".join(text.split())
    return "'" + plain.replace("'", "'\\''") + "'"
