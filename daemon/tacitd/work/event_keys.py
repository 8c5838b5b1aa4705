"""Names of events: their lane, the key by which a second one replaces the first, and their description for people. Pure."""

from __future__ import annotations

from pathlib import Path

from tacitd.events import (
    Due,
    Event,
    Message,
    NoProject,
    Project,
    SessionEnded,
    SessionStarted,
    SourceChanged,
    TranscriptGrew,
)


def lane_of(project: Project | NoProject, path: Path) -> str:
    """The lane of records: their project, or their transcript if it belongs to none."""
    return str(project.root) if isinstance(project, Project) else str(path)


def lane_of_event(event: Event) -> str:
    """The lane of an event without records: its project, "" for one that belongs to no project and no transcript."""
    match event:
        case Due(project=Project(root=root)) | SourceChanged(project=Project(root=root)):
            return str(root)
        case Message(project=project):
            return str(project.root) if isinstance(project, Project) else ""
        case Due() | SourceChanged():
            return ""
        case _:
            return lane_of(event.project, event.transcript)


def make_event_key(event: Event) -> tuple[str, ...]:
    """The key of an event. A second event with the same key replaces the first."""
    match event:
        case Due(job, project, session):
            return (event.stored_name, job, str(project.root) if project else "", session)
        case SourceChanged(project, path):
            return (event.stored_name, str(project.root), str(path))
        case Message(id=id):
            return (event.stored_name, id)
        case SessionStarted(transcript=path, project=project):
            return (event.stored_name, lane_of(project, path))
        case _:
            return (event.stored_name, event.session, str(event.transcript))


def describe_event(event: Event) -> str:
    """What happened, for people."""
    match event:
        case SessionStarted(session=session):
            return f"the start of session {session}"
        case SessionEnded(session=session):
            return f"the end of session {session}"
        case Due(job=job):
            return f"job {job}"
        case SourceChanged(path=path):
            return f"a change of {path}"
        case Message(sender=sender, session=job, by_job=True):
            return f"what {sender} found in job {job}"
        case Message(sender=sender, session=session):
            return f"what {sender} found in session {session}"
        case TranscriptGrew(transcript=path):
            return f"growth of {path}"


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
