"""Events to handlers: who is offered what, when, and what becomes of the answer.

One thread, the engine's, decides everything here; workers (`runner.py`) only run handlers, commit what they did, and
hand back their answer. A handler is never busy twice with one project: that keeps the order within a session, and one
synthesis at a time within a project. A handler that fails parks its own work and nobody else's. Rules that can be
stated without a clock or a thread are in `offers.py`, `parking.py` and `claims.py`; which turns there are and when
they are looked at is in `agenda.py`, how far they are in `progress.py`, and the words are in `turns.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import assert_never

from tacitd.agenda import Agenda
from tacitd.claims import Claims
from tacitd.consumer import Consumer, Stream
from tacitd.errors import TacitdError
from tacitd.events import Event, Prompt, SessionEnded, SessionStarted, TranscriptGrew
from tacitd.handler import Done, Later, Outcome, Rejected, Tools, Wait
from tacitd.letters import Letters
from tacitd.model.port import Why
from tacitd.offers import Batch, batch
from tacitd.parking import GiveUp, Halve, Parked, Pauses, park, replanned
from tacitd.progress import Progress
from tacitd.rescue import Rescue
from tacitd.runner import GRACE, Runner, moves, position
from tacitd.telling import Telling
from tacitd.transcripts.tail import Tail
from tacitd.turns import For, Offer, Owed, Parts, Turn, fault, lane_of, lane_of_event, unwritten

A_DAY = 86400.0
PAUSED = "paused"
"""How the reason begins of what a person paused."""


@dataclass(slots=True)
class Dispatcher:
    """Offers work to handlers and settles their answers. Engine thread only."""

    consumers: Mapping[str, Consumer]
    tools: Mapping[str, Tools]
    parts: Parts
    pauses: Pauses
    rescue: Rescue
    dead: Letters
    claims: Claims = field(default_factory=Claims)
    stopping: bool = False
    agenda: Agenda = field(init=False)
    runner: Runner = field(init=False)
    telling: Telling = field(init=False)
    progress: Progress = field(init=False)

    def __post_init__(self) -> None:
        self.agenda = Agenda(self.consumers, self.parts.monotonic)
        self.runner = Runner(self.tools, self.parts.post, self._settle)
        self.telling = Telling(self.consumers, self.parts.project_of, self.post)
        self.runner.tell, self.runner.monotonic = self.telling.tell, self.parts.monotonic
        self.runner.places = {name: max(1, one.slice.lanes) for name, one in self.consumers.items()}
        self.progress = Progress(self.agenda, self.runner, self.parts, self._hurry)
        self.agenda.made = self.progress.welcome

    # what is to be done

    def grew(self, path: Path) -> None:
        """A transcript has records that some handler may not have handled."""
        for turn in self.agenda.of(path):
            self.agenda.wake(turn)

    def expect(self, path: Path) -> None:
        """A transcript has bytes that were not read yet: `hurry` must find something to make due."""
        self.agenda.of(path)

    def again(self, path: Path, *, due: bool = False) -> None:
        """A position was set back, by `scan` (then it is due) or because the file is another one."""
        self.claims.leave(path)
        for turn in self.agenda.of(path):
            turn.anew()
            turn.due = turn.due or due
        self.agenda.unblock()

    def vanished(self, path: Path) -> None:
        """A transcript is gone. Words of it that wait are only in memory now, so they are rescued. Raises OSError."""
        self.agenda.unblock()
        for name in self.consumers:
            if (turn := self.agenda.turns.get((name, path))) is not None:
                self.agenda.wake(turn)  # the end of its session waits for this, and nobody reads it any more
                words = self.progress.waiting(turn)
                self.rescue.keep(name, words, "its transcript was removed before it was handled")

    def post(self, event: Event, only: str | None = None) -> None:
        """An event without records, to every handler or to one of them."""
        for name, consumer in self.consumers.items():
            if only in (None, name):
                turn = self.agenda.event(consumer, event)
                if isinstance(event, SessionEnded) and turn.stream is not None:
                    self._hurry(self.agenda.turn(consumer, turn.stream.path))
                self.agenda.wake(turn)

    def hurry(self) -> None:
        """Gathered work is due now, and what was parked without a known time is tried once more (`sync`)."""
        for turn in self.agenda.all():
            self._hurry(turn)

    def _hurry(self, turn: Turn) -> None:
        turn.due, turn.stubborn = True, False
        if turn.event is not None:
            turn.wait = 0.0
        if turn.parked is not None and turn.parked.not_before is None:
            turn.parked = replace(turn.parked, due=self.parts.monotonic())
        self.agenda.wake(turn)

    def forget(self, ids: Sequence[str]) -> None:
        """A person dropped these prompts: they count as handled, and what was parked with them is looked at again."""
        for name, consumer in self.consumers.items():
            consumer.forget(ids)
            self.claims.release(name, ids)
        for turn in self.agenda.turns.values():
            if turn.parked is not None and turn.parked.not_before is None:
                turn.parked = replace(turn.parked, due=self.parts.monotonic())
                self.agenda.wake(turn)

    def resume(self) -> None:
        """Something is no longer paused: look at everything again."""
        for turn in self.agenda.all():
            if turn.parked is not None and turn.parked.reason.startswith((PAUSED, Why.MANY_SESSIONS)):
                turn.parked = None
            self.agenda.wake(turn)

    def jumped(self, by: float) -> None:
        """The wall clock jumped by so many seconds: what waits for a time of day is planned anew."""
        for turn, parked in self.agenda.parked():
            turn.parked = replanned(parked, self.parts.now(), self.parts.monotonic(), by)
            self.agenda.later(turn, turn.parked.due)

    # offering

    def tick(self) -> None:
        """Offer all that may be offered now. One that cannot be offered stops no other."""
        self.agenda.pass_(self._offered, self.runner.taken)

    def _offered(self, turn: Turn) -> For | None:
        """What comes first; None: nothing more to do for now."""
        if self.stopping or turn.busy or not self.progress.may(turn):
            return None
        try:
            if turn.owed is not None:
                return self._pay(turn.owed)
            return self._offer_stream(turn) if turn.event is None else self._offer_event(turn, turn.event)
        except Exception as error:  # noqa: BLE001  a turn that cannot even be offered waits, and is shown
            self._park(turn, replace(fault(error), blame="world"))
            return None

    def _pay(self, owed: Owed) -> For | None:
        """What was done and could not be written is written, before anything else is done."""
        way = self.runner.before(owed.offer.lane, owed.offer.turn.consumer)
        if way is None:
            self.runner.start(owed.offer, owed)
        return way

    def _offer_stream(self, turn: Turn) -> For | None:
        stream = turn.stream
        assert stream is not None
        if self.parts.coming(stream.path):
            return None
        if turn.lane is not None or self.parts.away(stream.path):
            way = self.runner.before(turn.lane or (turn.consumer.name,), turn.consumer)
            if way is not None:
                return way  # else a thousand would be looked into for each one that is handled
        tail = self.parts.tail(stream.path)
        if tail is None or tail.safe_end <= stream.offset:
            # Due stays while a message waits in the queue: the turn goes on as soon as its fate is known.
            turn.due = turn.due and tail is not None and tail.read_end > stream.offset
            turn.parked, turn.behind, turn.lane = None, None, None
            self.progress.moved(turn)
            return None
        if not self._worth(turn, tail):
            return None
        return self._offer_batch(turn, stream, tail)

    def _worth(self, turn: Turn, tail: Tail) -> bool:
        """While a batch is gathered, only a further prompt is a reason to offer it again before its time."""
        if turn.due or turn.parked is not None or turn.wait <= self.parts.monotonic():
            return True
        return bool(tail.prompts(max(0, turn.offered)))

    def _offer_batch(self, turn: Turn, stream: Stream, tail: Tail) -> For | None:
        consumer = turn.consumer
        stream.session, stream.cwd = tail.session or stream.session, tail.cwd or stream.cwd
        self.progress.house(turn)
        made = self._batch(turn, stream, tail)
        if not made.records and made.end <= stream.offset:
            return self._stay_behind(turn)
        turn.behind = None
        turn.lane = lane = (consumer.name, lane_of(made.project, stream.path))
        if (way := self.runner.before(lane, consumer)) is not None:
            return way
        turn.lane = None
        turn.stubborn, turn.offered = False, made.end
        if not made.records:
            self._pass_by(turn, stream, tail, made.end)
            return None
        self.claims.take(consumer.name, [p.id for p in made.prompts], stream.path)
        where = made.prompts[0].cwd if made.prompts else made.records[0].cwd
        if (later := self.parts.refused(turn, where or tail.cwd)) is not None:
            self._park(turn, later)
            return None
        grew = TranscriptGrew(
            stream.path, stream.session, made.project, made.records, stream.offset, made.end, turn.due
        )
        self.parts.know(made.project)  # it may be one that the session only passed through
        unpaid = self.parts.unpaid(turn, where or stream.cwd)
        self.runner.start(Offer(turn, grew, made, lane, stream.epoch, unpaid=unpaid))
        return None

    def _batch(self, turn: Turn, stream: Stream, tail: Tail) -> Batch:
        consumer = turn.consumer
        stream.copies = tail.copies
        limit = turn.limit if stream.offset < turn.limit_end else None
        records = self.progress.fresh(consumer, stream, tail)
        wanted = self.progress.wanted(consumer, stream, tail)

        def taken(prompt: Prompt) -> bool:
            owner = self.claims.owner(consumer.name, prompt.id)
            if owner in (None, stream.path) or not self.progress.hands_over(consumer, owner):
                return False
            turn.behind = owner
            return True

        return batch(records, tail.safe_end, wanted, self.parts.project_of, stream.cwd, limit, taken)

    def _stay_behind(self, turn: Turn) -> For | None:
        """Trigger: the next words are another transcript's to hand over. Why: once is enough, and it may still fail.
        Outcome: this one waits for that one, and is parked with it where that one is paused."""
        owner = self.progress.ahead(turn)
        turn.lane = None
        if owner is None or owner.parked is None:
            return self.progress.behind(turn)
        self._park(turn, Later(owner.parked.reason, owner.parked.hint, owner.parked.not_before))
        return None

    def _pass_by(self, turn: Turn, stream: Stream, tail: Tail, end: int) -> None:
        """Nothing in it is for this handler. An ended session may have waited for just this."""
        turn.consumer.skip(stream, position(stream.path, end))
        turn.parked = None
        self.progress.moved(turn)
        self.agenda.wake(turn)

    def _offer_event(self, turn: Turn, event: Event) -> For | None:
        if turn.wait > self.parts.monotonic():
            return None
        if isinstance(event, SessionEnded):
            if self.progress.unread(turn):
                return None  # woken again when something becomes of its transcript
            if turn.stream is None or not turn.stream.unended:
                self.agenda.over(turn, event)  # the handler had no part in it
                return None
            if turn.stream.cwd:  # it may be gone since the session ended
                event = turn.event = replace(event, project=self.parts.project_of(turn.stream.cwd))
        turn.lane = lane = (turn.consumer.name, lane_of_event(event))
        if (way := self.runner.before(lane, turn.consumer)) is not None:
            return way
        if not isinstance(event, SessionStarted) and (way := self.progress.streams_first(lane)) is not None:
            return way
        if (later := self.parts.refused(turn, "")) is not None:
            self._park(turn, later)
            return None
        mark = turn.stream.acted if turn.stream else -1
        self.runner.start(Offer(turn, event, None, lane, mark=mark, unpaid=self.parts.unpaid(turn, "")))
        return None

    # settling

    def _settle(self, offer: Offer, outcome: Outcome | Owed) -> None:
        turn = offer.turn
        self.runner.ended(offer)
        turn.owed = None
        try:
            self._apply(offer, outcome)
        except (OSError, TacitdError) as error:
            self._park(turn, unwritten(error))
        except Exception as error:  # noqa: BLE001  an answer that is none: nobody else waits for it
            self._park(turn, fault(error))
        if turn.missed:
            self.agenda.wake(turn)
        self.progress.moved(turn)
        self.agenda.free(offer.lane, (turn.consumer.name,))

    def _apply(self, offer: Offer, outcome: Outcome | Owed) -> None:
        turn = offer.turn
        match outcome:
            case Done():
                self._done(offer, outcome)
            case Wait() if turn.due and isinstance(offer.event, TranscriptGrew) and not offer.event.due:
                turn.parked, turn.wait = None, 0.0  # hurried meanwhile: it was not told, so it is asked again
                self.agenda.wake(turn)
            case Wait(seconds):
                turn.parked = None
                turn.wait = self.parts.monotonic() + max(0.05, seconds)
                turn.stubborn, turn.due = turn.due, False
                self.agenda.later(turn, turn.wait)
            case Owed():
                turn.owed = outcome
                self._park(turn, outcome.later)
            case Later():
                self._park(turn, outcome, offer)
            case Rejected():
                self._reject(offer, outcome)
            case _:
                assert_never(outcome)

    def _done(self, offer: Offer, done: Done) -> None:
        turn, name = offer.turn, offer.turn.consumer.name
        turn.parked, turn.wait = None, 0.0
        if offer.batch is None or turn.stream is None:
            self.agenda.over(turn, offer.event)
            return
        ids = [p.id for p in offer.batch.prompts_before(offer.batch.reached(done.upto))]
        self.claims.release(name, ids)
        self.agenda.wake(turn)
        self.rescue.handled(name, ids)

    def _park(self, turn: Turn, later: Later, offer: Offer | None = None) -> None:
        if self.stopping or (turn.owed is None and not self.agenda.current(turn)):
            return  # an event that was posted anew meanwhile: that one is tried, and not both
        made = offer.batch if offer is not None else None
        if made is not None and offer is not None and self._outdated(offer):
            self.agenda.wake(turn)
            return
        halved = turn.limit is not None and turn.stream is not None and turn.stream.offset < turn.limit_end
        now, records = self.parts.now(), len(made.records) if made is not None else 0
        match park(turn.parked, later, records, now, self.parts.monotonic(), self.pauses, halved=halved):
            case Parked() as parked:
                turn.parked = parked
                self.agenda.later(turn, parked.due)
                self.progress.moved(turn)
                undone = turn.owed is None and not later.reason.startswith(PAUSED)
                if turn.stream is not None and turn.event is None and undone:
                    self.claims.leave(turn.stream.path, turn.consumer.name)
            case Halve(limit):
                turn.parked, turn.limit = None, limit
                turn.limit_end = max(turn.limit_end if halved else 0, made.end if made else 0)
                self.agenda.wake(turn)
            case GiveUp(reason):
                assert made is not None and turn.stream is not None
                self._bury(turn, turn.stream, made, made.end, reason)
            case verdict:
                assert_never(verdict)

    def _outdated(self, offer: Offer) -> bool:
        """Whether the transcript is another one by now: then nothing is concluded from a failure."""
        return offer.turn.stream is not None and offer.epoch != offer.turn.stream.epoch

    def _reject(self, offer: Offer, said: Rejected) -> None:
        turn = offer.turn
        if offer.batch is None or turn.stream is None:
            self.dead.write(turn.consumer.name, said.reason, {"session": offer.name})
            self._apply(offer, self.runner.write(offer, Done(data=said.data), None))
        elif self._outdated(offer):
            self.agenda.wake(turn)
        else:
            self._bury(turn, turn.stream, offer.batch, moves(offer, said.upto), said.reason)

    def _bury(self, turn: Turn, stream: Stream, made: Batch, end: int, reason: str) -> None:
        """A dead letter: its words are kept, its place in the transcript is named, and the position moves past it."""
        name, prompts = turn.consumer.name, made.prompts_before(end)
        where = {
            "transcript": str(stream.path),
            "start": stream.offset,
            "end": end,
            "session": stream.session,
        }
        self.dead.write(name, reason, where | {"prompts": [p.id for p in prompts]})
        self.rescue.keep(name, prompts, reason)
        turn.consumer.commit(stream, position(stream.path, end), prompts, {})
        self.claims.release(name, [p.id for p in prompts])
        turn.parked = None
        self.agenda.wake(turn)

    # looking after

    def settle_rescued(self) -> None:
        """What was handled leaves the rescue log, if it did not yet; what was rejected stays. Raises OSError."""
        known = {name: consumer.handled for name, consumer in self.consumers.items()}
        self.rescue.settle(known, self.dead.read())

    def rescue_old(self) -> None:
        """Copy the words of what has been parked for more than a day (called every hour). Raises OSError."""
        self.settle_rescued()
        for turn, parked in self.agenda.parked():
            words = self.progress.waiting(turn)
            old = [p for p in words if min(parked.since, p.time or parked.since) < self.parts.now() - A_DAY]
            self.rescue.keep(turn.consumer.name, old, parked.reason)

    def housekeeping(self, is_open: Callable[[Path], bool]) -> None:
        """Forget what is not needed any more; look at everything once."""
        self.agenda.tidy(is_open)

    def stop(self, grace: float = GRACE) -> None:
        """Offer nothing more, and wait a moment for what is being done."""
        self.stopping = True
        self.runner.stop(grace)
