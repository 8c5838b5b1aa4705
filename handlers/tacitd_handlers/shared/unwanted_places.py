"""Directories that a person excluded: nothing of them may be stored or sent to the model."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from tacitd.events import NoProject, Project, Prompt, Record
from tacitd.handler import Tools


def is_unwanted(project: Project | NoProject, tools: Tools) -> bool:
    """Whether a person excluded this directory, so that nothing of it may be stored."""
    if isinstance(project, NoProject):
        return project.excluded
    return tools.write_mode(project) == "off"


def keep_wanted(records: Iterable[Record], tools: Tools, project: Project | NoProject) -> tuple[Record, ...]:
    """The records of directories that are not excluded, without contexts of those that are: a session may pass through several.

    A record that names no directory belongs to that of the record before it, and the first ones to `project`.
    """
    kept: list[Record] = []
    answers = {"": is_unwanted(project, tools)}
    cwd = ""
    for record in records:
        cwd = record.cwd or cwd
        if cwd not in answers:
            answers[cwd] = is_unwanted(tools.project_of(cwd), tools)
        if not answers[cwd]:
            kept.append(record)
    return drop_unwanted_contexts(kept, tools)


def read_session(
    session: str, transcript: Path, start: int, end: int, project: Project | NoProject, tools: Tools
) -> list[Record]:
    """The wanted records of a session between two byte offsets of a transcript."""
    records = keep_wanted(tools.read_records(transcript, start, end), tools, project)
    return [record for record in records if record.session in ("", session)]


def drop_unwanted_contexts(records: Iterable[Record], tools: Tools) -> tuple[Record, ...]:
    """The records without what the assistant wrote in an excluded directory before a prompt in another one."""
    return tuple(
        _clean_record(one, tools) if any(p.context_cwd for p in one.prompts) else one for one in records
    )


def _clean_record(record: Record, tools: Tools) -> Record:
    return replace(record, prompts=tuple(_clean_prompt(one, tools) for one in record.prompts))


def _clean_prompt(prompt: Prompt, tools: Tools) -> Prompt:
    if not prompt.context_cwd or not is_unwanted(tools.project_of(prompt.context_cwd), tools):
        return prompt
    return replace(prompt, context="")
