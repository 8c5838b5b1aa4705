"""One pass of the reader: a bounded part of what grew, read, folded and committed in one transaction.

Decoding, hashing, blanking of secrets and finding projects happen before the transaction begins. In it, positions move,
prompts become rows, sessions are noted, and each plugin's `observe` folds the records into its own tables, in a savepoint of
its own. If the disk refuses the transaction, nothing moved, and the pass is tried again from the positions that are stored.
"""

from __future__ import annotations

import math
import time
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby, islice
from pathlib import Path

from loguru import logger
from msgspec import Struct

from tacitd.clock import Clock
from tacitd.contract import Batch, StoredPrompt, Tx
from tacitd.errors import FileRefusedError
from tacitd.events import NoProject, Project, Prompt
from tacitd.handler import Notice
from tacitd.sources.base import Recognition, Source
from tacitd.sources.position import Position
from tacitd.sources.transcript import Tail
from tacitd.store import Store, savepoint
from tacitd.work.activities import insert_activities
from tacitd.work.lookup import ProjectLookup
from tacitd.work.passing import Part, blank_record, split_passed, was_paused
from tacitd.work.project_rows import Passed, read_choices
from tacitd.work.prompt_rows import NewPrompt, finish_prompts, insert_prompt, queue_prompt
from tacitd.work.slices import Ingest, Run, Slice
from tacitd.work.task_rows import queue_session_task

PASS_BYTES = 2 << 20
"""Bytes of one pass, about: the loop answers nothing meanwhile."""
PASS_SECONDS = 0.02
SLICE = 256 << 10
TURN = 8 << 20
"""Bytes that are read of one transcript before it is another one's turn, about."""
TAILS = 64
"""Transcripts whose reader is kept between two passes. Others read 256 KB before their position again, for context."""
STALLED = 60.0
"""Seconds until a transcript is read again whose project could not be found in time."""
BEHIND_AGAIN = 60.0
"""Seconds until records are given again to an observer that raised; more after each failure."""


class Observer(Struct, frozen=True):
    """What the reader needs of a plugin."""

    name: str
    observe: Callable[[Batch, Tx], None] | None = None
    wants_prompts: bool = False
    wants_starts: bool = False
    """Whether it gets a task when a session starts."""
    pays: bool = False
    """Whether it calls the model for prompts: one from before the first start is only paid for if `scan` asks for it."""


class Grown(Struct, frozen=True):
    """A session that grew in a pass, for those who decide when it ends."""

    session: str
    path: Path
    cwd: str
    time: float | None
    """Of its newest record: seconds since 1970, UTC."""
    headless: bool
    read: int
    """Bytes of new lines."""
    recognition: Recognition | None = None


class Pass(Struct, frozen=True):
    """What a pass did."""

    read: int
    """Bytes."""
    more: bool
    """Whether there is more to read now."""
    grown: tuple[Grown, ...] = ()


