"""How far handlers are: what a turn has still to do, and whether anything could go on now. Moves nothing, but that asking
hurries what `sync` waits for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tacitd.agenda import Agenda
from tacitd.consumer import Consumer
from tacitd.events import Prompt, SessionEnded
from tacitd.runner import Runner
from tacitd.turns import Parts, Turn


@dataclass(frozen=True, slots=True)
class Progress:
    """Looks at turns. Engine thread only."""

    agenda: Agenda
    runner: Runner
    parts: Parts
    hurry: Callable[[Turn], None]
    """Make a turn due."""

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

    def hands_over(self, consumer: Consumer, owner: Path | None) -> bool:
        """Whether a transcript that claimed words still has them to hand over."""
        turn = self.agenda.turns.get((consumer.name, owner)) if owner is not None else None
        if turn is None:
            return False
        return turn.busy or turn.parked is not None or turn.owed is not None or self._behind(turn)

    def waiting(self, turn: Turn) -> list[Prompt]:
        """The words of a transcript that this handler has not handled, as far as they can be read."""
        stream = turn.stream
        tail = self.parts.tail(stream.path) if stream is not None and turn.event is None else None
        if stream is None or tail is None:
            return []
        return [prompt for prompt in tail.prompts(stream.offset) if turn.consumer.wants(prompt, stream)]

    def quiet(self) -> bool:
        """Nothing is busy, and no event that is due could go on: what is left is parked or being gathered."""
        if self.runner.lanes or self.agenda.ready:
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
        owner = self.ahead(turn)
        return owner is not None and not owner.busy and (owner.stubborn or owner.parked is not None)

    def _behind(self, turn: Turn) -> bool:
        tail = self.parts.tail(turn.stream.path) if turn.stream is not None else None
        return tail is not None and turn.stream is not None and turn.stream.offset < tail.safe_end
