"""`tacitd prompts`: shows what a person typed in transcripts. It needs neither a daemon nor claude, and reads any path."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from tacitd.cli.common import echo_json_line, echo_message, echo_text, get_paths
from tacitd.cli.common import escape_output as clean
from tacitd.clock import SystemClock, utc_millis
from tacitd.errors import FAILED, TacitdError
from tacitd.events import Project, Prompt
from tacitd.sources.base import OwnCalls, Source
from tacitd.sources.dedupe import SeenPrompts
from tacitd.sources.explain import judge_transcript
from tacitd.sources.projects import ProjectFinder
from tacitd.sources.registry import make_source


@click.command(
    epilog="\b\nExample: tacitd prompts ~/.claude/projects/*/*.jsonl --json | jq -r .text",
)
@click.argument("where", metavar="PATH…", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one object a line: kind, time, session, project, uuid, text, …",
)
@click.option("--explain", is_flag=True, help="Also show what was left out, and by which rule.")
def prompts(where: tuple[Path, ...], as_json: bool, explain: bool) -> int:
    """Show what a person typed in these transcripts, as tacitd reads them. PATH is a file or a folder with transcripts."""
    from tacitd.model.port import SENTINEL

    seen, places = SeenPrompts(), get_paths()
    own = OwnCalls(str(places.state_dir / "model" / "work"), SENTINEL)
    source = make_source(places.config_dir, own, os.environ)
    projects = ProjectFinder(places.home, SystemClock(), tmpdirs=())
    failed = False
    for path in _list_files(where, source):
        try:
            for shown in _list_rows(path, source, seen, projects, explain):
                _print(shown, as_json)
        except BrokenPipeError:
            raise  # the reader of stdout is gone; the transcript is fine
        except (OSError, TacitdError) as error:
            failed = True
            echo_message(f"{path}: {getattr(error, 'strerror', None) or error}")
    return FAILED if failed else 0


def _list_files(where: tuple[Path, ...], source: Source) -> Iterator[Path]:
    for path in where:
        try:
            is_folder = path.is_dir()
        except OSError:  # to read it fails too, and is reported
            is_folder = False
        if is_folder:
            yield from sorted(
                Path(folder) / name
                for folder, _, names in os.walk(path)
                for name in names
                if source.is_transcript(name)
            )
        else:
            yield path


def _list_rows(
    path: Path, source: Source, seen: SeenPrompts, projects: ProjectFinder, explain: bool
) -> Iterator[dict[str, Any]]:
    if source.is_subagent(str(path)):
        if explain:
            yield {
                "left_out": "a sub-agent's transcript: a person typed nothing in it",
                "rule": 1,
                "file": str(path),
                "at": 0,
            }
        return
    for judged in judge_transcript(path, source):
        new = [p for p in judged.prompts if not seen.has_prompt(p)]
        for prompt in new:
            seen.add_prompt(prompt)
            yield _make_row(prompt, projects) | (
                {"rule": judged.verdict.rule, "file": str(path)} if explain else {}
            )
        if explain and not new:
            reason = "already in another file" if judged.prompts else judged.verdict.reason
            yield {"left_out": reason, "rule": judged.verdict.rule, "file": str(path), "at": judged.start}


def _make_row(prompt: Prompt, projects: ProjectFinder) -> dict[str, Any]:
    place = projects.find_project(prompt.cwd)
    return {
        "kind": prompt.kind,
        "time": utc_millis(prompt.time) if prompt.time is not None else None,
        "session": prompt.session,
        "project": str(place.root) if isinstance(place, Project) else prompt.cwd,
        "uuid": prompt.uuid,
        "text": prompt.text,
        "context": prompt.context,
        "pasted": prompt.pasted,
    }


def _print(shown: dict[str, Any], as_json: bool) -> None:
    if as_json:
        echo_json_line(shown)
    elif "left_out" in shown:
        echo_text(clean(f"- {shown['file']}:{shown['at']}: rule {shown['rule']}: {shown['left_out']}"))
    else:
        echo_text(clean(f"{shown['time'] or '?'} {shown['kind']}: {shown['text']}"))
