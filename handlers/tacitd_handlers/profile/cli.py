"""`tacitd profile …`: show and change the profile, with or without a daemon. Values set here are the person's own.

This module parses arguments and prints. What a change does belongs to `profile_changes`, how it is written to `store`.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import click

from tacitd.cli.common import echo_json, echo_json_line, echo_message, escape_output
from tacitd.cli.program import OrderedGroup
from tacitd.clock import local_minutes, parse_utc, utc_millis
from tacitd.errors import FileRefusedError, UsageError
from tacitd.mcp.agent_caller import is_agent
from tacitd.text.text_table import format_table
from tacitd_handlers.profile import changelog as changelogs
from tacitd_handlers.profile import dot_paths as dots
from tacitd_handlers.profile import profile_confidence as metas
from tacitd_handlers.profile import render
from tacitd_handlers.profile.agent_values import store_agent_value
from tacitd_handlers.profile.fields import CHOICES, CUSTOM, FIELDS
from tacitd_handlers.profile.profile_changes import ProfilePlan
from tacitd_handlers.profile.store import ProfileStore


@click.group(
    cls=OrderedGroup,
    epilog="\b\nExample: tacitd profile show\nExample: tacitd profile set tools.editor neovim",
)
def profile() -> None:
    """Show and change what tacitd knows about you: profile.json, its confidences and its changelog.

    A value that you set here, or write into the file by hand, is yours: no learned value replaces it, and it does not
    decay. One that an agent sets in a session counts as learned, and may wait in `tacitd review`. PATH is a dot path: work.role, codePreferences.tone, interests, custom.anything.
    """


def open_store() -> ProfileStore:
    """Return the store of this process's environment. A person runs the command, so an old profile is no wrong clock."""
    made = ProfileStore.from_environ(os.environ)
    made.by_person = True
    return made


@profile.command(epilog="\b\nExample: tacitd profile show --json | jq -r '.work.languages[]'")
@click.option("--json", "as_json", is_flag=True, help="Print profile.json as it is.")
def show(as_json: bool) -> None:
    """Show the profile."""
    found = open_store().read_profile()
    if as_json:
        echo_json(found)
        return
    rows = render.format_rows(found)
    for row in rows:
        click.echo(escape_output(row))
    if not rows:
        echo_message("the profile is empty; set a value: `tacitd profile set work.role 'backend engineer'`")


@profile.command("set", epilog="\b\nExample: tacitd profile set work.languages Python,Rust")
@click.argument("path")
@click.argument("value")
def set_(path: str, value: str) -> None:
    """Set a value. A list is A,B or a JSON array and replaces the current one. Below custom, VALUE is any JSON."""
    given = _value(path, value)
    if is_agent(os.environ):
        is_list = isinstance(given, list) and all(isinstance(one, str) for one in given)
        _set_for_agent(path, given if is_list else value)
        return
    try:
        plan = open_store().set_value(path, given)
    except ValueError as error:  # the path leads below a leaf
        raise UsageError(f"{path} cannot be set: {error}", "tacitd profile show --json") from None
    _report_change(plan, f"{path} is set", f"{path} is unchanged")


@profile.command(epilog="\b\nExample: tacitd profile add interests 'type systems'")
@click.argument("path")
@click.argument("element")
def add(path: str, element: str) -> None:
    """Add one element to a list. Below custom, a list that does not exist is made."""
    if FIELDS.get(path) != "list" and not path.startswith(f"{CUSTOM}."):
        lists = [name for name, kind in FIELDS.items() if kind == "list"]
        raise UsageError(f"{path} is not a list of the profile", f"one of {', '.join(lists)}, or {CUSTOM}.…")
    if not element.strip() or not all(path.split(".")):
        raise UsageError("there is nothing to add", "tacitd profile add interests ELEMENT")
    if is_agent(os.environ):
        _set_for_agent(path, [element.strip()])
        return
    at = open_store()
    have = dots.get_value(at.read_profile(), path)
    there = map(dots.fold_spelling, map(str, have if isinstance(have, list) else ()))
    try:
        plan = at.add_element(path, element.strip())
    except ValueError as error:
        raise UsageError(f"nothing can be added to {path}: {error}", "tacitd profile show --json") from None
    added, yours = f"added to {path}: {element.strip()}", f"{path}: {element.strip()} is yours now"
    is_there = dots.fold_spelling(element) in there
    _report_change(plan, yours if is_there else added, f"{path} has {element.strip()} already")


