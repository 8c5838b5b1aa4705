"""What the dispatcher keeps of its work: turns, offers, answers that could not be written. Words, no decisions."""

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
"""What a turn can wait for: (handler, project) is a lane, (handler,) a place of the handler, (handler, transcript, "")
another turn, (handler, project, "due") the transcripts of a project that are due."""


@dataclass(slots=True, eq=False)
class WorkItem:
    """What one handler is to do about one transcript, or one event without records. Lost at a crash, and that is fine:
    it is made again from positions and growth."""

    consumer: Consumer
    cursor: Cursor | None
    event: Event | None = None
    """None: whatever the transcript holds by then."""
    busy: bool = False
    woken_while_busy: bool = False
    """It was woken while it was busy."""
    due: bool = False
    """Do not gather any longer."""
    declined_while_due: bool = False
    """The handler was told that it is due, and waits all the same."""
    offered_upto: int = -1
    gather_until: float = 0.0
    """Monotonic seconds: what is gathered is not offered before."""
    parked: Parked | None = None
    blocked_by: Path | None = None
    """The transcript that is about to hand over the same words."""
    pending_write: PendingWrite | None = None
    max_records: int | None = None
    """How many records may go together, up to `limit_end`."""
    max_records_upto: int = 0
    ready: bool = False
    needed_lane: WaitKey | None = None
    """The lane that it needs, as far as it is known."""
    home_lane: WaitKey | None = None
    """The lane of its transcript's newest record."""
    waiting_for: WaitKey | None = None
    """What it waited for when it was last looked at."""
    queue_number: int = 0
    """Its place among those who wait; 0: it does not."""

    @property
    def label(self) -> str:
        """For people: what this turn is about."""
        if self.event is None:
            return f"growth of {self.cursor.path}" if self.cursor else ""
        return describe_event(self.event)

    @property
    def rank(self) -> int:
        """In which order turns go that are ready together: what is made of records comes after them."""
        if isinstance(self.event, SessionStarted):
            return 0
        return 1 if self.event is None else 2

    @property
    def is_idle(self) -> bool:
        """Whether nothing is known of it that its transcript would not tell."""
        return not (self.busy or self.ready or self.parked or self.pending_write or self.blocked_by)

    def reset_progress(self) -> None:
        """The transcript is read from its first byte again: what was offered before says nothing any more."""
        self.offered_upto, self.gather_until, self.max_records, self.max_records_upto = -1, 0.0, None, 0
        self.declined_while_due, self.blocked_by, self.needed_lane = False, None, None


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a worker was given."""

    item: WorkItem
    event: Event
    batch: Batch | None
    lane: tuple[str, str]
    epoch: int = 0
    """The stream's, when it was offered."""
    handled_upto: int = -1
    """What the handler had done of the session, when it was told of its end."""
    model_refusal: NoAnswer | None = None
    """What the model answers whatever it is asked for this work; None: it is asked."""

    @property
    def log_name(self) -> str:
        """What the log calls it."""
        return name_of_event(self.event)


@dataclass(frozen=True, slots=True)
class PendingWrite:
    """What a handler did and could not be written: kept, so that it is not done, and paid for, again."""

    assignment: Assignment
    done: Done
    commit: Commit | None
    """None: not even committed. Else it is durable, and was not projected."""
    later: Later


def explain_fault(error: BaseException) -> Later:
    """What the handler raised, as a reason that a person can read. The trace goes to the log."""
    if isinstance(error, OSError) or (isinstance(error, TacitdError) and error.hint):
        what, hint = describe_os_error(error) if isinstance(error, OSError) else (error.what, error.hint)
        logger.warning("a handler failed: {}", what)  # a person can mend it: the trace is of no use for that
        logger.opt(exception=error).debug("there")
        return Later(what[:300], hint, blame="world")
    logger.opt(exception=error).warning("a handler failed: {}", type(error).__name__)
    hint = str(getattr(error, "hint", ""))
    what = getattr(error, "what", "") or f"{type(error).__name__}: {error}"
    return Later(str(what)[:300], hint, blame="world" if hint else "work")


def explain_unwritten(error: Exception) -> Later:
    """That tacitd's own state could not be written."""
    if isinstance(error, OSError):
        what, hint = describe_os_error(error)
        return Later(f"it cannot be written down: {what}"[:300], hint)
    return Later(str(getattr(error, "what", error))[:300], str(getattr(error, "hint", "")))


def make_transcript_key(consumer: Consumer, path: Path) -> WaitKey:
    """What a turn waits for whose words this transcript hands over."""
    return consumer.name, str(path), ""


def make_due_key(lane: WaitKey) -> WaitKey:
    """What a turn waits for that comes after the transcripts of its lane that are due."""
    return *lane, "due"


def lane_of(place: Project | NoProject, path: Path) -> str:
    """Records of one project, or of one transcript that belongs to none, are handled one after the other."""
    return str(place.root) if isinstance(place, Project) else str(path)


def lane_of_event(event: Event) -> str:
    """The same for an event without records."""
    match event:
        case Due(project=Project(root=root)) | SourceChanged(project=Project(root=root)):
            return str(root)
        case Told(project=place):
            return str(place.root) if isinstance(place, Project) else ""
        case Due() | SourceChanged():
            return ""
        case _:
            return lane_of(event.project, event.transcript)


def make_event_key(event: Event) -> tuple[str, ...]:
    """What tells an event from others: a second one with the same key takes the place of the first."""
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
    """For people: what happened."""
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
    """What the log calls it."""
    match event:
        case Due(job):
            return job
        case SourceChanged(path=path):
            return str(path)
        case Told(id=id):
            return id
        case _:
            return event.session
