"""Which records of a session may be stored and sent to the model: not those of directories that a person excluded.

A session may pass through several directories, so the project of an event, or of the session, does not answer this.
"""

from __future__ import annotations

from collections.abc import Iterable

from tacitd.events import NoProject, Project, Record
from tacitd.handler import Tools


def is_unwanted(project: Project | NoProject, tools: Tools) -> bool:
    """Whether a person excluded this directory, so that nothing of it may be stored."""
    if isinstance(project, NoProject):
        return project.excluded
    return tools.write_mode(project) == "off"


def keep_wanted(records: Iterable[Record], tools: Tools, project: Project | NoProject) -> list[Record]:
    """The records of directories that are not excluded. One that names no directory belongs to that of the record before it, and
    the first ones to `project`."""
    kept: list[Record] = []
    answers = {"": is_unwanted(project, tools)}
    cwd = ""
    for record in records:
        cwd = record.cwd or cwd
        if cwd not in answers:
            answers[cwd] = is_unwanted(tools.project_of(cwd), tools)
        if not answers[cwd]:
            kept.append(record)
    return kept
