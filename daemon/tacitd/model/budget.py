"""The calls of the model in the store: the caps, checked in the transaction that begins a call, and what became of each.

A row of `call` is committed before the client starts, with the parts that it is about. Any process may call: the store is the one
budget. Days and months are local. A call that has not ended counts with an assumed cost.

What became of a call, in `outcome`:

    answered   `answer` is stored until its task is committed (`mark_used`): a task that a crash repeats gets it without a call
    failed     the client gave no answer
    stopped    tacitd ended it itself: not a lost call
    lost       its process ended without a word, and it may have been paid for

A part whose call was lost may be paid for once more, never a third time. The client's session of a call is never read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from msgspec.structs import asdict, astuple

from tacitd.clock import Clock, local_date
from tacitd.errors import StoreLostError, UnwritableError
from tacitd.model.call_caps import OF_PERIOD, MinuteFull, assume_cost, digest_part, find_refusal
from tacitd.model.port import Answer, ModelRequest, NoAnswer, Why
from tacitd.text.wording import format_dollars

if TYPE_CHECKING:
    from tacitd.config.settings import BudgetSettings
    from tacitd.contract import Part, Rows, Tx, Value
    from tacitd.store import Store

LONGEST = 3600.0
"""Seconds after which no call goes on: the id of its process belongs to another one."""
SESSIONS_KEPT = 10_000
"""How many of the newest calls' sessions are looked for in transcripts: more than a month has."""
Ended = Literal["answered", "failed", "stopped"]
_END = (
    "UPDATE call SET ended=?, outcome=?, assumed=?, usd=coalesce(?, usd), tokens_in=?, tokens_out=?, model=?, reason=?, answer=?,"
    " session=? WHERE number=? AND ended IS NULL"
)
"""Once for each call: an end may be stored by two threads, or again after a commit that failed and is durable."""


class Spending(Struct, frozen=True):
    """What was spent, in US dollars: as the client reported it, or assumed if it did not."""

    calls_today: int
    usd_today: float
    usd_month: float
    calls_total: int
    usd_total: float


class RunningCall(Struct, frozen=True):
    """A call that was begun and has not ended."""

    purpose: str
    project: str
    """Root of the project; "" if there is none."""
    since: float
    """Seconds since 1970, UTC."""


class Budget:
    """The calls of this process, and the budget of all. Thread-safe."""

    def __init__(self, store: Store, caps: BudgetSettings, clock: Clock) -> None:
        self._store = store
        self._caps = caps
        self._clock = clock
        self._running = set[int]()
        self._unsaved: dict[int, tuple[Value, ...]] = {}
        """Ends that could not be stored yet, by number: the values of `_END`."""

    def begin_call(self, call: ModelRequest) -> int | MinuteFull | NoAnswer:
        """Check the caps and store the call; return its number. The caller must then make the call, and none without it.

        `MinuteFull`: the minute is the only obstacle. `NoAnswer`: it is refused, or the store cannot be written. Raises
        StoreLostError.
        """
        now = self._clock.now()
        try:
            with self._store.write() as tx:
                saved = self._save_ends(tx)
                refused = find_refusal(tx.rows, call, self._caps, now)
                number = 0 if refused is not None else _insert(tx, call, now)
        except UnwritableError as error:
            return NoAnswer(Why.BUDGET, f"the call cannot be stored: {error.what}", error.hint)
        self._forget_ends(saved)
        if refused is None:
            self._running.add(number)
        return number if refused is None else refused

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
        session: str = "",
    ) -> None:
        """Store what became of a call, with its answer and the client's session. `usd` None: unknown, the assumed cost stays.

        If the store cannot be written, the end is kept, and stored by the next `begin_call` or `save_ends`. Raises nothing.
        """
        end = (outcome, usd is None, usd, tokens_in, tokens_out, model, reason, answer, session, number)
        self._unsaved[number] = (self._clock.now(), *end)
        with suppress(UnwritableError, StoreLostError):
            self.save_ends()

    def save_ends(self) -> None:
        """Store the ends that could not be stored before. Raises UnwritableError, StoreLostError."""
        if self._unsaved:
            with self._store.write() as tx:
                saved = self._save_ends(tx)
            self._forget_ends(saved)

    def find_answer(self, plugin: str, purpose: str, parts: Sequence[Part]) -> Answer | None:
        """Return the answer that was paid for about exactly these parts, and whose task was not committed. Raises UnwritableError,
        StoreLostError."""
        if not parts:
            return None
        self.save_ends()
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

    def allow_again(self, parts: Sequence[Part]) -> None:
        """A person asks for these parts on purpose: see `allow_again`. Raises UnwritableError, StoreLostError."""
        with self._store.write() as tx:
            for part in parts:
                allow_again(tx, part.kind, [part.row])

    def list_sessions(self) -> set[str]:
        """The client's sessions of the newest calls."""
        sql = "SELECT session FROM call WHERE session<>'' ORDER BY number DESC LIMIT ?"
        return {one for (one,) in self._store.rows(sql, SESSIONS_KEPT)}

    def settle(self, numbers: Sequence[int], *, used: bool) -> None:
        """Store outside a task's commit whether answers were of use. Raises UnwritableError, StoreLostError."""
        with self._store.write() as tx:
            mark_used(tx, numbers, used=used)

    def mark_lost(self) -> int:
        """Mark the calls whose process has ended without their end, of every process, and return how many. Called at a start."""
        now, lost = self._clock.now(), list[tuple[int]]()
        with self._store.write() as tx:
            for number, process, begun in tx.rows(
                "SELECT number, process, begun FROM call WHERE outcome IS NULL"
            ):
                goes_on = number in self._running if process == os.getpid() else is_alive(process)
                if not (goes_on and now - LONGEST < begun < now + LONGEST):
                    lost.append((number,))
            tx.executemany("UPDATE call SET outcome='lost' WHERE number=?", lost)
        return len(lost)

    def _save_ends(self, tx: Tx) -> list[int]:
        saved = list(self._unsaved)
        for number in saved:
            if tx.execute(_END, *self._unsaved[number]).changed:
                _note_end(tx, number, self._clock.now())
        return saved

    def _forget_ends(self, saved: Iterable[int]) -> None:
        for number in saved:
            self._unsaved.pop(number, None)
            self._running.discard(number)