@profile.command(epilog="\b\nExample: tacitd profile remove work.languages Java")
@click.argument("path")
@click.argument("element", required=False)
def remove(path: str, element: str | None) -> None:
    """Remove a value, everything below a path, or one element of a list."""
    at = open_store()
    have = dots.get_value(at.read_profile(), path)
    if have is None or path in ("userId", "schemaVersion", "lastUpdated"):
        raise UsageError(f"there is no {path} to remove", "tacitd profile show --json")
    if element is not None and not isinstance(have, list):
        raise UsageError(f"{path} is not a list", f"tacitd profile remove {path}")
    made = at.remove_value(path, element)
    _report_change(
        made, f"removed from {path}: {element}" if element else f"removed: {path}", f"{path} has no {element}"
    )


@profile.command(epilog="\b\nExample: tacitd profile clear --yes")
@click.option("--yes", is_flag=True, help="Do not ask.")
def clear(yes: bool) -> None:
    """Remove every value. The changelog stays."""
    if not yes:
        click.confirm("Remove everything that tacitd knows about you?", abort=True, err=True)
    _report_change(open_store().clear_profile(), "the profile is empty now", "the profile was empty already")


@profile.command(epilog="\b\nExample: tacitd profile meta --json")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="As JSON: each path with its confidence, days until it is removed, sightings, and what is yours.",
)
def meta(as_json: bool) -> None:
    """Show the confidence of each learned path, the days until it is removed unless it is said again, and what is yours:
    such values stay."""
    rows = list_confidences(open_store())
    if as_json:
        echo_json(rows)
        return
    cells = (tuple(map(escape_output, _cells(row, sys.stdout.isatty()))) for row in rows)
    for line in format_table(("PATH", "CONFIDENCE", "REMOVED IN", "SEEN", ""), cells):
        click.echo(line)
    if not rows:
        echo_message("the profile is empty")


@profile.command(epilog="\b\nExample: tacitd profile decay --dry-run")
@click.option("--dry-run", is_flag=True, help="Only print what would be removed.")
def decay(dry_run: bool) -> None:
    """Apply decay now: remove paths whose confidence fell under 0.1. The daemon does this every day."""
    at = open_store()
    doubt = at.find_clock_doubt()
    if doubt:
        raise FileRefusedError(f"nothing decays: {doubt}", "set the clock")
    made = at.preview_decay() if dry_run else at.apply_decay(forced=True)
    for path in made.removed:
        click.echo(escape_output(path))
    echo_message("nothing to remove" if not made.removed else "would be removed" if dry_run else "removed")


@profile.command(epilog="\b\nExample: tacitd profile changelog -n 5")
@click.option(
    "-n",
    "count",
    default=20,
    show_default=True,
    type=click.IntRange(1),
    help="The number of newest entries to print.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the entries as they are, one per line.")
def changelog(count: int, as_json: bool) -> None:
    """Show what changed, when and through what; the newest entry last."""
    entries = changelogs.read_entries(open_store().log.path, count)
    if as_json:
        for entry in entries:
            echo_json_line(entry)
        return
    for line in format_table(("WHEN", "ACTION", "SOURCE", "CHANGES"), map(_entry_cells, entries)):
        click.echo(escape_output(line))
    if not entries:
        echo_message("the profile was not changed in the last 90 days")


