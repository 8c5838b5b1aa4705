"""One pass of the reader: a bounded part of what grew, read, folded and committed in one transaction.

Decoding, hashing, blanking of secrets and finding projects happen before the transaction begins. In it, positions move, prompts
become rows, sessions are noted, and each plugin's `observe` folds the records into its own tables, in a savepoint. If the disk
refuses the transaction, nothing moved, and the pass is tried again. Where an observer raises, its plugin gets a row of `behind`, and
nothing newer of that transcript until it folded what it got again: a fault in a plugin costs it time, and never a record.
"""

from __future__ import annotations

import math
import time
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from loguru import logger
from msgspec import Struct
from msgspec.structs import replace

from tacitd.clock import Clock
from tacitd.contract import Batch, StoredPrompt, Tx
from tacitd.errors import FileRefusedError
from tacitd.events import NoProject, Project, Record
from tacitd.handler import Notice
from tacitd.sources.lines import Position
from tacitd.sources.source import Recognition, Source
from tacitd.sources.transcript import LOOK_BEHIND, WAITING, Tail, read_records
from tacitd.store import Store, savepoint
from tacitd.work.activities import insert_activities
from tacitd.work.passing import PassedRecords, blank_prompt, keep_context, split_passed, was_paused
from tacitd.work.project_lookup import ProjectLookup
from tacitd.work.project_rows import Choices, Passed, read_choices, store_project
from tacitd.work.prompt_rows import (
    find_new_prompts,
    finish_prompts,
    insert_prompt,
    note_long_record,
    queue_prompt,
)
from tacitd.work.task_rows import queue_session_task

PASS_BYTES = 2 << 20
"""Bytes of one pass, about: the loop answers nothing meanwhile."""
PASS_SECONDS = 0.02
SLICE = 1 << 20
"""Bytes that are read of one transcript before it is another one's turn, about."""
TAILS = 64
"""Transcripts whose reader is kept between two passes. Others read 256 KB before their position again, for context."""
BEHIND_AGAIN = 60.0
"""Seconds until records are given again to an observer that raised; more after each failure."""
BEHIND_PART = 1 << 20
"""Bytes that are given again to an observer at once, about."""
BEHIND_AT_ONCE = 4
"""Rows of `behind` that are gone on with at once."""
NOWHERE = NoProject("", "no directory is named")


class Observer(Struct, frozen=True):
    """What the reader needs of a plugin."""

    name: str
    observe: Callable[[Batch, Tx], None] | None = None
    wants_prompts: bool = False
    """It asks the model about them: one from before the first start is only paid for if `scan` asks for it."""
    wants_starts: bool = False
    """Whether it gets a task when a session starts."""


class Grown(Struct, frozen=True):
    """A session that grew in a pass, for those who decide when it ends."""

    session: str
    path: Path
    cwd: str
    read: int
    """Bytes of new lines."""
    recognition: Recognition | None = None


class _Wanted(Struct):
    """Why a transcript is to be read."""

    grew: bool = False
    """It grew, or may have. Otherwise it was only asked for, or its session is over."""
    to_end: bool = False
    """A last record without a newline counts, too."""
    ended: bool = False
    """Its session is over: what waits in its queue counts."""


class _Run(Struct, frozen=True):
    """Records of one slice that belong to one project."""

    place: Project | NoProject
    cwd: str
    records: tuple[Record, ...]


class _Slice(Struct, frozen=True):
    """What was read of one transcript and is not stored yet."""

    path: Path
    session: str
    tail: Tail
    position: Position
    lines: int
    """Newlines before the position."""
    runs: list[_Run]
    read: int
    wanted: _Wanted
    is_stored: bool
    """Whether there is something to store."""
    shrunk: bool
    """Whether the transcript was rewritten, so that it is read from its beginning again."""


