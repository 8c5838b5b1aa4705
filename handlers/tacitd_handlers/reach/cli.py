"""`tacitd reach`: which learned text a session in a directory loads, and what does not arrive."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click

from tacitd.cli.common import echo_json, escape_output, get_paths, resolve_directory
from tacitd.sources.registry import find_codex, make_source
from tacitd.store import open_readonly
from tacitd_handlers.reach.reach_survey import ReachedFile, ReachReport, survey_directory
from tacitd_handlers.shared.rule_names import AGENTS, MODULE_RULES

RECENT = 30 * 86_400.0
"""Seconds: clients that were used within this time count."""
ELSEWHERE = (
    "A session that adds this directory with --add-dir loads none of it at its start; with "
    "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD=1 it loads the project's lines (2.1.63 and later)."
)
_SOURCES = {"person": "about you", "project": "of this project", "module": "of this module"}


@click.command(
    epilog="\b\nExample: tacitd reach ~/work/app/web\nExample: tacitd reach --json | jq '.missing[].why'"
)
@click.argument("directory", metavar="[DIR]", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: loads, missing, clients.")
def reach(directory: str | None, as_json: bool) -> None:
    """List what a session that starts in a directory loads of what was learned, and what does not arrive and why.

    Works without a daemon and changes nothing. Clients are those that wrote transcripts here within 30 days.
    """
    places = get_paths()
    clients = make_source(places.config_dir).list_clients(time.time() - RECENT)
    folders = partial(_list_module_folders, places.state_dir)
    codex = find_codex(os.environ) is not None
    here = resolve_directory(directory)
    report = survey_directory(places.config_dir, here, clients, folders, with_codex=codex)
    if as_json:
        echo_json(as_document(report))
        return
    for line in format_report(report, places.home):
        click.echo(line)


def _list_module_folders(state_dir: Path, root: Path) -> set[str]:
    """The folders of a project whose AGENTS.md has a line that tacitd wrote."""
    store = open_readonly(state_dir)
    if store is None:
        return set()
    with store:
        found = [Path(path) for (path,) in store.rows("SELECT DISTINCT path FROM shared_leaf")]
    modules = (path.parent for path in found if path.name == AGENTS and path.is_relative_to(root))
    return {one.relative_to(root).as_posix() for one in modules if one != root / MODULE_RULES}


def as_document(report: ReachReport) -> dict[str, Any]:
    """The report as JSON, with a schema version."""
    loads = [
        {
            "path": str(one.path),
            "kind": one.kind,
            "when": one.when,
            "folder": one.folder or None,
            "lines": one.lines,
        }
        for one in report.files
    ]
    missing = [
        {"id": one.id or None, "what": one.what, "why": one.why, "hint": one.hint} for one in report.problems
    ]
    versions = dict.fromkeys((use.version, use.headless) for use in report.clients)
    clients = [{"version": version, "headless": headless} for version, headless in versions]
    return {
        "schema": 1,
        "directory": str(report.directory),
        "loads": loads,
        "missing": missing,
        "clients": clients,
        "notes": [ELSEWHERE],
    }


def format_report(report: ReachReport, home: Path) -> Iterator[str]:
    """The report as lines for a person."""
    yield f"A session in {_short(report.directory, home)}"
    start = [one for one in report.files if one.when == "start"]
    read = [one for one in report.files if one.when == "read"]
    yield "loads at its start:"
    yield from (_format_file(one, home) for one in start)
    yield from [] if start else ["  nothing that was learned"]
    if read:
        yield "loads when a file is read:"
        yield from (_format_file(one, home) for one in read)
    if report.problems:
        yield "Does not arrive, or not as it should:"
        for one in report.problems:
            yield f"  {escape_output(one.what)}: {escape_output(one.why)}"
            if one.hint:
                yield f"    hint: {escape_output(one.hint)}"
    yield ELSEWHERE


def _format_file(one: ReachedFile, home: Path) -> str:
    about = f"in {one.folder}/" if one.folder else _SOURCES[one.kind]
    lines = "1 line" if one.lines == 1 else f"{one.lines} lines"
    return f"  {_short(one.path, home)}: {lines} {escape_output(about)}"


def _short(path: Path, home: Path) -> str:
    """The path with `~` for the home."""
    inside = path.is_relative_to(home) and path != home
    return escape_output(f"~{os.sep}{path.relative_to(home)}" if inside else str(path))