class Reader:
    """Reads what grew. Use it from one thread, the loop's."""

    def __init__(
        self,
        store: Store,
        source: Source,
        lookup: ProjectLookup,
        observers: Sequence[Observer],
        clock: Clock,
        *,
        default_mode: str = "local",
        pass_bytes: int = PASS_BYTES,
    ) -> None:
        self._store = store
        self._source = source
        self._lookup = lookup
        self._observers = observers
        self._clock = clock
        self._default_mode = default_mode
        self._pass_bytes = pass_bytes
        self.floor = -math.inf
        """Prompts that were typed earlier are from before the first start: seconds since 1970, UTC."""
        self._unread: dict[Path, None] = {}
        self._grew: set[Path] = set()
        """Of these, the transcripts that grew. The others were only asked for, or their sessions are over."""
        self._ended: set[Path] = set()
        """Transcripts whose session is over: what follows their last newline is read too."""
        self._paused_turns: set[Path] = set()
        """Transcripts whose newest records answer a prompt of a pause."""
        self._stalled: dict[Path, float] = {}
        self._tails: OrderedDict[Path, Tail] = OrderedDict()
        self._needed: set[Path] = set()
        """Transcripts whose readers must be kept."""
        self._turns: dict[Path, int] = {}
        """Transcripts of which there is more, with the bytes that were read in their turn. They come first: of a transcript whose
        reader was dropped, context is read again."""
        self._undecided: list[Grown] = []
        """Transcripts of which nothing could be stored yet: a message waits in its queue, or no line is complete. Their sessions end
        too, and then it counts."""
        self._new = Counter[str]()
        """Prompts of this pass that a plugin which asks the model gets, by the project's name."""
        self.refused: dict[Path, FileRefusedError] = {}
        """Transcripts that cannot be read, with the reason."""
        self.odd_lines: dict[Path, Mapping[str, int]] = {}
        """Lines that were damaged, unknown or too long, by kind."""
        self._to_end: set[Path] = set()
        """Transcripts of which a last record without a newline counts too."""
        self.long_lines: dict[Path, list[tuple[int, int]]] = {}
        """Lines that were too long to be read, with their offsets: a person's words may be among them."""

    # --- what is to be read

    def note_grown(self, paths: Iterable[Path]) -> None:
        """These transcripts grew, or may have."""
        for path in paths:
            self._unread[path] = None
            self._grew.add(path)

    def note_vanished(self, path: Path) -> None:
        """This transcript is gone. What was read of it stays."""
        self._unread.pop(path, None)
        self._grew.discard(path)
        self._needed.discard(path)
        self._turns.pop(path, None)
        self._tails.pop(path, None)
        self.refused.pop(path, None)

    def note_ended(self, path: Path) -> None:
        """The session of this transcript is over: what waits in its queue, and its last record without a newline, count."""
        self._ended.add(path)
        self._unread[path] = None

    def note_asked(self, paths: Iterable[Path]) -> None:
        """A person waits for these transcripts: a last record without a newline counts."""
        for path in paths:
            self._to_end.add(path)
            self._unread[path] = None

    def is_unread(self, path: Path) -> bool:
        """Whether there is something to read of this transcript."""
        return path in self._unread or path in self._stalled

    @property
    def has_unread(self) -> bool:
        """Whether there is something to read now."""
        return bool(self._unread)

    def next_in(self) -> float:
        """Seconds until a transcript is due whose project could not be found; infinity if there is none."""
        if self._unread:
            return 0.0
        return max(0.0, min(self._stalled.values(), default=float("inf")) - self._clock.monotonic())

    def take_baselines(self, positions: Iterable[tuple[Path, Position]]) -> None:
        """At the first start: these transcripts count as read."""
        with self._store.write() as tx:
            tx.executemany(
                "INSERT OR IGNORE INTO transcript(path, source, offset, crc) VALUES(?, ?, ?, ?)",
                [(str(path), self._source.name_of(path), one.offset, one.crc) for path, one in positions],
            )

    # --- a pass

    def read_pass(self) -> Pass:
        """Read a bounded part of what grew and commit it. Raises UnwritableError, StoreLostError: nothing moved then."""
        now = self._clock.monotonic()
        for path, due in list(self._stalled.items()):
            if due <= now:
                del self._stalled[path]
                self._unread[path] = None
        self._undecided.clear()
        slices = self._read_slices()
        self._new = Counter()
        if not slices:
            return Pass(0, bool(self._unread), tuple(self._undecided))
        try:
            with self._store.write() as tx:
                now, behind = self._clock.now(), defaultdict[str, set[str]](set)
                for path, plugin in tx.rows("SELECT transcript, plugin FROM behind"):
                    behind[path].add(plugin)
                ingest = Ingest(tx, now, read_choices(tx.rows, self._default_mode, now), behind)
                for one in slices:
                    self._ingest(ingest, one)
                for where, number in self._new.items():
                    what = f"{number} prompt{'' if number == 1 else 's'}"
                    insert_activities(tx, now, "", [Notice("read", what, where)])
        except BaseException:
            for one in slices:
                self._tails.pop(one.path, None)  # it is ahead of what is stored
                self._unread[one.path] = None
            raise
        for one in slices:
            one.tail.forget_before(one.position.offset)
            self._end_turn(one)
        grown = *self._undecided, *(_describe_growth(one.path, one.tail, one.read) for one in slices)
        return Pass(sum(one.read for one in slices), bool(self._unread), grown)

    def _read_slices(self) -> list[Slice]:
        begun, read, slices = time.monotonic(), 0, list[Slice]()
        for path in self._list_turns():
            if read >= self._pass_bytes or time.monotonic() - begun > PASS_SECONDS:
                break
            del self._unread[path]
            try:
                one = self._read_slice(path)
            except FileNotFoundError:
                self.note_vanished(path)
                continue
            except FileRefusedError as error:
                self.refused[path] = error
                continue
            self.refused.pop(path, None)
            if one is not None:
                slices.append(one)
                read += one.read
        return slices

    def _list_turns(self) -> list[Path]:
        begun = [path for path in self._turns if path in self._unread]
        return begun + [path for path in self._unread if path not in self._turns]

    def _end_turn(self, one: Slice) -> None:
        """After a slice, go on with the transcript if there is more of it, or let it wait for the others."""
        read = self._turns.pop(one.path, 0) + one.read
        if one.more:
            self._unread[one.path] = None
            if read < TURN:
                self._turns[one.path] = read

    def _read_slice(self, path: Path) -> Slice | None:
        """Read the next slice of a transcript; None if nothing is to be stored, or if a project could not be found in time."""
        stored = self._store.rows("SELECT offset, crc, lines, cwd FROM transcript WHERE path = ?", str(path))
        start, mark, newlines, cwd = stored[0] if stored else (0, 0, 0, "")
        tail = self._tails.pop(path, None) or Tail(path, start, self._source, mark=mark, newlines=newlines)
        step = tail.read_next_slice(SLICE)
        rewritten = step.shrunk
        if rewritten:
            start = 0
        ended = path in self._ended and not step.more
        if not step.more and (ended or path in self._to_end):
            tail.take_unterminated()
            self._to_end.discard(path)
        if ended:
            tail.release_queued()
            self._ended.discard(path)
        if tail.counts:
            self.odd_lines[path] = dict(tail.counts)
        if tail.long_lines:
            self.long_lines[path] = list(tail.long_lines)
        runs = self._find_runs(tail, start, cwd)
        if runs is None:
            self._stalled[path] = self._clock.monotonic() + STALLED
            if ended:
                self._ended.add(path)
            return None
        is_stored = tail.safe_end != start or rewritten or bool(runs)
        self._keep(path, tail, is_needed=step.more and not is_stored)
        if not is_stored:
            if step.more:
                self._unread[path] = None
            elif not ended and (step.read or path in self._grew):
                # Part of a line, too: its session is live again, and at its end the line counts without a newline.
                self._undecided.append(_describe_growth(path, tail, step.read))
                self._grew.discard(path)
            return None
        self._grew.discard(path)
        position, newlines = tail.find_position(), tail.count_newlines()
        return Slice(path, tail, start, position, newlines, runs, step.read, step.more)

    def _keep(self, path: Path, tail: Tail, *, is_needed: bool) -> None:
        """`is_needed`: nothing of it can be stored yet, and another reader would begin at the same place for ever."""
        self._tails[path] = tail
        (self._needed.add if is_needed else self._needed.discard)(path)
        spare = (one for one in self._tails if one not in self._needed)
        for one in list(islice(spare, max(0, len(self._tails) - TAILS))):
            del self._tails[one]

    def _find_runs(self, tail: Tail, start: int, known: str) -> tuple[Run, ...] | None:
        """The records in runs of one project each, with secrets blanked; None if a project was not found in time."""
        cwd, records = tail.cwd or known, tail.list_records(start)
        places: dict[str, Project | NoProject] = {}
        for where in {record.cwd or cwd for record in records}:
            found = self._lookup.find_project(where) if where else NoProject("", "no directory is named")
            if found is None:
                return None
            places[where] = found
        runs = list[Run]()
        for place, some in groupby(records, key=lambda record: places[record.cwd or cwd]):
            taken = tuple([blank_record(record) if record.prompts else record for record in some])
            runs.append(Run(place, taken[0].cwd or cwd, taken))
        return tuple(runs)

    # --- the transaction

    def _ingest(self, ingest: Ingest, one: Slice) -> None:
        path = str(one.path)
        ingest.tx.execute(
            "INSERT INTO transcript(path, source, offset, crc, lines, session, cwd) VALUES(?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT(path) DO UPDATE SET offset = excluded.offset, crc = excluded.crc, lines = excluded.lines, "
            "session = coalesce(nullif(excluded.session, ''), session), cwd = coalesce(nullif(excluded.cwd, ''), cwd)",
            path,
            self._source.name_of(one.path),
            one.position.offset,
            one.position.crc,
            one.lines,
            one.tail.session,
            one.tail.cwd,
        )
        for run in one.runs:
            self._ingest_run(ingest, one, run, ingest.behind[path])

    def _ingest_run(self, ingest: Ingest, one: Slice, run: Run, behind: set[str]) -> None:
        tx, now, choices = ingest.tx, ingest.now, ingest.choices
        number = ingest.find_project(run.place) if isinstance(run.place, Project) else None
        session = one.tail.session or one.path.stem
        after = bool(choices.spans) and (one.path in self._paused_turns or was_paused(tx, session))
        parts = split_passed(tx, run.records, choices, run.place, session, after)
        if parts[-1].ends_paused:
            self._paused_turns.add(one.path)
        else:
            self._paused_turns.discard(one.path)
        stored = [self._insert_prompts(ingest, one, run, part, number) for part in parts]
        self._note_session(tx, one, run, session, number, sum(map(len, stored)), now)
        for part, new in zip(parts, stored, strict=True):
            start, end = part.records[0].start, part.records[-1].end
            batch = Batch(
                one.path,
                self._source.name_of(one.path),
                session,
                run.place,
                number,
                part.records[0].cwd or run.cwd,
                part.records,
                start,
                end,
                one.lines,
                tuple(new),
                part.passed,
                now,
            )
            for observer in self._observers:
                if observer.observe is None or observer.name in behind:
                    continue
                with savepoint(tx) as attempt:
                    observer.observe(batch, tx)
                if attempt.error is not None:
                    behind.add(observer.name)
                    note_behind(tx, observer.name, one.path, batch.start, attempt.error, now)

    def _insert_prompts(
        self, ingest: Ingest, one: Slice, run: Run, part: Part, number: int | None
    ) -> list[StoredPrompt]:
        """Store the prompts of these records that are new, and queue them."""
        tx, now, choices = ingest.tx, ingest.now, ingest.choices
        new = list[StoredPrompt]()
        session, usual = one.tail.session or one.path.stem, choices.passes(run.place, one.tail.session)
        dated = [
            (prompt, at)
            for record, at in zip(part.records, part.times, strict=True)
            for prompt in record.prompts
        ]
        for prompt, at in dated:
            typed = at if prompt.time is None else prompt.time
            why: Passed = "paused" if choices.is_paused_at(run.place, session, typed) else usual
            row = NewPrompt(prompt, self._source.name_of(one.path), str(one.path), number, why)
            stored = insert_prompt(tx, row, now)
            if stored is None:
                continue
            new.append(stored)
            wanting = self._find_wanting(why, is_old=self._is_old(prompt, at))
            queue_prompt(tx, stored.number, wanting)
            if not why:
                if any(o.pays and o.name in wanting for o in self._observers):
                    self._new[run.place.root.name if isinstance(run.place, Project) else ""] += 1
                if not wanting:
                    finish_prompts(tx, "", [stored.number], now)  # its text is cut
        return new

    def _is_old(self, prompt: Prompt, at: float | None) -> bool:
        """Whether a prompt is from before the first start. `at`: when its record was written, from those near it."""
        typed = prompt.time if prompt.time is not None else at
        return typed is not None and typed < self.floor

    def _find_wanting(self, passed: Passed, *, is_old: bool) -> list[str]:
        """The plugins for which a new prompt is queued. `is_old`: it is from before the first start."""
        return [
            each.name
            for each in self._observers
            if each.wants_prompts and not passed and not (is_old and each.pays)
        ]

    def _note_session(
        self, tx: Tx, one: Slice, run: Run, session: str, project: int | None, prompts: int, now: float
    ) -> None:
        """Note what a session did. It goes on again if it had ended. It starts in each project that it works in, and again when it
        goes on after its end."""
        newest = max([record.time for record in run.records if record.time is not None], default=now)
        answers = len([1 for record in run.records if record.text])
        before = tx.rows("SELECT project, ended FROM session WHERE id = ?", session)
        tx.execute(
            "INSERT INTO session(id, source, transcript, project, cwd, headless, started, last, answers) "
            "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(id) DO UPDATE SET transcript = excluded.transcript, "
            "project = excluded.project, cwd = excluded.cwd, headless = excluded.headless, last = max(last, excluded.last), "
            "answers = CASE WHEN ? THEN 0 ELSE answers + excluded.answers END, ended = NULL, ended_by = NULL",
            session,
            self._source.name_of(one.path),
            str(one.path),
            project,
            run.cwd,
            int(one.tail.is_headless),
            newest,
            newest,
            answers,
            int(prompts > 0),
        )
        begins = not before or before[0] != (project, None)
        if begins and project is not None and isinstance(run.place, Project):
            wanted = [each.name for each in self._observers if each.wants_starts]
            queue_session_task(tx, wanted, "session-started", session, project, str(run.place.root), now)


def _describe_growth(path: Path, tail: Tail, read: int) -> Grown:
    return Grown(
        tail.session or path.stem,
        path,
        tail.cwd,
        tail.last_time,
        tail.is_headless,
        read,
        tail.assembler.recognition,
    )


def note_behind(tx: Tx, plugin: str, path: Path, offset: int, fault: BaseException, now: float) -> None:
    """Note that a plugin has to be given the records of a transcript again, from this offset on, after a pause that grows."""
    logger.opt(exception=fault).error("{} failed with records of {}", plugin, path)
    tx.execute(
        "INSERT INTO behind VALUES(?, ?, ?, ?, 1, ?) ON CONFLICT(plugin, transcript) DO UPDATE SET offset = excluded.offset, "
        "reason = excluded.reason, tries = tries + 1, due = ? + 60.0 * (1 << min(tries, 8))",
        plugin,
        str(path),
        offset,
        f"{type(fault).__name__}: {fault}",
        now + BEHIND_AGAIN,
        now,
    )
