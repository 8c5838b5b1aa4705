"""`tacitd prompts`: shows what a person typed in transcripts. It needs neither a daemon nor claude, and reads any path."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import click

from tacitd.cli.common import echo_message, echo_text, escape_output, get_paths, json_option, to_json_line
from tacitd.clock import utc_millis
from tacitd.errors import FAILED, TacitdError
from tacitd.events import NoProject, Project
from tacitd.sources.assembler import SeenPrompts
from tacitd.sources.projects import ProjectFinder
from tacitd.sources.registry import make_source
from tacitd.sources.source import OwnCalls, Source
from tacitd.sources.transcript import judge_transcript

FindProject = Callable[[str], Project | NoProject]


@click.command(epilog="\b\nExample: tacitd prompts ~/.claude/projects/*/*.jsonl --json | jq -r .text")
@click.argument("where", metavar="PATH…", nargs=-1, required=True, type=click.Path(path_type=Path))
@json_option("One object a line: kind, time, session, project, uuid, text, …")
@click.option("--explain", is_flag=True, help="Also show what was left out, and by which rule.")
def prompts(where: tuple[Path, ...], as_json: bool, explain: bool) -> int:
    """Show what a person typed in these transcripts, as tacitd reads them. PATH is a file or a folder with transcripts."""
    from tacitd.model.port import SENTINEL

    seen, places = SeenPrompts(), get_paths()
    own = OwnCalls(str(places.state_dir / "model" / "work"), SENTINEL)
    source = make_source(places.config_dir, own, os.environ)
    find_project = cache(ProjectFinder(places.home, tmpdirs=()).find_project)
    failed = False
    for path in _list_files(where, source):
        try:
            for row in _list_rows(path, source, seen, find_project):
                if explain or "left_out" not in row:
                    hidden = () if explain else ("rule", "file")
                    shown = {name: value for name, value in row.items() if name not in hidden}
                    echo_text(to_json_line(shown) if as_json else escape_output(_format_row(row)))
        except BrokenPipeError:
            raise  # the reader of stdout is gone; the transcript is fine
        except (OSError, TacitdError) as error:
            failed = True
            echo_message(f"{path}: {getattr(error, 'strerror', None) or error}")
    return FAILED if failed else 0


def _list_files(where: tuple[Path, ...], source: Source) -> Iterator[Path]:
    for path in where:
        is_folder = False
        with suppress(OSError):  # to read it fails too, and is reported
            is_folder = path.is_dir()
        if is_folder:
            inside = sorted(Path(folder) / name for folder, _, names in os.walk(path) for name in names)
            yield from (one for one in inside if source.is_transcript(one.name))
        else:
            yield path


def _list_rows(
    path: Path, source: Source, seen: SeenPrompts, find_project: FindProject
) -> Iterator[dict[str, Any]]:
    """What a person typed in a transcript, and what was left out, with the rule that says so."""
    file = str(path)
    if source.is_subagent(file):
        reason = "a sub-agent's transcript: a person typed nothing in it"
        yield {"left_out": reason, "rule": 1, "file": file, "at": 0}
        return
    for judged in judge_transcript(path, source):
        rule = judged.verdict.rule
        new = [one for one in judged.prompts if seen.add_if_new(one)]
        for prompt in new:
            place = find_project(prompt.cwd)
            yield {
                "kind": prompt.kind,
                "time": utc_millis(prompt.time) if prompt.time is not None else None,
                "session": prompt.session,
                "project": str(place.root) if isinstance(place, Project) else prompt.cwd,
                "uuid": prompt.uuid,
                "text": prompt.text,
                "context": prompt.context,
                "pasted": prompt.pasted,
                "rule": rule,
                "file": file,
            }
        if not new:
            reason = "already in another file" if judged.prompts else judged.verdict.reason
            yield {"left_out": reason, "rule": rule, "file": file, "at": judged.start}


def _format_row(row: dict[str, Any]) -> str:
    if "left_out" in row:
        return f"- {row['file']}:{row['at']}: rule {row['rule']}: {row['left_out']}"
    return f"{row['time'] or '?'} {row['kind']}: {row['text']}"
