"""`tacitd profile …`: show and change the profile. Values set here are the person's own.

This module parses arguments and prints. A command that changes is a task: what it does belongs to `handler` and `changes`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click

from tacitd.cli.common import (
    ask_plugin,
    confirm,
    connect_or_run,
    echo_json,
    echo_message,
    echo_table,
    escape_output,
    get_paths,
    json_option,
)
from tacitd.cli.program import OrderedGroup
from tacitd.clock import SystemClock, utc_millis
from tacitd.errors import TacitdError, UsageError
from tacitd.mcp.agent_caller import find_own_session, is_agent
from tacitd.mcp.agent_tools import AgentInterface, AgentResource, AgentTool, ToolParameter
from tacitd.session_context.plugin_view import open_rows
from tacitd.text.redact import has_secret
from tacitd.text.wording import count_noun
from tacitd_handlers.profile import make_plugin
from tacitd_handlers.profile import profile_confidence as metas
from tacitd_handlers.profile.fields import CHOICES, CUSTOM, FIELDS, HEAD_FIELDS
from tacitd_handlers.profile.profile_files import (
    ProfileState,
    list_leaves,
    list_values,
    read_profile,
    read_state,
)
from tacitd_handlers.profile.profile_texts import format_value, format_values
from tacitd_handlers.shared.places import memory_dir


@click.group(
    cls=OrderedGroup,
    alone="show",
    epilog="\b\nExample: tacitd profile\nExample: tacitd profile set tools.editor neovim",
)
def profile() -> None:
    """Show and change what tacitd knows about you: profile.json, and its confidences. Alone, it shows the profile.

    A value that you set here, or write into the file by hand, is yours: no learned value replaces it, and it does not
    decay. One that an agent sets in a session counts as learned, and may wait in `tacitd review`. PATH is a dot path: work.role, codePreferences.tone, interests, custom.anything.
    """


def _change(do: str, path: str = "", value: Any = None, **texts: str) -> None:
    if value is not None and has_secret(f"{path}: {json.dumps(value, ensure_ascii=False)}"):
        raise TacitdError("the value has what looks like a secret", "leave it out")
    data, agent = {"do": do, "path": path, "value": value}, is_agent(os.environ)
    if agent:
        data |= {"agent": do in ("set", "add"), "session": find_own_session(os.environ)}
    with connect_or_run() as call:
        (made,) = ask_plugin(call, "profile", **data)
    known = {
        "set": f"{path} is set{'; it fades unless it is said again' if agent else ''}",
        "waits": f"{path} is not set: it waits for the person, because {made['about']}",
        "kept": f"{path} is not set: the person set it themselves",
        "unchanged": f"{path} is unchanged",
    }
    echo_message((known | texts)[made["did"]])


@profile.command(epilog="\b\nExample: tacitd profile show --json | jq -r '.work.languages[]'")
@json_option("Print profile.json as it is.")
def show(as_json: bool) -> None:
    """Show the profile."""
    found = _read_profile()
    if as_json:
        echo_json(found)
        return
    rows = _list_rows(found)
    for row in rows:
        click.echo(escape_output(row))
    if not rows:
        echo_message("the profile is empty; set a value: `tacitd profile set work.role 'backend engineer'`")


def _read_profile() -> dict[str, Any]:
    return read_profile(memory_dir(os.environ)) or {}


def _list_rows(profile: dict[str, Any]) -> list[str]:
    return [*format_values(list_values(list_leaves(profile))).values()]


@profile.command("set", epilog="\b\nExample: tacitd profile set work.languages Python,Rust")
@click.argument("path")
@click.argument("value")
def set_(path: str, value: str) -> None:
    """Set a value. A list is A,B or a JSON array and replaces the current one. Below custom, VALUE is any JSON."""
    _change("set", path, _value(path, value))


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
    text = element.strip()
    given = [text] if is_agent(os.environ) else text
    said, mine = f"added to {path}: {text}", f"{path}: {text} is yours now"
    _change("add", path, given, added=said, yours=mine, unchanged=f"{path} has {text} already")


@profile.command(epilog="\b\nExample: tacitd profile remove work.languages Java")
@click.argument("path")
@click.argument("element", required=False)
def remove(path: str, element: str | None) -> None:
    """Remove a value, everything below a path, or one element of a list."""
    have = list_values(list_leaves(_read_profile()))
    if path in HEAD_FIELDS or not any(f"{one}.".startswith(f"{path}.") for one in have):
        raise TacitdError(f"there is no {path} to remove", "tacitd profile show --json")
    if element is not None and not isinstance(have.get(path), list):
        raise UsageError(f"{path} is not a list", f"tacitd profile remove {path}")
    said = f"removed from {path}: {element}" if element else f"removed: {path}"
    _change("remove", path, element, removed=said, unchanged=f"{path} has no {element}")


@profile.command(epilog="\b\nExample: tacitd profile clear --yes")
@click.option("--yes", is_flag=True, help="Do not ask.")
def clear(yes: bool) -> None:
    """Remove every value. The changelog stays."""
    if not yes:
        confirm("Remove everything that tacitd knows about you?")
    _change("clear", cleared="the profile is empty now", unchanged="the profile was empty already")


@profile.command(epilog="\b\nExample: tacitd profile meta --json")
@json_option(
    "As JSON: each path with its confidence, days until it is removed, sightings, and what is yours."
)
def meta(as_json: bool) -> None:
    """Show the confidence of each learned path, the days until it is removed unless it is said again, and what is yours:
    such values stay."""
    now = SystemClock().now()
    with open_rows(make_plugin(), get_paths().state_dir) as found:
        rows = list_confidences(read_state(found, now=now), now)
    if as_json:
        echo_json(rows)
        return
    head = ("PATH", "CONFIDENCE", "REMOVED IN", "SEEN", "")
    echo_table(head, map(_cells, rows), "the profile is empty")


def list_confidences(state: ProfileState, now: float) -> list[dict[str, Any]]:
    """A row for each value of the profile. `ownElements`: the person's elements of a learned list; `days`: until the path is removed.
    What a value of the person's does not have is None."""
    found = metas.read_confidences(state.meta)
    rows: list[dict[str, Any]] = []
    for path in list_values(state.values):
        own = state.is_own(path)
        one = None if own else found.get(path)
        row = {"path": path, "own": own, "ownElements": state.list_own(path)}
        row |= {"confidence": one and one.confidence_at(now), "days": one and one.days_left(now)}
        row |= {"seenCount": one and one.seen_count, "lastSeen": one and utc_millis(one.last_seen)}
        rows.append(row)
    return rows


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    notes = ["yours: does not decay"] if row["own"] else []
    notes += [f"yours: {format_value(row['ownElements'])}"] if row["ownElements"] else []
    if row["confidence"] is None:
        return row["path"], "", "", "", "; ".join(notes)
    times = count_noun(row["seenCount"], "time")
    days = f"{row['days']:.1f} d" if row["days"] > 0 else "due"
    return row["path"], f"{row['confidence']:.2f}", days, times, "; ".join(notes)


