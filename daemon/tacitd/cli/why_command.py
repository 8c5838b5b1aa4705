"""`tacitd why`: the words that a stored line came from, as each plugin says with its hook `why`; and `tacitd context`: what a session that
starts in a directory gets."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from tacitd.cli.common import (
    PROJECT_OPTION,
    add_pager_option,
    echo_json,
    echo_message,
    echo_paged,
    echo_text,
    escape_output,
    format_moment,
    get_paths,
    json_option,
    read_store,
    resolve_directory,
    show_argument,
)
from tacitd.cli.program import PluginTable, load_plugin_table
from tacitd.errors import FAILED
from tacitd.mcp.agent_caller import find_own_session
from tacitd.session_context.context_request import ContextRequest
from tacitd.session_context.plugin_view import (
    ask_each,
    collect_sections,
    explain_text,
    fence_sections,
    open_shared,
)
from tacitd.text.wording import format_dollars


@click.command(
    epilog='\b\nExample: tacitd why pnpm\nExample: tacitd why 4f1c02ab\nExample: tacitd why "read first" --json',
)
@click.argument("asked", metavar="ID|TEXT")
@PROJECT_OPTION
@json_option(
    "As JSON: id, what, where, at, sessions, words of each match, when they were said, and the model's calls."
)
@add_pager_option
def why(asked: str, cwd: str | None, as_json: bool, no_pager: bool) -> int:
    """Show which of your words a learned line or a lesson came from, when you said them, and what the model's calls cost.

    TEXT is a part of it; `tacitd learned` lists the ids. Works without a daemon. Exits with 1 if nothing that tacitd wrote
    contains TEXT.
    """
    failed = list[str]()
    found = collect_reasons(load_plugin_table(), asked, resolve_directory(cwd), failed.append)
    for what in failed:
        echo_message(what)
    if as_json:
        echo_json(found)
    else:
        echo_paged((line for one in found for line in format_reason(one)), no_pager=no_pager)
    if not found and not failed:  # otherwise the match may be where it failed
        echo_message(f"nothing that tacitd wrote here contains “{show_argument(asked)}”")
    return 0 if found else FAILED


def collect_reasons(
    table: PluginTable, asked: str, cwd: Path, report: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Return the matches of all plugins, and of the history what no plugin explains. A plugin that fails is
    reported."""
    from tacitd.files.git import find_project_root
    from tacitd.files.row_history import list_reasons

    for what in table.broken:
        echo_message(what)
    explaining, root = [one for one in table.plugins if one.why], find_project_root(cwd)
    with open_shared(get_paths().state_dir) as store:
        answers = ask_each(
            explaining, lambda one: map(_check_reason, explain_text(one, asked, cwd, store)), report
        )
        found = [answer for _, answer in answers]
    names = {one.name for one in explaining}
    return found + (read_store(lambda rows: list(list_reasons(rows, asked, root, names))) or [])


def _check_reason(one: Any) -> dict[str, Any]:
    """Return a match with the fields that the output needs. Raises KeyError, TypeError if one is missing."""
    texts = {"id": str(one.get("id", ""))} | {name: str(one[name]) for name in ("what", "where", "at")}
    return {**one, **texts} | {name: list(one[name]) for name in ("sessions", "words")}


def format_reason(one: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a match for a person. Times are local."""
    id = f"{one['id']}  " if one["id"] else ""
    yield f"{id}{escape_output(one['what'])}"
    root = f"{one['root']}/" if one.get("root") else ""
    at = f", {format_moment(one['at'])}" if one["at"] else ""
    at += f", restored {format_moment(one['restored'])}" if one.get("restored") else ""
    yield f"    {escape_output(root + one['where'])}{at}"
    for session in one["sessions"]:
        yield f"    from session {escape_output(str(session))}"
    typed = {said["words"]: said for said in one.get("said", ())}
    for words in one["words"]:
        said = typed.get(words, {})
        when = f" in {escape_output(said['source'])}" if said.get("source") else ""
        when += f" at {format_moment(said['at'])}" if said.get("at") else ""
        yield f"    you said{when}: {escape_output(str(words))}"
    for call in one.get("calls", ()):
        about = "about " if call["assumed"] else ""
        tokens = f"{call['in']} tokens in, {call['out']} out"
        yield f"    {call['purpose']} by {call['model']} cost {about}{format_dollars(call['usd'])} ({tokens})"


# --- `tacitd context`


@click.command(epilog="\b\nExample: tacitd context ~/work/app\nExample: tacitd context --agent Explore")
@click.argument("directory", metavar="[DIR]", required=False)
@click.option(
    "--agent", default="", metavar="KIND", help="What a sub-agent of this kind gets, such as Explore."
)
@json_option("As JSON: one text for each plugin.")
def context(directory: str | None, agent: str, as_json: bool) -> None:
    """Print what a session that starts in DIR gets from tacitd: the section of each plugin.

    What the client loads by itself, such as tacitd's rules files, is left out; `tacitd reach` lists it. Works without a daemon and without claude.
    """
    table = load_plugin_table()
    for what in table.broken:
        echo_message(what)
    asked = ContextRequest(
        # A hook of a person's own may call this, so a missing directory must not fail it.
        resolve_directory(directory, missing_ok=True),
        session=find_own_session(os.environ),
        occasion="agent" if agent else "start",
        agent=agent,
    )
    with open_shared(get_paths().state_dir) as store:
        made = collect_sections(table.plugins, replace(asked, store=store))
    for what in made.troubles:
        echo_message(what)
    if as_json:
        echo_json(made.texts)
    else:
        echo_text(fence_sections(made.texts, made.request), nl=False)
