"""The data of dispatch: work items, assignments and pending writes. No decisions.

All of it is in memory only. After a crash it is made again from positions and growth.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct, field

from tacitd.consumers.consumer import Consumer
from tacitd.consumers.cursor_table import Cursor
from tacitd.dispatch.backoff import Parked
from tacitd.dispatch.batching import Batch
from tacitd.dispatch.event_keys import describe_event
from tacitd.events import Event, SessionStarted
from tacitd.handler import Commit, Done, Later
from tacitd.model.port import NoAnswer
from tacitd.sources.position import Position

LaneKey = tuple[str, str]
"""(handler, project): see `lanes.py`."""


class WorkItem(Struct, eq=False):
    """The work of one handler on one transcript, or on one event without records."""

    consumer: Consumer
    cursor: Cursor | None
    lane: LaneKey
    """Where it is queued: the lane of the next batch, as far as it is known. Changes only while nothing is in flight."""
    home: LaneKey
    """The lane of its transcript's newest record."""
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
    is_queued: bool = False
    """It waits in its lane."""
    followers: dict[WorkItem, None] = field(default_factory=dict)
    """The items that are woken when the state of this one changes."""

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
        return not (self.busy or self.is_queued or self.parked or self.pending_write or self.blocked_by)

    def may_run(self, now: float) -> bool:
        """Whether it is not parked, or its delay has passed. `now`: monotonic seconds."""
        return self.parked is None or self.parked.due <= now

    def reset_progress(self) -> None:
        """The transcript is read from its first byte again: what was offered before no longer counts."""
        self.offered_upto, self.gather_until, self.max_records, self.max_records_upto = -1, 0.0, None, 0
        self.declined_while_due, self.blocked_by = False, None


class Assignment(Struct, frozen=True):
    """What a worker is given."""

    item: WorkItem
    event: Event
    batch: Batch | None
    epoch: int = 0
    """The cursor's epoch when it was offered."""
    handled_upto: int = -1
    """For `SessionEnded`: the cursor's `handled_upto` when it was offered."""
    end: Position | None = None
    """The position at the end of the batch, as it was when it was offered."""
    model_refusal: NoAnswer | None = None
    """The model's answer to every request of this assignment; None if the model is called."""


class FileBusy(Struct, frozen=True):
    """The outcome of a handler that met a file that is being edited. Nothing is parked, and no attempt is counted."""

    seconds: float
    """When it is tried again."""


class PendingWrite(Struct, frozen=True):
    """What a handler did and could not be written yet. Kept so that it is not done, and paid for, again."""

    assignment: Assignment
    done: Done
    commit: Commit | None
    """None: it is not committed. Otherwise the commit is durable, and the project files are not written."""
    later: Later