def list_confidences(at: ProfileStore) -> list[dict[str, Any]]:
    """Return a row for each leaf of the profile, and for each element with an entry of its own.

    `own`: the value is the person's; `ownElements`: the person's elements of a learned list. `confidence` is
    as of now, `days` the time until the path is removed, `lastSeen` ISO 8601 UTC with milliseconds; these and `seenCount` are None for a path without an entry.
    """
    found, owned, now = metas.read_confidences(at.read_metadata()), at.find_ownership(), at.clock.now()
    profile = at.read_profile()
    leaves = dots.list_leaves(profile)
    elements = [path for path in found if path not in leaves and dots.find_target(profile, path) is not None]
    rows: list[dict[str, Any]] = []
    for path in [*leaves, *elements]:
        one = found.get(path) if path not in owned.paths else None
        mine = [*owned.elements.get(path, ())]
        if one is None and path not in owned.paths and not mine:
            continue  # a list of which each element has an entry of its own
        rows.append(
            {
                "path": path,
                "own": path in owned.paths,
                "ownElements": mine,
                "confidence": one.confidence_at(now) if one else None,
                "days": one.days_left(now) if one else None,
                "seenCount": one.seen_count if one else None,
                "lastSeen": utc_millis(one.last_seen) if one else None,
            }
        )
    return rows


def _cells(row: dict[str, Any], fancy: bool) -> tuple[str, ...]:
    notes = ["yours: does not decay"] if row["own"] else []
    notes += [f"yours: {render.format_value(row['ownElements'])}"] if row["ownElements"] else []
    if row["confidence"] is None:
        return row["path"], "", "", "", "; ".join(notes)
    shown = f"{render.format_bar(row['confidence'])} " if fancy else ""
    times = "once" if row["seenCount"] == 1 else f"{row['seenCount']} times"
    days = render.format_days(row["days"])
    return row["path"], f"{shown}{row['confidence']:.2f}", days, times, "; ".join(notes)


def _entry_cells(entry: dict[str, Any]) -> tuple[str, ...]:
    at = parse_utc(entry.get("timestamp"))
    when = local_minutes(at).replace("T", " ") if at is not None else "?"
    changes = entry.get("changes")
    said = render.format_rows(changes) if isinstance(changes, dict) else []
    gone = entry.get("removed")
    said += [f"without {path}" for path in gone] if isinstance(gone, list) else []
    return when, str(entry.get("action", "?")), str(entry.get("source", "?")), "; ".join(said)


def _value(path: str, given: str) -> Any:
    kind = FIELDS.get(path)
    if kind is None:
        if not path.startswith(f"{CUSTOM}.") or not all(path.split(".")):
            raise UsageError(f"a profile has no field {path}", f"one of {', '.join(FIELDS)}, or {CUSTOM}.…")
        return _json(given)
    if not given.strip():
        raise UsageError(f"{path} needs a value", f"tacitd profile remove {path}")
    if kind == "list":
        return _list(path, given)
    if kind == "choice" and given not in CHOICES[path]:
        raise UsageError(f"{path} cannot be {given!r}", f"one of {', '.join(CHOICES[path])}")
    return given


def _json(given: str) -> Any:
    try:
        found = json.loads(given)
    except (ValueError, RecursionError):
        return given
    if found is None:
        raise UsageError("null is not a value", "remove the path, or set another value")
    return found


def _list(path: str, given: str) -> list[str]:
    if not given.lstrip().startswith("["):
        return [one.strip() for one in given.split(",") if one.strip()]
    found = _json(given)
    if not isinstance(found, list) or not found or not all(isinstance(one, str) and one for one in found):
        raise UsageError(f"{path} is a list of texts", 'A,B or ["A", "B"]')
    return found


def _set_for_agent(path: str, value: str | list[str]) -> None:
    """Set a value for an agent: it is learned, and may wait for the person."""
    at = open_store()
    done = store_agent_value(at, path, value, os.environ.get("CLAUDE_CODE_SESSION_ID", ""))
    if isinstance(done, str):
        echo_message(f"{path} is not set: it waits for the person, because {done}")
    elif done.entry is None and path in at.find_ownership().paths:
        echo_message(f"{path} is not set: the person set it themselves")
    else:
        _report_change(done, f"{path} is set; it fades unless it is said again", f"{path} is unchanged")


def _report_change(plan: ProfilePlan, done: str, already: str) -> None:
    echo_message(done if plan.entry is not None else already)