def read_spending(rows: Rows, now: float) -> Spending:
    """What was spent today, this month and in total. `now`: seconds since 1970, UTC."""
    sql, date = f"SELECT count(*), total(usd) FROM call WHERE {OF_PERIOD}", local_date(now)
    today, month, total = (rows(sql, day, now)[0] for day in (date, date[:7], ""))
    return Spending(today[0], today[1], month[1], total[0], total[1])


def list_paid(rows: Rows, plugin: str, kind: str, row: str) -> set[str]:
    """Return the parts of this kind of the newest call about `row` whose answer was paid for and not used yet, by their rows.
    `Budget.find_answer` returns that answer to a task about exactly these: what came later is another task's."""
    sql = (
        "SELECT row FROM call_part WHERE kind=?1 AND call=(SELECT c.number FROM call_part p JOIN call c ON c.number=p.call"
        " WHERE p.kind=?1 AND p.row=?2 AND c.plugin=?3 AND c.outcome='answered' AND c.used IS NULL"
        " AND c.answer IS NOT NULL ORDER BY c.number DESC LIMIT 1)"
    )
    return {part for (part,) in rows(sql, kind, row, plugin)}


def list_running(rows: Rows, now: float) -> list[RunningCall]:
    """The calls of every process that have not ended, oldest first."""
    found = rows(
        "SELECT c.process, c.purpose, coalesce(p.root, ''), c.begun FROM call c"
        " LEFT JOIN project p ON p.number=c.project WHERE c.outcome IS NULL ORDER BY c.number"
    )
    return [
        RunningCall(purpose, root, begun)
        for process, purpose, root, begun in found
        if now - LONGEST < begun < now + LONGEST and is_alive(process)
    ]


def is_alive(process: int) -> bool:
    """Whether a process of this user has this id."""
    try:
        os.kill(process, 0)
    except OSError:  # it has ended, or the id belongs to another user's process now
        return False
    return True


def mark_used(tx: Tx, numbers: Iterable[int], *, used: bool = True) -> None:
    """In the transaction of a task's end: its calls' answers were used, or were of no use. They are not kept any longer. What
    only completed a request that was of use is settled with it."""
    for number in numbers:
        tx.execute("UPDATE call SET used=?, answer=NULL WHERE number=?", used, number)
        completed = "SELECT row FROM call_part WHERE call=? AND kind='work'"
        allow_again(tx, "work", [row for (row,) in tx.rows(completed, number)] if used else ())


def allow_again(tx: Tx, kind: str, rows: Iterable[str]) -> None:
    """A person wants these parts to be tried again: what was paid for them before does not count any more against it. A call that
    goes on, and an answer that waits for its task, stay."""
    tx.executemany(
        "DELETE FROM call_part WHERE kind=? AND row=? AND EXISTS(SELECT 1 FROM call WHERE number=call_part.call"
        " AND outcome IS NOT NULL AND (outcome<>'answered' OR used IS NOT NULL OR answer IS NULL))",
        [(kind, row) for row in rows],
    )


