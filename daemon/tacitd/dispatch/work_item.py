"""The data of dispatch: work items, assignments, pending writes, and the keys of lanes and events. No decisions.

All of it is in memory only. After a crash it is made again from positions and growth.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from loguru import logger

from tacitd.consumers.consumer import Consumer, Cursor
from tacitd.dispatch.backoff import Parked
from tacitd.dispatch.batching import Batch
from tacitd.errors import TacitdError, describe_os_error
from tacitd.events import (
    Due,
    Event,
    NoProject,
    Project,
    SessionEnded,
    SessionStarted,
    SourceChanged,
    Told,
    TranscriptGrew,
)
from tacitd.handler import Commit, Done, Later
from tacitd.model.port import NoAnswer

WaitKey = tuple[str, ...]
"""What an item can wait for: (handler, project) is a lane, (handler,) a worker of the handler, (handler, transcript, "")
another item, (handler, project, "due") the transcripts of a lane that are due."""


@dataclass(slots=True, eq=False)
class WorkItem:
    """The work of one handler on one transcript, or on one event without records."""

    consumer: Consumer
    cursor: Cursor | None
    event: Event | None = None
    """None: the growth of the transcript, whatever it contains when it is offered."""
    busy: bool = False
    woken_while_busy: bool = False
    due: bool = False
    """Gathering ends now: because of `sync`, or because the session ended."""
    declined_while_due: bool = False
    """A file was being edited when the batch was offered as due. `sync` does not wait for its editor."""
    offered_upto: int = -1
    """The end of the newest batch."""
    gather_until: float = 0.0
    """Monotonic seconds until which its batch is gathered, or a file is being edited."""
    parked: Parked | None = None
    blocked_by: Path | None = None
    """The transcript that has the next prompts in flight."""
    pending_write: PendingWrite | None = None
    max_records: int | None = None
    """Maximum records of a batch up to `max_records_upto`, because a larger batch failed."""
    max_records_upto: int = 0
    ready: bool = False
    """It is in the queue's list of ready items."""
    needed_lane: WaitKey | None = None
    """The lane that the next batch needs, if a batch was made."""
    home_lane: WaitKey | None = None
    """The lane of its transcript's newest record."""
    waiting_for: WaitKey | None = None
    """What it waited for when it was examined last."""
    queue_number: int = 0
    """Its position among the items that wait for the same; 0 if it does not wait."""

    @property
    def label(self) -> str:
        """What the item is about, for people."""
        if self.event is None:
            return f"growth of {self.cursor.path}" if self.cursor else ""
        return describe_event(self.event)

    @property
    def rank(self) -> int:
        """The order of items that are ready together: starts of sessions, then records, then what is made of records."""
        if isinstance(self.event, SessionStarted):
            return 0
        return 1 if self.event is None else 2

    @property
    def is_idle(self) -> bool:
        """Whether it can be forgotten: everything that is known of it can be read from the transcript."""
        return not (self.busy or self.ready or self.parked or self.pending_write or self.blocked_by)

    def reset_progress(self) -> None:
        """The transcript is read from its first byte again: what was offered before no longer counts."""
        self.offered_upto, self.gather_until, self.max_records, self.max_records_upto = -1, 0.0, None, 0
        self.declined_while_due, self.blocked_by, self.needed_lane = False, None, None


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a worker is given."""

    item: WorkItem
    event: Event
    batch: Batch | None
    lane: tuple[str, str]
    epoch: int = 0
    """The cursor's epoch when it was offered."""
    handled_upto: int = -1
    """For `SessionEnded`: the cursor's `handled_upto` when it was offered."""
    model_refusal: NoAnswer | None = None
    """The model's answer to every request of this assignment; None if the model is called."""

    @property
    def log_name(self) -> str:
        """The event's name in the log."""
        return name_of_event(self.event)


@dataclass(frozen=True, slots=True)
class FileBusy:
    """The outcome of a handler that met a file that is being edited. Nothing is parked, and no attempt is counted."""

    seconds: float
    """When it is tried again."""


@dataclass(frozen=True, slots=True)
class PendingWrite:
    """What a handler did and could not be written yet. Kept so that it is not done, and paid for, again."""

    assignment: Assignment
    done: Done
    commit: Commit | None
    """None: it is not committed. Otherwise the commit is durable, and the project files are not written."""
    later: Later


def explain_fault(error: BaseException) -> Later:
    """Return an exception of a handler as a reason that a person can read, and log its trace."""
    if isinstance(error, OSError) or (isinstance(error, TacitdError) and error.hint):
        what, hint = describe_os_error(error) if isinstance(error, OSError) else (error.what, error.hint)
        logger.warning("a handler failed: {}", what)  # the hint says how to fix it: the trace would not help
        logger.opt(exception=error).debug("the trace of this failure")
        return Later(what[:300], hint, blame="world")
    logger.opt(exception=error).warning("a handler failed: {}", type(error).__name__)
    hint = str(getattr(error, "hint", ""))
    what = getattr(error, "what", "") or f"{type(error).__name__}: {error}"
    return Later(str(what)[:300], hint, blame="world" if hint else "work")


def explain_unwritten(error: Exception) -> Later:
    """Return a failed write of tacitd's own files as a reason that a person can read."""
    if isinstance(error, OSError):
        what, hint = describe_os_error(error)
        return Later(f"it cannot be written down: {what}"[:300], hint)
    return Later(str(getattr(error, "what", error))[:300], str(getattr(error, "hint", "")))


def make_transcript_key(consumer: Consumer, path: Path) -> WaitKey:
    """What an item waits for if this transcript has its next prompts in flight."""
    return consumer.name, str(path), ""


def make_due_key(lane: WaitKey) -> WaitKey:
    """What an event waits for that comes after the due transcripts of its lane."""
    return *lane, "due"


def lane_of(project: Project | NoProject, path: Path) -> str:
    """The lane of records: their project, or their transcript if it belongs to none."""
    return str(project.root) if isinstance(project, Project) else str(path)


def lane_of_event(event: Event) -> str:
    """The lane of an event without records: its project, "" for one that belongs to no project and no transcript."""
    match event:
        case Due(project=Project(root=root)) | SourceChanged(project=Project(root=root)):
            return str(root)
        case Told(project=project):
            return str(project.root) if isinstance(project, Project) else ""
        case Due() | SourceChanged():
            return ""
        case _:
            return lane_of(event.project, event.transcript)


def make_event_key(event: Event) -> tuple[str, ...]:
    """The key of an event. A second event with the same key replaces the first."""
    match event:
        case Due(job, project):
            return ("Due", job, str(project.root) if project else "")
        case SourceChanged(project, path):
            return ("SourceChanged", str(project.root), str(path))
        case Told(id=id):
            return ("Told", id)
        case _:
            return (type(event).__name__, event.session, str(event.transcript))


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
        case Told(sender=sender, session=job, by_job=True):
            return f"what {sender} found in job {job}"
        case Told(sender=sender, session=session):
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
        case Told(id=id):
            return id
        case _:
            return event.session
