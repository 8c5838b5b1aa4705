"""Which turns there are, and which of them are to be looked at now. Says nothing about whether one may be offered."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from pathlib import Path

from tacitd.consumer import Consumer, Stream
from tacitd.events import Event, SessionEnded
from tacitd.parking import Parked
from tacitd.turns import Turn, key_of

ROUNDS = 100
"""How often in one pass turns may wake others; more would be a loop."""


class Agenda:
    """Turns by transcript and by event, those that are ready, those that are blocked, and the timers. Engine thread."""

    def __init__(self, consumers: Mapping[str, Consumer], monotonic: Callable[[], float]) -> None:
        self.turns: dict[tuple[str, Path], Turn] = {}
        self.events: dict[tuple[str, ...], Turn] = {}
        self._consumers = consumers
        self._monotonic = monotonic
        self._ready: list[Turn] = []
        self._blocked: list[Turn] = []
        self._timers: list[tuple[float, int, Turn]] = []
        self._serial = 0

    def turn(self, consumer: Consumer, path: Path) -> Turn:
        """The turn of a handler at a transcript."""
        key = (consumer.name, path)
        if key not in self.turns:
            self.turns[key] = Turn(consumer, consumer.stream(path))
        return self.turns[key]

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
            del self.events[turn.consumer.name, *key_of(event)]

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

    def wake_events(self, consumer: Consumer) -> None:
        """What became of a transcript may be what an event of this handler waited for."""
        for turn in self.events.values():
            if turn.consumer is consumer:
                self.wake(turn)

    def unblock(self) -> None:
        """Look again at what something else came before."""
        blocked, self._blocked = self._blocked, []
        for turn in blocked:
            self.wake(turn)

    def later(self, turn: Turn, at: float) -> None:
        """Look at it at this time: monotonic seconds."""
        self._serial += 1
        heapq.heappush(self._timers, (at, self._serial, turn))

    def next_in(self) -> float:
        """Seconds until something is to be looked at; infinite when nothing waits for a time."""
        if self._ready:
            return 0.0
        return max(0.0, self._timers[0][0] - self._monotonic()) if self._timers else float("inf")

    @property
    def ready(self) -> bool:
        """Whether something is to be looked at now."""
        return bool(self._ready)

    def pass_(self, offered: Callable[[Turn], bool]) -> None:
        """Look at all that is ready, and at what becomes ready by that. `offered` says whether that is all for now;
        otherwise something else comes before it, and it is blocked."""
        now = self._monotonic()
        while self._timers and self._timers[0][0] <= now:
            self.wake(heapq.heappop(self._timers)[2])
        for _ in range(ROUNDS):
            ready, self._ready = self._ready, []
            for turn in ready:
                turn.ready = False
            for turn in sorted(ready, key=lambda turn: turn.rank):
                if self.current(turn) and not offered(turn):
                    self._blocked.append(turn)
            if not self._ready:
                return

    def tidy(self, is_open: Callable[[Path], bool]) -> None:
        """Forget turns whose transcript was put away: growth makes them anew. Whatever was overlooked is looked at."""
        self.unblock()
        for key, turn in list(self.turns.items()):
            if is_open(key[1]):
                self.wake(turn)
            elif turn.idle and turn.wait <= self._monotonic():
                del self.turns[key]


def _stream_of(consumer: Consumer, event: Event) -> Stream | None:
    return consumer.stream(event.transcript) if isinstance(event, SessionEnded) else None
