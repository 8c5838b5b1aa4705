"""Names of events, and their lane. Pure."""

from __future__ import annotations

from pathlib import Path

from tacitd.events import Due, Event, Message, NoProject, Project, SourceChanged


def lane_of(project: Project | NoProject, path: Path) -> str:
    """The lane of records: their project, or their transcript if it belongs to none."""
    return str(project.root) if isinstance(project, Project) else str(path)


def name_of_event(event: Event) -> str:
    """The event's name in the log."""
    match event:
        case Due(job):
            return job
        case SourceChanged(path=path):
            return str(path)
        case Message(id=id):
            return id
        case _:
            return event.session
