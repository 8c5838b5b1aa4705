"""How far handlers are: what a turn has still to do, and whether anything could go on now. Moves nothing, but that asking
hurries what `sync` waits for."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from tacitd.agenda import Agenda
from tacitd.consumer import Consumer, Stream
from tacitd.events import Prompt, Record, SessionEnded
from tacitd.offers import written
from tacitd.runner import Runner
from tacitd.transcripts.tail import Tail
from tacitd.turns import For, Parts, Turn, behind, due_in, lane_of


@dataclass(frozen=True, slots=True)
class Progress:
    """Looks at turns. Engine thread only."""

    agenda: Agenda
    runner: Runner
    parts: Parts
    hurry: Callable[[Turn], None]
    """Make a turn due."""
    touched: set[Path] = field(default_factory=set)
    """Transcripts of which something became since `sync` last looked."""

    def may(self, turn: Turn) -> bool:
        """Whether it is not parked, or its time has come."""
        return turn.parked is None or turn.parked.due <= self.parts.monotonic()

    def unread(self, turn: Turn) -> bool:
        """Whether its transcript holds something final that this handler has not handled."""
        stream = turn.stream
        if stream is None:
            return False
        reader = self.agenda.turns.get((turn.consumer.name, stream.path))
        if reader is not None and (reader.busy or reader.parked is not None or reader.owed is not None):
            return True
        return self._behind(turn)

    def ahead(self, turn: Turn) -> Turn | None:
        """The turn that has its words, where another transcript's has."""
        return self.agenda.turns.get((turn.consumer.name, turn.behind)) if turn.behind is not None else None

    def behind(self, turn: Turn) -> For:
        """What it waits for, then."""
        return behind(turn.consumer, turn.behind or Path())

    def hands_over(self, consumer: Consumer, owner: Path | None) -> bool:
        """Whether a transcript that claimed words still has them to hand over."""
        turn = self.agenda.turns.get((consumer.name, owner)) if owner is not None else None
        if turn is None:
            return False
        return turn.busy or turn.parked is not None or turn.owed is not None or self._behind(turn)

    def streams_first(self, lane: For) -> For | None:
        """Facts first, then what is made of them: a synthesis waits for extractions of its project that are due."""
        beside = self.agenda.lanes.get(lane, {}).values()
        due = any(turn.due and turn.parked is None and self.unread(turn) for turn in beside)
        return due_in(lane) if due else None

    def house(self, turn: Turn) -> None:
        """Note in which lane a transcript is handled, as far as its newest record says."""
        stream = turn.stream
        if stream is not None:
            lane = turn.consumer.name, lane_of(self.parts.project_of(stream.cwd), stream.path)
            if turn.home not in (None, lane):
                self.agenda.moved(turn, due_in(turn.home))  # nobody waits there for this one any more
            self.agenda.place(turn, stream.path, lane)

    def welcome(self, turn: Turn) -> None:
        """The same for a new turn. A place that cannot be looked at is in no lane: it is parked when it is offered."""
        with suppress(Exception):
            self.house(turn)

    def moved(self, turn: Turn) -> None:
        """Something became of this turn: whoever waited for just that is looked at."""
        ways: list[For] = []
        if turn.event is None and turn.stream is not None:
            self.touched.add(turn.stream.path)
            ways.append(behind(turn.consumer, turn.stream.path))
        if turn.home is not None:
            ways.append(due_in(turn.home))
        self.agenda.moved(turn, *ways)

    def waiting(self, turn: Turn) -> list[Prompt]:
        """The words of a transcript that this handler has not handled, as far as they can be read."""
        stream = turn.stream
        tail = self.parts.tail(stream.path) if stream is not None and turn.event is None else None
        if stream is None or tail is None:
            return []
        wanted = self.wanted(turn.consumer, stream, tail)
        return [p for r in self.fresh(turn.consumer, stream, tail) for p in r.prompts if wanted(p)]

    def fresh(self, consumer: Consumer, stream: Stream, tail: Tail) -> list[Record]:
        """The records of a transcript that the handler has not handled, and that are not too old to be paid for."""
        records = tail.records(stream.offset)
        at = zip(records, written(records), strict=True)
        dated = ((r, r if time == r.time else replace(r, time=time)) for r, time in at)
        return [record for record, judged in dated if not consumer.too_old(judged, stream)]

    def wanted(self, consumer: Consumer, stream: Stream, tail: Tail) -> Callable[[Prompt], bool]:
        """What says whether a prompt of this transcript is new to the handler, and may be paid for."""

        def wanted(prompt: Prompt) -> bool:
            where = lane_of(self.parts.project_of(prompt.cwd or tail.cwd or stream.cwd), stream.path)
            return consumer.wants(prompt, stream) and not consumer.past(prompt, stream, where)

        return wanted

    @property
    def working(self) -> bool:
        """Whether a handler is busy, or something could be offered right now."""
        return bool(self.runner.lanes or self.agenda.ready)

    def quiet(self) -> bool:
        """Nothing is busy, and no event that is due could go on: what is left is parked or being gathered."""
        if self.working:
            return False
        now = self.parts.monotonic()
        waits = (turn for turn in self.agenda.events.values() if self.may(turn) and turn.wait <= now)
        # An ended session whose transcript is parked is parked with it.
        return all(isinstance(turn.event, SessionEnded) and self.unread(turn) for turn in waits)

    def settled(self, path: Path, size: int) -> bool:
        """Whether the first `size` bytes of a transcript are handled, or parked, for every handler."""
        # Each is asked, because asking hurries what waits.
        return all([self._settled(turn, size) for turn in self.agenda.of(path)])  # noqa: C419

    def _settled(self, turn: Turn, size: int) -> bool:
        if turn.busy or (turn.parked is not None and self.may(turn)):
            return False
        if turn.parked is not None or turn.stubborn:
            return True
        if (turn.stream is not None and turn.stream.offset >= size) or not self._behind(turn):
            return True
        if not turn.due:
            self.hurry(turn)
        elif not turn.number:  # it waits for nothing: what was final when it was looked at is more by now
            self.agenda.wake(turn)
        owner = self.ahead(turn)
        return owner is not None and not owner.busy and (owner.stubborn or owner.parked is not None)

    def _behind(self, turn: Turn) -> bool:
        end = self.parts.end(turn.stream.path) if turn.stream is not None else None
        return end is not None and turn.stream is not None and turn.stream.offset < end
