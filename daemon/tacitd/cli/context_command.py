"""`tacitd context`: what a session that starts in a directory gets from tacitd, and which files reach it otherwise."""

from __future__ import annotations

import os

import click

from tacitd.cli.command_table import load_plugin_table
from tacitd.cli.common import echo_json, echo_message, echo_text, escape_output, resolve_directory
from tacitd.session_context.context_request import ContextRequest, measure_text
from tacitd.session_context.context_sections import BUDGET, Sections, collect_sections, fence_sections


@click.command(
    epilog="\b\nExample: tacitd context ~/work/app\nExample: tacitd context --explain\nExample: tacitd context --agent Explore",
)
@click.argument("directory", metavar="[DIR]", required=False)
@click.option(
    "--budget",
    default=BUDGET,
    show_default=True,
    type=click.IntRange(500, BUDGET),
    metavar="CHARS",
    help="Characters at most.",
)
@click.option(
    "--session", default="", help="The client's id of the session; the default is the one that runs this."
)
@click.option(
    "--agent", default="", metavar="KIND", help="What a sub-agent of this kind gets, such as Explore."
)
@click.option(
    "--explain", is_flag=True, help="Show file by file what reaches the session and how, not the text."
)
@click.option("--json", "as_json", is_flag=True, help="As JSON: one text for each plugin.")
def context(
    directory: str | None, budget: int, session: str, agent: str, explain: bool, as_json: bool
) -> None:
    """Print what a session that starts in DIR gets from tacitd: the section of each plugin.

    What the client loads by itself, such as tacitd's rules files, is left out. Works without a daemon and without claude.
    """
    # A hook of a person's own may call this, so a missing directory must not fail it.
    here = resolve_directory(directory, missing_ok=True)
    table = load_plugin_table()
    for what in table.broken:
        echo_message(what)
    session = session or os.environ.get("CLAUDE_CODE_SESSION_ID", "")
    asked = ContextRequest(
        here,
        budget,
        session,
        occasion="agent" if agent else "start",
        agent=agent,
        client=_find_client(explain),
        explain=explain,
    )
    made = collect_sections(table.plugins, asked)
    for what in made.troubles:
        echo_message(what)
    if as_json:
        echo_json(made.texts)
    elif explain:
        _echo_effective_set(made)
    else:
        echo_text(fence_sections(made.texts, made.request), nl=False)


def _find_client(wanted: bool) -> str:
    """The version of the client that was used last on this machine; "" if it is not wanted: it takes a while to find."""
    if not wanted:
        return ""
    import time

    from tacitd.cli.common import get_paths
    from tacitd.sources.registry import make_source

    used = make_source(get_paths().config_dir).list_clients(time.time() - 30 * 86_400.0)
    return next((one.version for one in used if one.version), "")


def _echo_effective_set(made: Sections) -> None:
    from tacitd.session_context.effective_files import describe_file, judge_files, list_other_files

    text, request = fence_sections(made.texts, made.request), made.request
    version = f" of version {escape_output(request.client)}" if request.client else ""
    echo_text(f"A session in {escape_output(str(request.cwd))}, with a client{version}")
    judged = list(judge_files(request, text))
    for one in judged:
        echo_text(f"  {escape_output(str(one.file.path))}: {escape_output(describe_file(one))}")
    for other in list_other_files(request.files):
        echo_text(f"  {escape_output(str(other.path))}: loaded by the client at the start; not tacitd's")
    echo_text(f"tacitd's context adds {measure_text(text)} of {request.budget} characters:")
    for name, section in made.texts.items():
        echo_text(f"  {name}: {measure_text(section)} characters")
    if not made.texts:
        echo_text("  nothing")
    for one in judged:
        if one.missing:
            where = escape_output(str(one.file.path))
            lines = "1 line is" if one.missing == 1 else f"{one.missing} lines are"
            echo_message(f"warning: {lines} loaded by nothing: {where}")
            if one.file.why:
                echo_message(f"hint: {escape_output(one.file.why)}")