def _note_end(tx: Tx, number: int, now: float) -> None:
    """A row of `activity`: what the call was for, the project's name, its cost and model, and why there is no answer."""
    for purpose, root, usd, assumed, model, why in tx.rows(
        "SELECT c.purpose, coalesce(p.root, ''), c.usd, c.assumed, c.model,"
        " CASE c.outcome WHEN 'answered' THEN '' ELSE coalesce(nullif(c.reason, ''), c.outcome) END"
        " FROM call c LEFT JOIN project p ON p.number=c.project WHERE c.number=?",
        number,
    ):
        parts = f"{'~' if assumed else ''}{format_dollars(usd)}", model, f"no answer: {why}" if why else ""
        tx.execute(
            "INSERT INTO activity(at, plugin, did, text, place, about) VALUES(?, '', 'asked', ?, ?, ?)",
            now, purpose, Path(root).name, ", ".join(filter(None, parts)),
        )  # fmt: skip


def _insert(tx: Tx, call: ModelRequest, now: float) -> int:
    root = call.project
    # A command may ask where nothing was read yet.
    if root and not tx.rows("SELECT 1 FROM project WHERE root=?", root):
        common = str(Path(root, ".git")) if Path(root, ".git").exists() else None
        sql = "INSERT OR IGNORE INTO project(root, common, first_seen) VALUES(?, ?, ?)"
        tx.execute(sql, root, common, now)
    number = tx.execute(
        "INSERT INTO call(plugin, purpose, tier, priority, project, begun, day, process, usd)"
        " VALUES(?, ?, ?, ?, (SELECT number FROM project WHERE root=?), ?, ?, ?, ?)",
        call.plugin, call.purpose, call.tier, call.priority, root, now, local_date(now), os.getpid(),
        assume_cost(tx.rows, call.tier),
    ).row  # fmt: skip
    tx.executemany(
        "INSERT INTO call_part(call, kind, number, row, digest) VALUES(?, ?, ?, ?, ?)",
        [(number, part.kind, part.number, part.row, digest_part(part.text)) for part in call.about],
    )
    return number


# --- what the calls cost


GroupBy = Literal["day", "project", "purpose", "model"]
NAMELESS = "(none)"
_NAMES: dict[GroupBy, str] = {
    "day": "day",
    "project": f"coalesce(p.root, '{NAMELESS}')",
    "purpose": f"coalesce(nullif(c.purpose, ''), '{NAMELESS}')",
    "model": "coalesce(nullif(c.model, ''), '(' || c.tier || ' tier)')",
}
"""By group, its name in SQL."""


class SpendRow(Struct):
    """The calls of one day, project, purpose or model."""

    name: str
    calls: int = 0
    unanswered: int = 0
    """How many of the calls had no answer that could be used."""
    usd: float = 0.0
    """US dollars, as the client reported them, or assumed."""
    assumed_usd: float = 0.0
    """The part of `usd` that is assumed, because the client reported no cost."""
    tokens_in: int = 0
    tokens_out: int = 0

    def as_data(self) -> dict[str, Any]:
        """Return JSON: the fields by name, dollars rounded to six digits."""
        return asdict(self) | {"usd": round(self.usd, 6), "assumed_usd": round(self.assumed_usd, 6)}


def report_spending(rows: Rows, by: GroupBy, since: float = 0.0, root: str = "") -> list[SpendRow]:
    """Sum the calls that began at `since` (seconds since 1970, UTC) or later, of all projects or of the one with this root.

    Days are local and in their order; other groups begin with the dearest. A call that began and did not end counts with an
    assumed cost.
    """
    order = "1" if by == "day" else "usd DESC, 1"
    found = rows(
        f"SELECT {_NAMES[by]}, count(*), total(c.outcome IS NOT 'answered'), total(c.usd) AS usd, total(c.usd * c.assumed),"
        " total(c.tokens_in), total(c.tokens_out) FROM call c LEFT JOIN project p ON p.number = c.project"
        f" WHERE c.begun >= ?1 AND (?2 = '' OR p.root = ?2) GROUP BY 1 ORDER BY {order}",
        *(since, root),
    )
    return [
        SpendRow(name, calls, int(unanswered), usd, assumed, int(tokens_in), int(tokens_out))
        for name, calls, unanswered, usd, assumed, tokens_in, tokens_out in found
    ]


def sum_rows(rows: Iterable[SpendRow]) -> SpendRow:
    """Return the sum of all rows, named `total`."""
    return SpendRow("total", *map(sum, zip(*(astuple(row)[1:] for row in rows), strict=True)))
