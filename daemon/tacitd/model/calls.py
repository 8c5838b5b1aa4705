"""The calls of the model in the store: the caps, checked in the transaction that begins a call, and what became of each.

A row of `call` is committed before the client starts, with the parts that it is about, and is completed when it has ended.
Any process may call: the store is the one budget. Days and months are local. A clock that was set back frees no budget:
every call of today or a later day counts for today. A call that has not ended counts with an assumed cost.

What became of a call, in `outcome`:

    answered   `answer` is stored until its task is committed (`mark_used`): a task that a crash repeats gets it without a call
    failed     the client gave no answer
    stopped    tacitd ended it itself: not a lost call
    lost       its process ended without a word, and it may have been paid for

A part whose call was lost may be paid for once more, never a third time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from tacitd.clock import Clock, local_date
from tacitd.errors import UnwritableError
from tacitd.model.budget import Caps, MinuteFull, Spending
from tacitd.model.call_caps import NewCall, assume_cost, digest_part, find_refusal
from tacitd.model.port import Answer, NoAnswer, Why

if TYPE_CHECKING:
    from tacitd.contract import Part, Tx
    from tacitd.store import Store

LONGEST = 3600.0
"""Seconds after which no call goes on: the id of its process belongs to another one."""
Ended = Literal["answered", "failed", "stopped"]


class _End(Struct, frozen=True):
    number: int
    outcome: Ended
    ended: float
    usd: float | None
    tokens: tuple[int, int]
    model: str
    reason: str
    answer: str | None


class Calls:
    """The calls of this process, and the budget of all. Thread-safe."""

    def __init__(self, store: Store, caps: Caps, clock: Clock) -> None:
        self._store = store
        self._caps = caps
        self._clock = clock
        self._running: set[int] = set()
        self._unsaved: dict[int, _End] = {}
        """Ends that could not be stored yet, by number."""

    def set_caps(self, caps: Caps) -> None:
        """Set other caps for the following calls."""
        self._caps = caps

    def begin_call(self, call: NewCall) -> int | MinuteFull | NoAnswer:
        """Check the caps and store the call; return its number. The caller must then make the call, and none without it.

        `MinuteFull`: the minute is the only obstacle. `NoAnswer`: it is refused, or the store cannot be written. Raises
        StoreLostError.
        """
        now = self._clock.now()
        try:
            with self._store.write() as tx:
                saved = self._save_ends(tx)
                refused = find_refusal(tx, call, self._caps, now)
                number = 0 if refused is not None else _insert(tx, call, now)
        except UnwritableError as error:
            return NoAnswer(Why.BUDGET, f"the call cannot be stored: {error.what}", error.hint)
        self._forget_ends(saved)
        if refused is not None:
            return refused
        self._running.add(number)
        return number

    def end_call(
        self,
        number: int,
        outcome: Ended,
        *,
        usd: float | None = None,
        tokens_in: int = 0,
        tokens_out: int = 0,
        model: str = "",
        reason: str = "",
        answer: str | None = None,
    ) -> None:
        """Store what became of a call, with its answer. `usd` None: unknown, the assumed cost stays.

        If the store cannot be written, the end is kept, and stored by the next `begin_call` or `save_ends`.
        """
        tokens = tokens_in, tokens_out
        self._unsaved[number] = _End(number, outcome, self._clock.now(), usd, tokens, model, reason, answer)
        try:
            self.save_ends()
        except UnwritableError:
            return

    def save_ends(self) -> None:
        """Store the ends that could not be stored before. Raises UnwritableError, StoreLostError."""
        if self._unsaved:
            with self._store.write() as tx:
                saved = self._save_ends(tx)
            self._forget_ends(saved)

    def find_answer(self, plugin: str, purpose: str, parts: Sequence[Part]) -> Answer | None:
        """Return the answer that was paid for about exactly these parts, and whose task was not committed."""
        if not parts:
            return None
        found = self._store.rows(
            "SELECT c.number, c.answer, c.model, c.usd, c.tokens_in, c.tokens_out FROM call_part p JOIN call c ON c.number=p.call"
            " WHERE p.kind=? AND p.row=? AND c.plugin=? AND c.purpose=? AND c.outcome='answered' AND c.used IS NULL"
            " AND c.answer IS NOT NULL ORDER BY c.number DESC",
            parts[0].kind, parts[0].row, plugin, purpose,
        )  # fmt: skip
        wanted = {(part.kind, part.number, part.row, digest_part(part.text)) for part in parts}
        for number, text, model, usd, tokens_in, tokens_out in found:
            about = self._store.rows("SELECT kind, number, row, digest FROM call_part WHERE call=?", number)
            if set(about) == wanted:
                return Answer(text, model, usd, tokens_in, tokens_out, call=str(number))
        return None

    def get_spending(self) -> Spending:
        """What was spent today, this month and in total."""
        now = self._clock.now()
        sql = "SELECT count(*), total(usd) FROM call WHERE day>=?"
        days = local_date(now), local_date(now)[:7], ""
        today, month, total = (self._store.rows(sql, day)[0] for day in days)
        return Spending(today[0], today[1], month[1], total[0], total[1])

    def mark_lost(self) -> int:
        """Mark the calls whose process has ended without their end, of every process, and return how many. Called at a start."""
        now, lost = self._clock.now(), []
        with self._store.write() as tx:
            for number, process, begun in tx.rows(
                "SELECT number, process, begun FROM call WHERE outcome IS NULL"
            ):
                is_ours = process == os.getpid()
                goes_on = number in self._running if is_ours else _is_alive(process)
                if not goes_on or not now - LONGEST < begun < now + LONGEST:
                    lost.append(number)
            tx.executemany("UPDATE call SET outcome='lost' WHERE number=?", [(number,) for number in lost])
        return len(lost)

    def _save_ends(self, tx: Tx) -> list[_End]:
        saved = list(self._unsaved.values())
        for end in saved:
            tx.execute(
                "UPDATE call SET ended=?, outcome=?, assumed=?, usd=coalesce(?, usd), tokens_in=?, tokens_out=?, model=?, reason=?,"
                " answer=? WHERE number=?",
                end.ended, end.outcome, end.usd is None, end.usd, *end.tokens, end.model, end.reason, end.answer, end.number,
            )  # fmt: skip
        return saved

    def _forget_ends(self, saved: Iterable[_End]) -> None:
        for end in saved:
            self._unsaved.pop(end.number, None)
            self._running.discard(end.number)


def mark_used(tx: Tx, numbers: Iterable[int], *, used: bool = True) -> None:
    """In the transaction of a task's end: its calls' answers were used, or were of no use. They are not kept any longer."""
    tx.executemany(
        "UPDATE call SET used=?, answer=NULL WHERE number=?", [(used, number) for number in numbers]
    )


def allow_again(tx: Tx, kind: str, rows: Iterable[str]) -> None:
    """A person wants these parts to be tried again: what was paid for them before does not count any more against it."""
    tx.executemany(
        "DELETE FROM call_part WHERE kind=? AND row=? AND call IN (SELECT number FROM call WHERE outcome IS NOT NULL"
        " AND NOT (outcome='answered' AND used IS NULL))",
        [(kind, row) for row in rows],
    )


def _insert(tx: Tx, call: NewCall, now: float) -> int:
    number = tx.execute(
        "INSERT INTO call(plugin, purpose, tier, priority, project, session, begun, day, process, usd)"
        " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        call.plugin, call.purpose, call.tier, call.priority, call.project, call.session, now, local_date(now), os.getpid(),
        assume_cost(tx, call.tier),
    ).row  # fmt: skip
    tx.executemany(
        "INSERT INTO call_part(call, kind, number, row, digest) VALUES(?, ?, ?, ?, ?)",
        [(number, part.kind, part.number, part.row, digest_part(part.text)) for part in call.parts],
    )
    return number


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:  # it has ended, or the id belongs to another user's process now
        return False
    return True