def _value(path: str, given: str) -> Any:
    kind = FIELDS.get(path)
    if kind is None:
        if not path.startswith(f"{CUSTOM}.") or not all(path.split(".")):
            raise UsageError(f"a profile has no field {path}", f"one of {', '.join(FIELDS)}, or {CUSTOM}.…")
        return _json(given)
    if not given.strip():
        raise UsageError(f"{path} needs a value", f"tacitd profile remove {path}")
    if kind == "list":
        is_json = given.lstrip().startswith("[")
        return _json(given) if is_json else [one.strip() for one in given.split(",") if one.strip()]
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


# --- what agents can ask and change: what they set is in the changelog as `mcp/hook` (seed 001)

PATHS = f"One of {', '.join(FIELDS)}, or {CUSTOM}.NAME for anything else."

PROFILE = AgentInterface(
    tools=(
        AgentTool(
            "get_profile",
            "Who the person is and how they like to work: role, languages, tone, tools, interests.",
            ("profile", "show", "--json"),
        ),
        AgentTool(
            "update_profile",
            "Set one value of the profile, because the person asked for it or corrected it. It counts as learned: it fades "
            "unless it is said again, and never replaces what the person set. A list is added to the one that is there. An "
            "order, a command or an address waits for the person.",
            ("profile", "set"),
            (
                ToolParameter("path", PATHS),
                ToolParameter("value", 'A text; for a list a JSON array such as ["Python", "Rust"].'),
            ),
            effect="adds",
        ),
        AgentTool(
            "remember_preference",
            "Remember one more preference of the person, because they asked you to remember it. For rules of a project "
            "none is needed: tacitd learns those from what they type. For what to do in a situation add a lesson.",
            ("profile", "add"),
            (
                ToolParameter("path", f"A list of the profile: {PATHS} If none fits: {CUSTOM}.preferences."),
                ToolParameter("value", "The preference, in a few words.", of="element"),
            ),
            effect="adds",
        ),
        AgentTool(
            "forget_preference",
            "Remove a value of the profile, or one element of a list, because the person asked you to forget it.",
            ("profile", "remove"),
            (
                ToolParameter("path", "A path as in `get_profile`."),
                ToolParameter(
                    "value", "The element of the list; leave it out to remove the whole path.", of="element"
                ),
            ),
            effect="removes",
            is_rare=True,
        ),
    ),
    resources=(
        AgentResource(
            "profile",
            "Profile",
            "Who the person is and how they like to work.",
            read="tacitd_handlers.profile.cli:show_profile",
        ),
    ),
)


def show_profile(cwd: Path, budget: int) -> str:
    """The profile as lines, at most `budget` characters. It is the same in every directory."""
    return "\n".join(_list_rows(_read_profile()))[:budget]
