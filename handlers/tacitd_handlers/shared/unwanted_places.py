"""Directories that a person excluded: nothing of them may be stored or sent to the model."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from tacitd.events import NoProject, Project, Prompt, Record
from tacitd.handler import Tools


def is_unwanted(project: Project | NoProject, tools: Tools) -> bool:
    """Whether a person excluded this directory, so that nothing of it may be stored."""
    if isinstance(project, NoProject):
        return project.excluded
    return tools.write_mode(project) == "off"


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
