"""Which turns there are, and which of them are to be looked at now. Says nothing about whether one may be offered.

A turn that cannot be offered waits for something that has a name: its lane, a place of its handler, another turn. When
that is free, one of those who wait for it is looked at, and the next one only if that one did not take it. Looking at
all of them each time would cost the square of a backlog.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from pathlib import Path

from tacitd.consumers.consumer import Consumer, Cursor
from tacitd.dispatch.backoff import Parked
from tacitd.dispatch.work_item import WaitKey, WorkItem, make_event_key
from tacitd.events import Event, SessionEnded

MAX_ROUNDS = 100
"""How often in one pass turns may wake others; more would be a loop."""


class WorkQueue:
    """Turns by transcript and by event, those that are ready, those that are blocked, and the timers. Engine thread."""

    def __init__(self, consumers: Mapping[str, Consumer], monotonic: Callable[[], float]) -> None:
        self.items_by_transcript: dict[tuple[str, Path], WorkItem] = {}
        self.items_by_event: dict[tuple[str, ...], WorkItem] = {}
        self._consumers = consumers
        self._monotonic = monotonic
        self._session_ends: dict[tuple[str, Path], dict[tuple[str, ...], WorkItem]] = {}
        """The ends of sessions in a transcript, by handler: they wait until it is handled."""
        self.lane_members: dict[WaitKey, dict[Path, WorkItem]] = {}
        """The transcripts that are handled in a lane, by path."""
        self.on_created: Callable[[WorkItem], None] = lambda _turn: None
        """Told of each new turn at a transcript."""
        self._ready: list[WorkItem] = []
        self._blocked: dict[WaitKey, list[tuple[int, int, WorkItem]]] = {}
        """By what they wait for: a heap of (rank, number, turn). One that no longer waits for it has another number."""
        self._released: dict[WaitKey, None] = {}
        self._timers: list[tuple[float, int, WorkItem]] = []
        self._serial = 0

    def get_item(self, consumer: Consumer, path: Path) -> WorkItem:
        """The turn of a handler at a transcript."""
        key = (consumer.name, path)
        turn = self.items_by_transcript.get(key)
        if turn is None:
            turn = self.items_by_transcript[key] = WorkItem(consumer, consumer.get_cursor(path))
            self.on_created(turn)
        return turn

    def assign_lane(self, turn: WorkItem, path: Path, lane: WaitKey | None) -> None:
        """Its transcript is handled in this lane from now on; None: in none."""
        if turn.home_lane == lane:
            return
        if turn.home_lane is not None:
            beside = self.lane_members[turn.home_lane]
            del beside[path]
            if not beside:
                del self.lane_members[turn.home_lane]
        if lane is not None:
            self.lane_members.setdefault(lane, {})[path] = turn
        turn.home_lane = lane

    def list_items_of(self, path: Path) -> list[WorkItem]:
        """The turns of all handlers at a transcript."""
        return [self.get_item(consumer, path) for consumer in self._consumers.values()]

    def put_event(self, consumer: Consumer, event: Event) -> WorkItem:
        """The turn for an event. A second one of the same kind takes the place of one that is not being handled."""
        key = (consumer.name, *make_event_key(event))
        turn = self.items_by_event.get(key)
        if turn is None or turn.busy:
            turn = self.items_by_event[key] = WorkItem(consumer, _cursor_of(consumer, event))
        turn.event = event
        if turn.cursor is not None:
            self._session_ends.setdefault((consumer.name, turn.cursor.path), {})[key] = turn
        return turn

    def list_items(self) -> list[WorkItem]:
        """Every turn."""
        return [*self.items_by_transcript.values(), *self.items_by_event.values()]

    def is_current(self, turn: WorkItem) -> bool:
        """Whether this turn still stands for what it is about: it was neither put away nor replaced."""
        if turn.event is not None:
            return self.items_by_event.get((turn.consumer.name, *make_event_key(turn.event))) is turn
        return (
            turn.cursor is not None
            and self.items_by_transcript.get((turn.consumer.name, turn.cursor.path)) is turn
        )

    def finish_event(self, turn: WorkItem, event: Event) -> None:
        """An event was handled. It may have come again, while what was done of it could not be written."""
        turn.parked = None
        if turn.event is not event:
            self.wake(turn)
        elif self.is_current(turn):
            key = (turn.consumer.name, *make_event_key(event))
            del self.items_by_event[key]
            if turn.cursor is not None:
                ends = self._session_ends[turn.consumer.name, turn.cursor.path]
                del ends[key]
                if not ends:
                    del self._session_ends[turn.consumer.name, turn.cursor.path]

    def list_parked(self) -> list[tuple[WorkItem, Parked]]:
        """What is parked, oldest first."""
        found = [(turn, turn.parked) for turn in self.list_items() if turn.parked is not None]
        return sorted(found, key=lambda item: item[1].since)

    # when

    def wake(self, turn: WorkItem) -> None:
        """Look at this turn in the next pass; at one that is busy, when it no longer is."""
        if turn.busy:
            turn.woken_while_busy = True
        elif not turn.ready:
            turn.ready = True
            self._ready.append(turn)

    def wake_waiters(self, turn: WorkItem, *ways: WaitKey) -> None:
        """Something became of a transcript: look at the ends of its sessions, and at all that waits for it (`ways`)."""
        if turn.cursor is not None:
            for end in self._session_ends.get((turn.consumer.name, turn.cursor.path), {}).values():
                self.wake(end)
        for way in ways:
            self._wake_in_order(self._blocked.pop(way, []))

    def release(self, *ways: WaitKey) -> None:
        """One of those who wait for this may have it now."""
        self._released |= {way: None for way in ways if way in self._blocked}

    def wake_all_blocked(self) -> None:
        """Look again at all that something else came before."""
        blocked, self._blocked = self._blocked, {}
        self._wake_in_order([each for waiting in blocked.values() for each in waiting])

    def _wake_in_order(self, waiting: list[tuple[int, int, WorkItem]]) -> None:
        """Wake those who waited in a heap that is no more, in their order."""
        for _, number, turn in sorted(waiting):
            if turn.queue_number == number:
                turn.queue_number = 0
                self.wake(turn)

    def schedule_wake(self, turn: WorkItem, at: float) -> None:
        """Look at it at this time: monotonic seconds."""
        self._serial += 1
        heapq.heappush(self._timers, (at, self._serial, turn))

    def next_in(self) -> float:
        """Seconds until something is to be looked at; infinite when nothing waits for a time."""
        if self.has_ready:
            return 0.0
        return max(0.0, self._timers[0][0] - self._monotonic()) if self._timers else float("inf")

    @property
    def has_ready(self) -> bool:
        """Whether something is to be looked at now."""
        return bool(self._ready or self._released)

    def run_ready(
        self, offered: Callable[[WorkItem], WaitKey | None], taken: Callable[[WaitKey], bool]
    ) -> None:
        """Look at all that is ready, and at what becomes ready by that. `offered` returns what a turn has to wait for, or
        None where that is all for now; `taken` says whether somebody has this."""
        now = self._monotonic()
        while self._timers and self._timers[0][0] <= now:
            self.wake(heapq.heappop(self._timers)[2])
        for _ in range(MAX_ROUNDS):
            self._admit_next(taken)
            ready, self._ready = self._ready, []
            for turn in ready:
                turn.ready = False
            # Who waits comes before who had it last, the longest first.
            for turn in sorted(ready, key=lambda turn: (turn.rank, turn.queue_number or self._serial + 1)):
                self._process_item(turn, offered)
            if not self.has_ready:
                return

    def _process_item(self, turn: WorkItem, offered: Callable[[WorkItem], WaitKey | None]) -> None:
        """What a turn waited for and does not take is the next one's. One that could have its lane and waits for a place
        of its handler keeps the others of its lane waiting: they would only wait there as well. One that still waits for
        the same keeps its place: else who is woken often, because his transcript grows, would always be the last."""
        before, lane = turn.waiting_for, turn.needed_lane
        turn.waiting_for = offered(turn) if self.is_current(turn) else None
        if turn.waiting_for != before:
            turn.queue_number = 0
        if turn.waiting_for is not None and not turn.queue_number:
            self._serial += 1
            turn.queue_number = self._serial
            heapq.heappush(self._blocked.setdefault(turn.waiting_for, []), (turn.rank, self._serial, turn))
        kept = (
            (turn.waiting_for, turn.needed_lane)
            if turn.waiting_for == (turn.consumer.name,)
            else (turn.waiting_for,)
        )
        self.release(*(way for way in (before, lane) if way is not None and way not in kept))

    def _admit_next(self, taken: Callable[[WaitKey], bool]) -> None:
        """Wake the first of those who wait for each thing that is free."""
        freed, self._released = self._released, {}
        for way in freed:
            waiting = self._blocked.get(way, [])
            while waiting and waiting[0][2].queue_number != waiting[0][1]:
                heapq.heappop(waiting)
            if not waiting:
                self._blocked.pop(way, None)
            elif not taken(way):
                self.wake(waiting[0][2])

    def forget_closed(self, is_open: Callable[[Path], bool]) -> None:
        """Forget turns whose transcript was put away: growth makes them anew. Whatever was overlooked is looked at."""
        self.wake_all_blocked()
        for turn in self.items_by_event.values():
            self.wake(turn)
        for key, turn in list(self.items_by_transcript.items()):
            if is_open(key[1]):
                self.wake(turn)
            elif turn.is_idle and turn.gather_until <= self._monotonic():
                self.assign_lane(turn, key[1], None)
                del self.items_by_transcript[key]


def _cursor_of(consumer: Consumer, event: Event) -> Cursor | None:
    return consumer.get_cursor(event.transcript) if isinstance(event, SessionEnded) else None