@dataclass(eq=False)
class Reader:
    """Reads what grew. Use it from one thread, the loop's."""

    store: Store
    source: Source
    lookup: ProjectLookup
    observers: Sequence[Observer]
    clock: Clock
    default_mode: str

    def __post_init__(self) -> None:
        self._pass_bytes = PASS_BYTES
        self.floor = -math.inf
        """Prompts that were typed earlier are from before the first start: seconds since 1970, UTC."""
        self._unread: dict[Path, _Wanted] = {}
        self._stalled: dict[Path, tuple[float, _Wanted]] = {}
        """Transcripts whose project could not be found in time, and when they are due again: monotonic seconds."""
        self._paused_turns: set[Path] = set()
        """Transcripts whose newest records answer a prompt of a pause."""
        self._tails: OrderedDict[Path, Tail] = OrderedDict()
        self._new = Counter[str]()
        """Prompts of this pass that a plugin which asks the model gets, by the project's name."""
        self.refused: dict[Path, FileRefusedError] = {}
        """Transcripts that cannot be read, with the reason."""
        self.odd_lines: dict[Path, Mapping[str, int]] = {}
        """Lines that were damaged, unknown or too long, by kind."""

    def note_grown(self, paths: Iterable[Path]) -> None:
        for path in paths:
            self._want(path).grew = True

    def note_vanished(self, path: Path) -> None:
        self._unread.pop(path, None)
        self._tails.pop(path, None)
        self.refused.pop(path, None)

    def note_ended(self, path: Path) -> None:
        """The session of this transcript is over: what waits in its queue, and its last record without a newline, count."""
        self._want(path).ended = True

    def note_asked(self, paths: Iterable[Path]) -> None:
        """A person waits for these: a last record without a newline counts."""
        for path in paths:
            self._want(path).to_end = True

    def _want(self, path: Path) -> _Wanted:
        return self._unread.setdefault(path, _Wanted())

    def is_unread(self, path: Path) -> bool:
        return path in self._unread or path in self._stalled

    @property
    def has_unread(self) -> bool:
        """Whether there is something to read now."""
        return bool(self._unread)

    @property
    def has_stalled(self) -> bool:
        """Whether a transcript waits for the project of its directory."""
        return bool(self._stalled)

    def next_in(self) -> float:
        """Seconds until a transcript is due whose project could not be found; infinity if there is none."""
        due = -math.inf if self._unread else min((at for at, _ in self._stalled.values()), default=math.inf)
        return max(0.0, due - self.clock.monotonic())

    def take_baselines(self, positions: Iterable[tuple[str, Position]]) -> None:
        """At the first start: these transcripts count as read."""
        with self.store.write() as tx:
            tx.executemany(
                "INSERT OR IGNORE INTO transcript(path, source, offset, crc) VALUES(?, ?, ?, ?)",
                [(path, self.source.name_of(path), one.offset, one.crc) for path, one in positions],
            )

    def read_pass(self) -> list[Grown]:
        """Read a bounded part of what grew and commit it; return the sessions that did. Raises UnwritableError, StoreLostError: nothing moved then."""
        now = self.clock.monotonic()
        for path in [path for path, (due, _) in self._stalled.items() if due <= now]:
            self._unread[path] = self._stalled.pop(path)[1]
        self._new = Counter()
        read = self._read_slices()
        slices = [one for one in read if one.is_stored]
        if slices:
            try:
                with self.store.write() as tx:
                    self._ingest_all(tx, slices)
                    for where, number in self._new.items():
                        what = f"{number} prompt{'' if number == 1 else 's'}"
                        insert_activities(tx, self.clock.now(), "", [Notice("read", what, where)])
            except BaseException:
                for one in slices:
                    self._tails.pop(one.path, None)  # it is ahead of what is stored
                    self._unread[one.path] = one.wanted
                raise
        for one in slices:
            one.tail.assembler.forget_before(one.position.offset)
            one.tail.long_lines.clear()
        return [
            Grown(one.session, one.path, one.tail.assembler.cwd, one.read, one.tail.assembler.recognition)
            for one in read
        ]

    def _read_slices(self) -> list[_Slice]:
        begun, read, slices = time.monotonic(), 0, list[_Slice]()
        for path in list(self._unread):
            if read >= self._pass_bytes or time.monotonic() - begun > PASS_SECONDS:
                break
            try:
                found = self._read_slice(path, self._unread.pop(path))
            except FileNotFoundError:
                self.note_vanished(path)
                continue
            except FileRefusedError as error:
                self.refused[path] = error
                continue
            self.refused.pop(path, None)
            if found is not None:
                slices.append(found)
                read += found.read
        return slices

    def _read_slice(self, path: Path, wanted: _Wanted) -> _Slice | None:
        """None if there is nothing to say of it, or if a project could not be found in time."""
        stored = self.store.rows("SELECT offset, crc, lines, cwd FROM transcript WHERE path = ?", str(path))
        start, mark, newlines, cwd = stored[0] if stored else (0, 0, 0, "")
        tail = self._tails.pop(path, None) or Tail(path, start, self.source, mark=mark, newlines=newlines)
        step = tail.read_next_slice(SLICE)
        size = step.read
        # What nothing can be stored of yet is read in one turn: a reader that is not kept would begin at the same place again.
        while (
            step.more and not step.shrunk and tail.safe_end == start and tail.assembler.held_bytes <= WAITING
        ):
            step = tail.read_next_slice(SLICE)
            size += step.read
        start = 0 if step.shrunk else start
        if not step.more and (wanted.to_end or wanted.ended):
            tail.take_unterminated()
        if (wanted.ended and not step.more) or tail.assembler.held_bytes > WAITING:
            tail.assembler.release_queued()
        if tail.assembler.counts:
            self.odd_lines[path] = dict(tail.assembler.counts)
        runs = self._find_runs(tail.list_records(start), tail.assembler.cwd or cwd)
        if runs is None:
            self._stalled[path] = self.clock.monotonic() + self.lookup.ask_again_in(), wanted
            return None
        self._tails[path] = tail
        if len(self._tails) > TAILS:
            self._tails.popitem(last=False)
        is_stored = tail.safe_end != start or step.shrunk or bool(runs)
        if step.more:
            wanted.grew = wanted.grew and not is_stored
            self._unread[path] = wanted  # after the others
        # Of a part of a line, too: its session is live again, and at its end the line counts without a newline.
        if not is_stored and (step.more or wanted.ended or not (size or wanted.grew)):
            return None
        position = tail.find_position() if is_stored else Position(start, mark)
        session, newlines = tail.assembler.session or path.stem, tail.count_newlines()
        return _Slice(path, session, tail, position, newlines, runs, size, wanted, is_stored, step.shrunk)

    def _find_runs(self, records: Sequence[Record], cwd: str) -> list[_Run] | None:
        """The records in runs of one project each, with secrets blanked; None if a project was not found in time. `cwd`: the directory
        of those that name none. What the assistant said in another project, which the person may have excluded, is no context."""
        places: dict[str, Project | NoProject] = {}
        contexts = {one.context_cwd for record in records for one in record.prompts if one.context_cwd}
        for where in {record.cwd or cwd for record in records}:
            found = self.lookup.find_project(where) if where else NOWHERE
            if found is None:
                return None
            places[where] = found
        for where in (
            contexts - places.keys()
        ):  # one that does not answer holds up no prompt of another project
            places[where] = self.lookup.find_project(where) or NOWHERE
        runs = list[_Run]()
        by_place = groupby(records, key=lambda record: places[record.cwd or cwd])
        for place, some in by_place if len(places) > 1 else zip(places.values(), [records], strict=False):
            taken = [
                replace(
                    record,
                    prompts=tuple(blank_prompt(keep_context(one, place, places)) for one in record.prompts),
                )
                if record.prompts
                else record
                for record in some
            ]
            runs.append(_Run(place, taken[0].cwd or cwd, tuple(taken)))
        return runs

    def _ingest_all(self, tx: Tx, slices: Sequence[_Slice]) -> None:
        now, behind = self.clock.now(), defaultdict[str, set[str]](set)
        for path, plugin in tx.rows("SELECT transcript, plugin FROM behind"):
            behind[path].add(plugin)
        choices = read_choices(tx.rows, self.default_mode, now)
        for one in slices:
            path = str(one.path)
            tx.execute(
                "INSERT INTO transcript(path, source, offset, crc, lines, session, cwd) VALUES(?, ?, ?, ?, ?, ?, ?) "
                "ON CONFLICT(path) DO UPDATE SET offset = excluded.offset, crc = excluded.crc, lines = excluded.lines, "
                "session = coalesce(nullif(excluded.session, ''), session), cwd = coalesce(nullif(excluded.cwd, ''), cwd)",
                *(path, self.source.name_of(one.path), *one.position, one.lines),
                *(one.tail.assembler.session, one.tail.assembler.cwd),
            )
            if one.shrunk:
                tx.execute("UPDATE behind SET offset = 0 WHERE transcript = ?", path)
            for start, end in one.tail.long_lines:
                note_long_record(tx, path, start, end, now)
            for run in one.runs:
                self._ingest_run(tx, one, run, choices, behind[path], now)

    def _ingest_run(
        self, tx: Tx, one: _Slice, run: _Run, choices: Choices, behind: set[str], now: float
    ) -> None:
        number = store_project(tx, run.place, now) if isinstance(run.place, Project) else None
        after = bool(choices.spans) and (one.path in self._paused_turns or was_paused(tx, one.session))
        parts = split_passed(tx, run.records, choices, run.place, one.session, after)
        (self._paused_turns.add if parts[-1].ends_paused else self._paused_turns.discard)(one.path)
        batches = [self._make_batch(one.path, one.session, run, number, part, now) for part in parts]
        stored = [
            self._insert_prompts(tx, batch, part.times, choices)
            for batch, part in zip(batches, parts, strict=True)
        ]
        self._note_session(tx, one, run, number, now)
        for batch, new in zip(batches, stored, strict=True):
            given = replace(batch, prompts=tuple(new))
            for observer in self.observers:
                if observer.name not in behind and not _give(tx, observer, given):
                    behind.add(observer.name)

    def _make_batch(
        self, path: Path, session: str, run: _Run, number: int | None, part: PassedRecords, now: float
    ) -> Batch:
        source, records, cwd = self.source.name_of(path), part.records, part.records[0].cwd or run.cwd
        start, end, passed = records[0].start, records[-1].end, part.passed
        return Batch(path, source, session, run.place, number, cwd, records, start, end, (), passed, now)

    def _insert_prompts(
        self, tx: Tx, batch: Batch, times: Sequence[float | None], choices: Choices
    ) -> list[StoredPrompt]:
        """Store the prompts of these records that are new, and queue them."""
        new, place, now = list[StoredPrompt](), batch.project, batch.at
        where, usual = str(batch.transcript), choices.passes(batch.project, batch.session)
        dated = zip(batch.records, times, strict=True)
        for prompt, at in [(prompt, at) for record, at in dated for prompt in record.prompts]:
            typed = at if prompt.time is None else prompt.time
            why: Passed = "paused" if choices.is_paused_at(place, batch.session, typed) else usual
            stored = insert_prompt(tx, prompt, batch.source, where, batch.project_number, now, passed=why)
            if stored is None:
                continue
            new.append(stored)
            is_old = typed is not None and typed < self.floor
            wanting = [] if why or is_old else [each.name for each in self.observers if each.wants_prompts]
            queue_prompt(tx, stored.number, wanting)
            if wanting:
                self._new[place.root.name if isinstance(place, Project) else ""] += 1
            elif not why:
                finish_prompts(tx, "", [stored.number], now)  # its text is cut
        return new

    def _note_session(self, tx: Tx, one: _Slice, run: _Run, project: int | None, now: float) -> None:
        """Note what a session did. It goes on again if it had ended. It starts in each project that it works in, and again when it
        goes on after its end."""
        newest = max([record.time for record in run.records if record.time is not None], default=now)
        before = tx.rows("SELECT project, ended FROM session WHERE id = ?", one.session)
        tx.execute(
            "INSERT INTO session(id, source, transcript, project, cwd, headless, started, last) "
            "VALUES(?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(id) DO UPDATE SET transcript = excluded.transcript, "
            "project = excluded.project, cwd = excluded.cwd, headless = excluded.headless, last = max(last, excluded.last), "
            "ended = NULL, ended_by = NULL",
            *(one.session, self.source.name_of(one.path), str(one.path), project, run.cwd),
            *(int(one.tail.assembler.is_headless), newest, newest),
        )
        if not before or before[0] != (project, None):
            wanted = [each.name for each in self.observers if each.wants_starts]
            queue_session_task(tx, wanted, "session-started", one.session, now)

    def read_behind(self) -> None:
        """Give observers again what they could not fold, one bounded part for each row that is due. Raises UnwritableError,
        StoreLostError."""
        observers = {each.name: each for each in self.observers if each.observe is not None}
        for plugin, path, start, upto in self.store.rows(
            "SELECT b.plugin, b.transcript, b.offset, t.offset FROM behind b JOIN transcript t ON t.path = b.transcript "
            f"WHERE b.due <= ? AND b.plugin IN ({', '.join('?' * len(observers))}) ORDER BY b.due LIMIT ?",
            self.clock.now(),
            *observers,
            BEHIND_AT_ONCE,
        ):
            self._give_again(observers[plugin], Path(path), start, upto)

    def _give_again(self, observer: Observer, path: Path, start: int, upto: int) -> None:
        # Whether what follows the last prompt before `start` is of a pause, that prompt says.
        earlier = read_records(self.source, path, max(0, start - LOOK_BEHIND), start)
        begin = next((one.start for one in reversed(earlier) if one.prompts), start)
        end, records = start, list[Record]()
        while end < upto and not (records and records[-1].start >= start):
            end = min(upto, end + BEHIND_PART)
            records = read_records(self.source, path, begin, end)
        reached = end if end == upto else records[-1].end
        runs = self._find_runs(records, "")
        if runs is None:
            return
        after, now = False, self.clock.now()
        with self.store.write() as tx:
            choices = read_choices(tx.rows, self.default_mode, now)
            ((session,),) = tx.rows("SELECT session FROM transcript WHERE path = ?", str(path))
            for run in runs:
                number = store_project(tx, run.place, now) if isinstance(run.place, Project) else None
                for part in split_passed(tx, run.records, choices, run.place, session, after):
                    after = part.ends_paused
                    given = replace(part, records=tuple(one for one in part.records if one.start >= start))
                    if not given.records:
                        continue
                    prompts = [prompt for record in given.records for prompt in record.prompts]
                    new = tuple(find_new_prompts(tx, str(path), prompts))
                    batch = self._make_batch(path, session, run, number, given, now)
                    if not _give(tx, observer, replace(batch, prompts=new)):
                        return
            where = "WHERE plugin = ? AND transcript = ?"
            tx.execute(
                f"UPDATE behind SET offset = ?, due = ? {where}", reached, now, observer.name, str(path)
            )
            is_done = "offset >= (SELECT offset FROM transcript WHERE path = behind.transcript)"
            tx.execute(f"DELETE FROM behind {where} AND {is_done}", observer.name, str(path))


def _give(tx: Tx, observer: Observer, batch: Batch) -> bool:
    """Give records to an observer; return whether it folded them. Otherwise it gets them again, after a pause that grows."""
    if observer.observe is None:
        return True
    with savepoint(tx) as attempt:
        observer.observe(batch, tx)
    if attempt.error is None:
        return True
    logger.opt(exception=attempt.error).error("{} failed with records of {}", observer.name, batch.transcript)
    tx.execute(
        "INSERT INTO behind VALUES(?, ?, ?, ?, 1, ?) ON CONFLICT(plugin, transcript) DO UPDATE SET offset = excluded.offset, "
        "reason = excluded.reason, tries = tries + 1, due = ? + 60.0 * (1 << min(tries, 8))",
        *(observer.name, str(batch.transcript), batch.start),
        f"{type(attempt.error).__name__}: {attempt.error}",
        *(batch.at + BEHIND_AGAIN, batch.at),
    )
    return False
