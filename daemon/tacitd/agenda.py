"""Which turns there are, and which of them are to be looked at now. Says nothing about whether one may be offered.

A turn that cannot be offered waits for something that has a name: its lane, a place of its handler, another turn. When
that is free, one of those who wait for it is looked at, and the next one only if that one did not take it. Looking at
all of them each time would cost the square of a backlog.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from pathlib import Path

from tacitd.consumer import Consumer, Stream
from tacitd.events import Event, SessionEnded
from tacitd.parking import Parked
from tacitd.turns import For, Turn, key_of

ROUNDS = 100
"""How often in one pass turns may wake others; more would be a loop."""


class Agenda:
    """Turns by transcript and by event, those that are ready, those that are blocked, and the timers. Engine thread."""

    def __init__(self, consumers: Mapping[str, Consumer], monotonic: Callable[[], float]) -> None:
        self.turns: dict[tuple[str, Path], Turn] = {}
        self.events: dict[tuple[str, ...], Turn] = {}
        self._consumers = consumers
        self._monotonic = monotonic
        self._ends: dict[tuple[str, Path], dict[tuple[str, ...], Turn]] = {}
        """The ends of sessions in a transcript, by handler: they wait until it is handled."""
        self.lanes: dict[For, dict[Path, Turn]] = {}
        """The transcripts that are handled in a lane, by path."""
        self.made: Callable[[Turn], None] = lambda _turn: None
        """Told of each new turn at a transcript."""
        self._ready: list[Turn] = []
        self._blocked: dict[For, list[tuple[int, int, Turn]]] = {}
        """By what they wait for: a heap of (rank, number, turn). One that no longer waits for it has another number."""
        self._freed: dict[For, None] = {}
        self._timers: list[tuple[float, int, Turn]] = []
        self._serial = 0

    def turn(self, consumer: Consumer, path: Path) -> Turn:
        """The turn of a handler at a transcript."""
        key = (consumer.name, path)
        turn = self.turns.get(key)
        if turn is None:
            turn = self.turns[key] = Turn(consumer, consumer.stream(path))
            self.made(turn)
        return turn

    def place(self, turn: Turn, path: Path, lane: For | None) -> None:
        """Its transcript is handled in this lane from now on; None: in none."""
        if turn.home == lane:
            return
        if turn.home is not None:
            beside = self.lanes[turn.home]
            del beside[path]
            if not beside:
                del self.lanes[turn.home]
        if lane is not None:
            self.lanes.setdefault(lane, {})[path] = turn
        turn.home = lane

    def of(self, path: Path) -> list[Turn]:
        """The turns of all handlers at a transcript."""
        return [self.turn(consumer, path) for consumer in self._consumers.values()]

    def event(self, consumer: Consumer, event: Event) -> Turn:
        """The turn for an event. A second one of the same kind takes the place of one that is not being handled."""
        key = (consumer.name, *key_of(event))
        turn = self.events.get(key)
        if turn is None or turn.busy:
            turn = self.events[key] = Turn(consumer, _stream_of(consumer, event))
        turn.event = event
        if turn.stream is not None:
            self._ends.setdefault((consumer.name, turn.stream.path), {})[key] = turn
        return turn

    def all(self) -> list[Turn]:
        """Every turn."""
        return [*self.turns.values(), *self.events.values()]

    def current(self, turn: Turn) -> bool:
        """Whether this turn still stands for what it is about: it was neither put away nor replaced."""
        if turn.event is not None:
            return self.events.get((turn.consumer.name, *key_of(turn.event))) is turn
        return turn.stream is not None and self.turns.get((turn.consumer.name, turn.stream.path)) is turn

    def over(self, turn: Turn, event: Event) -> None:
        """An event was handled. It may have come again, while what was done of it could not be written."""
        turn.parked = None
        if turn.event is not event:
            self.wake(turn)
        elif self.current(turn):
            key = (turn.consumer.name, *key_of(event))
            del self.events[key]
            if turn.stream is not None:
                ends = self._ends[turn.consumer.name, turn.stream.path]
                del ends[key]
                if not ends:
                    del self._ends[turn.consumer.name, turn.stream.path]

    def parked(self) -> list[tuple[Turn, Parked]]:
        """What is parked, oldest first."""
        found = [(turn, turn.parked) for turn in self.all() if turn.parked is not None]
        return sorted(found, key=lambda item: item[1].since)

    # when

    def wake(self, turn: Turn) -> None:
        """Look at this turn in the next pass; at one that is busy, when it no longer is."""
        if turn.busy:
            turn.missed = True
        elif not turn.ready:
            turn.ready = True
            self._ready.append(turn)

    def moved(self, turn: Turn, *ways: For) -> None:
        """Something became of a transcript: look at the ends of its sessions, and at all that waits for it (`ways`)."""
        if turn.stream is not None:
            for end in self._ends.get((turn.consumer.name, turn.stream.path), {}).values():
                self.wake(end)
        for way in ways:
            self._call(self._blocked.pop(way, []))

    def free(self, *ways: For) -> None:
        """One of those who wait for this may have it now."""
        self._freed |= {way: None for way in ways if way in self._blocked}

    def unblock(self) -> None:
        """Look again at all that something else came before."""
        blocked, self._blocked = self._blocked, {}
        self._call([each for waiting in blocked.values() for each in waiting])

    def _call(self, waiting: list[tuple[int, int, Turn]]) -> None:
        """Wake those who waited in a heap that is no more, in their order."""
        for _, number, turn in sorted(waiting):
            if turn.number == number:
                turn.number = 0
                self.wake(turn)

    def later(self, turn: Turn, at: float) -> None:
        """Look at it at this time: monotonic seconds."""
        self._serial += 1
        heapq.heappush(self._timers, (at, self._serial, turn))

    def next_in(self) -> float:
        """Seconds until something is to be looked at; infinite when nothing waits for a time."""
        if self.ready:
            return 0.0
        return max(0.0, self._timers[0][0] - self._monotonic()) if self._timers else float("inf")

    @property
    def ready(self) -> bool:
        """Whether something is to be looked at now."""
        return bool(self._ready or self._freed)

    def pass_(self, offered: Callable[[Turn], For | None], taken: Callable[[For], bool]) -> None:
        """Look at all that is ready, and at what becomes ready by that. `offered` returns what a turn has to wait for, or
        None where that is all for now; `taken` says whether somebody has this."""
        now = self._monotonic()
        while self._timers and self._timers[0][0] <= now:
            self.wake(heapq.heappop(self._timers)[2])
        for _ in range(ROUNDS):
            self._let_in(taken)
            ready, self._ready = self._ready, []
            for turn in ready:
                turn.ready = False
            # Who waits comes before who had it last, the longest first.
            for turn in sorted(ready, key=lambda turn: (turn.rank, turn.number or self._serial + 1)):
                self._look(turn, offered)
            if not self.ready:
                return

    def _look(self, turn: Turn, offered: Callable[[Turn], For | None]) -> None:
        """What a turn waited for and does not take is the next one's. One that could have its lane and waits for a place
        of its handler keeps the others of its lane waiting: they would only wait there as well. One that still waits for
        the same keeps its place: else who is woken often, because his transcript grows, would always be the last."""
        before, lane = turn.waits, turn.lane
        turn.waits = offered(turn) if self.current(turn) else None
        if turn.waits != before:
            turn.number = 0
        if turn.waits is not None and not turn.number:
            self._serial += 1
            turn.number = self._serial
            heapq.heappush(self._blocked.setdefault(turn.waits, []), (turn.rank, self._serial, turn))
        kept = (turn.waits, turn.lane) if turn.waits == (turn.consumer.name,) else (turn.waits,)
        self.free(*(way for way in (before, lane) if way is not None and way not in kept))

    def _let_in(self, taken: Callable[[For], bool]) -> None:
        """Wake the first of those who wait for each thing that is free."""
        freed, self._freed = self._freed, {}
        for way in freed:
            waiting = self._blocked.get(way, [])
            while waiting and waiting[0][2].number != waiting[0][1]:
                heapq.heappop(waiting)
            if not waiting:
                self._blocked.pop(way, None)
            elif not taken(way):
                self.wake(waiting[0][2])

    def tidy(self, is_open: Callable[[Path], bool]) -> None:
        """Forget turns whose transcript was put away: growth makes them anew. Whatever was overlooked is looked at."""
        self.unblock()
        for turn in self.events.values():
            self.wake(turn)
        for key, turn in list(self.turns.items()):
            if is_open(key[1]):
                self.wake(turn)
            elif turn.idle and turn.wait <= self._monotonic():
                self.place(turn, key[1], None)
                del self.turns[key]


def _stream_of(consumer: Consumer, event: Event) -> Stream | None:
    return consumer.stream(event.transcript) if isinstance(event, SessionEnded) else None
