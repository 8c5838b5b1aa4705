"""Which records of a session may be stored and sent to the model: not those of directories that a person excluded.

A session may pass through several directories, so the project of an event, or of the session, does not answer this.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tacitd.events import NoProject, Project, Record
from tacitd.handler import Tools
from tacitd_handlers.shared.unwanted_places import drop_unwanted_contexts, is_unwanted


def keep_wanted(records: Iterable[Record], tools: Tools, project: Project | NoProject) -> tuple[Record, ...]:
    """Return the records of directories that are not excluded, without contexts of those that are.

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
    """Return the wanted records of a session between two byte offsets of a transcript."""
    records = keep_wanted(tools.read_records(transcript, start, end), tools, project)
    return [record for record in records if record.session in ("", session)]
