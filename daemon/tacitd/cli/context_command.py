"""`tacitd context`: what a session that starts in a directory gets from tacitd."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from tacitd.cli.command_table import load_plugin_table
from tacitd.cli.common import echo_json, echo_message, echo_text, get_paths, json_option, resolve_directory
from tacitd.errors import TacitdError
from tacitd.session_context.context_request import ContextRequest
from tacitd.session_context.context_sections import collect_sections, fence_sections

if TYPE_CHECKING:
    from tacitd.store import ReadOnlyStore


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
        session=os.environ.get("CLAUDE_CODE_SESSION_ID", ""),
        occasion="agent" if agent else "start",
        agent=agent,
    )
    with _open_store() as store:
        made = collect_sections(table.plugins, replace(asked, store=store))
    for what in made.troubles:
        echo_message(what)
    if as_json:
        echo_json(made.texts)
    else:
        echo_text(fence_sections(made.texts, made.request), nl=False)


def _open_store() -> AbstractContextManager[ReadOnlyStore | None]:
    """The store, opened once for all plugins. Where it cannot be opened, each plugin that needs it says why."""
    from tacitd.store import open_readonly

    try:
        return open_readonly(get_paths().state_dir) or nullcontext()
    except TacitdError:
        return nullcontext()
