"""A handler as a consumer: its positions in the transcripts, the prompts that it has seen, and what it did.

A consumer owns one log, `handlers/<name>/log.jsonl` in the state directory. A commit is one record in it: the new
position in a transcript together with the data of what the handler did. When something is offered is decided in
`dispatch/`, transcripts are read in `sources/`, and long logs are compacted in `compaction.py`.

Records of the log, all with `at` (seconds since 1970, UTC). A transcript `t` has a session `s`, a directory `w`, the
position `o` (offset) and `c` (mark); `a`, `e`, `f` and `fo` are `handled_upto`, `end_handled_upto`, `scan_since` and
`scan_projects` of `Cursor`:

    {"k":"base","p":{path:[offset,mark],…}}         counts as read, but was not read
    {"k":"born"}                                    the first start is complete: older prompts are not paid for
    {"k":"done","ev","t","s","w","o","c","a","e","ids","d"}   handled; `ids` are the prompts, `d` the handler's data
    {"k":"at","t","s","w","o","c","a","e","f"}      nothing more of interest up to `o`
    {"k":"rewind","t","floor","only"}               `scan` asked for older prompts
    {"k":"retry","t","ids"}                         a person asked to try these prompts again
    {"k":"ids"}, {"k":"job"}, {"k":"told"}, {"k":"kept"}   what a compaction wrote
    {"k":"state","d"}                               what the commits before amount to (`snapshots.py`)
    {"k":"past"}                                    a commit that the state contains
    {"k":"compacted","ids","state"}                 the end of what it wrote; whether `handled.bin` has ids, and there is a state
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from loguru import logger
from msgspec import Struct, field

from tacitd.clock import Clock
from tacitd.consumers.commits import Commits
from tacitd.consumers.cursor_table import Cursor, CursorTable, StoredPosition
from tacitd.consumers.handled_prompts import HANDLED, load_handled
from tacitd.consumers.snapshots import FOLDED, SNAPSHOT, parse_commit
from tacitd.errors import LogDamagedError
from tacitd.events import Due, Message, Prompt, SessionEnded
from tacitd.files.log import Log
from tacitd.handler import Commit, Handler, Plugin
from tacitd.sources.dedupe import SeenPrompts
from tacitd.sources.position import Position

GRACE = 60.0
"""Seconds by which a record may be older than the first start and still count as new: a record has the time at which
Enter was pressed, and appears in the file later."""


FREQUENT = 3600.0
"""Seconds: a run of a job with a shorter interval leaves no record if it did nothing. `save_jobs` keeps the last one."""
MESSAGES_KEY = "tell"
"""The key in a commit's data for messages to other handlers, by their names."""
RESEND_FOR = 30 * 86400.0
"""Seconds after its commit for which a message is posted again at a start."""


class Consumer(Struct):
    """A handler with its log. Its methods may be called from any thread."""

    plugin: Plugin
    handler: Handler
    log: Log
    clock: Clock
    cursors: CursorTable = field(default_factory=CursorTable)
    seen: SeenPrompts = field(default_factory=SeenPrompts)
    first_start: float | None = None
    last_job_runs: dict[str, float] = field(default_factory=dict)
    """When each job last succeeded: seconds since 1970, UTC."""
    handled_messages: dict[str, float] = field(default_factory=dict)
    """The ids of messages from other handlers that were handled, with the time: seconds since 1970, UTC."""
    retried_keys: set[str] = field(default_factory=set)
    """`SeenPrompts.encode_id` of rejected prompts that a person asked to try again. They count as new until handled."""
    message_commits: list[Commit] = field(default_factory=list)
    """The commits with messages to other handlers, in the order of the log."""
    record_counts: list[int] = field(default_factory=lambda: [0, 0])
    """How many records and baselines a compaction or the first start wrote, and how many the log has since."""
    moved: deque[Path] = field(default_factory=deque)
    """The transcripts whose position changed since the engine counted the lag. Appended to in any thread."""
    lock: threading.RLock = field(default_factory=threading.RLock)
    has_snapshot: bool = False
    """Whether the log has a snapshot."""
    has_all_handled: bool = True
    """False: the file with the handled prompts is there, but could not be read. It must not be written anew without them."""
    _commits: Commits = field(default_factory=Commits)
    _first_start_saved: bool = True
    _job_runs_saved: dict[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The plugin's name."""
        return self.plugin.name

    # from the log

    def replay_log(self, on_commit: Callable[[Commit], None] = lambda commit: None) -> Iterator[Commit]:
        """Fold the log and yield what the handler is opened with: a snapshot if there is one, then the commits with data
        since, oldest first. Call it once, before everything else, and read it to its end: only what was read is folded.

        `on_commit` gets all commits that are in the log.
        """
        self._load_handled()
        for record in self.log.read():
            self.record_counts[1] += 1
            try:
                commit = self._fold(record)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                logger.warning("{}: a record is left out: {}", self.log.path, type(error).__name__)
                continue
            if commit is not None and commit.data:
                if commit.event != SNAPSHOT:
                    on_commit(commit)
                if MESSAGES_KEY in commit.data:
                    self.message_commits.append(commit)
                if record.get("k") in FOLDED:
                    yield commit

    @property
    def handled_file(self) -> Path:
        """The file with the handled prompts that are not in the log any more."""
        return self.log.path.with_name(HANDLED)

    def _load_handled(self) -> None:
        try:
            load_handled(self.handled_file, self.seen)
        except (OSError, ValueError) as error:
            self.has_all_handled = not isinstance(error, OSError)
            logger.warning("{} cannot be used: {}", self.handled_file, error)

    def _fold(self, record: Mapping[str, Any]) -> Commit | None:
        match record.get("k"):
            case "born":
                self.first_start = float(record["at"])
            case "base":
                # As if a compaction had written them: it would change nothing.
                self.record_counts[0] += len(record["p"])
                self.record_counts[1] -= 1
                self._put_baselines(record)
            case "rewind":
                only = tuple(map(str, record.get("only", ())))
                self._apply_rewind(Path(record["t"]), float(record["floor"]), only, float(record["at"]))
            case "at":
                self._put_position(record)
            case "ids":
                self._note_handled(record["ids"])
            case "retry":
                self.retried_keys.update(map(str, record["ids"]))
                if record.get("t"):
                    self._reset_at(Path(record["t"]), float(record["at"]))
            case "job":
                self.last_job_runs[str(record["s"])] = self._job_runs_saved[str(record["s"])] = float(
                    record["at"]
                )
            case "told":
                self.handled_messages.update(dict.fromkeys(map(str, record["ids"]), float(record["at"])))
            case "kept" | "past" | "state":
                self.has_snapshot |= record["k"] == "state"
                return parse_commit(record)
            case "compacted":
                if record.get("state") and not self.has_snapshot:
                    raise LogDamagedError(
                        f"{self.log.path}: the handler's state is damaged",
                        "restore all files of this directory from one backup",
                    )
                self.record_counts = [sum(self.record_counts), 0]
                if record.get("ids") and not self.seen.tables["id"]:
                    logger.warning("{} is missing: prompts may be handled again", self.handled_file)
            case "done":
                return self._fold_done(record)
            case _:
                pass  # a record of a newer version
        return None

    def _fold_done(self, record: Mapping[str, Any]) -> Commit:
        commit = parse_commit(record)
        self._note_handled(record.get("ids", ()))
        if commit.event == Due.stored_name:
            self.last_job_runs[commit.session] = commit.at
        if commit.event == Message.stored_name:
            self.handled_messages[commit.session] = commit.at
        if commit.transcript:
            self._put_position(record)
        return commit

    def _note_handled(self, keys: Sequence[str]) -> None:
        self.seen.load_keys(keys)
        self.retried_keys.difference_update(keys)

    def _put_position(self, record: Mapping[str, Any]) -> None:
        """Apply a record's position: without a cursor, if `scan` did not ask for the transcript. There are thousands."""
        scanned = "f" in record or "fo" in record
        before = None if scanned else self.cursors.find_position(record["t"])
        if before is None or not self.cursors.put_position(_move_position(before, record)):
            self.cursors.pack_cursor(self._apply_position(record))

    def _apply_position(self, record: Mapping[str, Any]) -> Cursor:
        """Apply a record's position. An offset before the known one means that the transcript was read again."""
        stream = self.get_cursor(Path(record["t"]))
        offset = int(record["o"])
        if offset < stream.offset:
            stream.reset_to_start()
        stream.offset, stream.crc, stream.logged_at = offset, int(record.get("c", 0)), float(record["at"])
        stream.session = record.get("s") or stream.session
        stream.cwd = record.get("w") or stream.cwd
        stream.handled_upto = int(record.get("a", stream.handled_upto))
        stream.end_handled_upto = int(record.get("e", stream.end_handled_upto))
        stream.scan_since = record.get("f", stream.scan_since)
        stream.scan_projects = tuple(map(str, record.get("fo", stream.scan_projects)))
        stream.saved_state = stream.get_state()
        return stream

    def is_frequent_job(self, job: str) -> bool:
        """Whether a job's interval is so short that a run leaves no record. A start begins the interval again."""
        return any(one.name == job and one.every < FREQUENT for one in self.plugin.jobs)

    # positions

    def list_positions(self) -> list[tuple[str, Path, int]]:
        """The position in each transcript: session, path, byte offset."""
        with self.lock:
            return [(one.session, one.path, one.offset) for one in self.cursors.iter_all()]

    def record_first_start(self, at: float, baselines: Sequence[Mapping[str, Any]] = ()) -> None:
        """The first start: existing records count as read, and the time is kept. Durable when this returns; after a
        crash before that, the next start is the first.

        `at`: seconds since 1970, UTC. `baselines`: what `make_baseline_records` made, once for all handlers.
        """
        with self.lock:
            for record in baselines:
                self.log.append(record)
            self.log.append({"k": "born", "at": at})
            self.log.flush()
            self.first_start = at
            for record in baselines:
                self._put_baselines(record)

    def _put_baselines(self, record: Mapping[str, Any]) -> None:
        self.cursors.put_baselines(dict(record["p"]), float(record["at"]))

    def correct_first_start(self) -> None:
        """Set the first start to now if it is in the future: the clock was wrong then, or is wrong now.

        Otherwise every prompt would count as too old, and nothing would be learned. Raises OSError, LogDamagedError.
        """
        with self.lock:
            now = self.clock.now()
            if self.first_start is not None and now < self.first_start:
                # Before it is written: prompts would count as too old as long as the log cannot be written.
                self.first_start, self._first_start_saved = now, False
            self._save_first_start()

    def _save_first_start(self) -> None:
        if not self._first_start_saved:
            self.log.append({"k": "born", "at": self.first_start})
            self.log.flush()
            self._first_start_saved = True

    def get_cursor(self, path: Path) -> Cursor:
        """The cursor of a transcript; a new one starts at the first byte."""
        with self.lock:
            return self.cursors.get_cursor(path)

    def get_offset(self, path: Path | str) -> int:
        """The offset up to which a transcript is handled. Creates no cursor."""
        return self.cursors.get_offset(path)

    def find_unequal(self, sizes: Mapping[str, int]) -> list[str]:
        """The transcripts whose size is not the offset up to which they are handled. Creates no cursor."""
        return self.cursors.find_unequal(sizes)

    def find_floor(self, stream: Cursor) -> float | None:
        """The time before which a handler that calls the model must skip everything, because it is older than the first start or
        the scan asks: seconds since 1970, UTC. None for a handler that calls no model."""
        if not self.plugin.uses_model:
            return None
        return stream.scan_since if stream.scan_since is not None else self._new_since

    def is_too_old(self, one: Prompt, stream: Cursor) -> bool:
        """Whether a prompt is older than that."""
        floor = self.find_floor(stream)
        return floor is not None and one.time is not None and one.time < floor

    def is_outside_scan(self, prompt: Prompt, stream: Cursor, root: str) -> bool:
        """Whether a prompt is older than the first start, and no `scan` asked for its project."""
        old = self.plugin.uses_model and prompt.time is not None and prompt.time < self._new_since
        return old and bool(stream.scan_projects) and root not in stream.scan_projects

    @property
    def _new_since(self) -> float:
        return (self.first_start or 0.0) - GRACE

    def wants_prompt(self, prompt: Prompt, stream: Cursor) -> bool:
        """Whether a prompt is new to the handler and may be paid for."""
        again = bool(self.retried_keys) and SeenPrompts.encode_id(prompt.id) in self.retried_keys
        return (again or not self.seen.has_prompt(prompt)) and not self.is_too_old(prompt, stream)

    def has_handled(self, id: str) -> bool:
        """Whether the prompt with this id was handled or rejected, and is not being tried again."""
        return self.seen.has_id(id) and SeenPrompts.encode_id(id) not in self.retried_keys

    def retry_prompts(self, path: Path, ids: Sequence[str]) -> None:
        """Offer these prompts again; their transcript is read from its first byte. Durable when this returns.

        Raises OSError, LogDamagedError; then nothing has changed.
        """
        with self.lock:
            keys, now = list(map(SeenPrompts.encode_id, ids)), self.clock.now()
            self.log.append({"k": "retry", "at": now, "t": str(path), "ids": keys})
            self.log.flush()
            self.retried_keys.update(keys)
            self._reset_at(path, now)

    def _reset_at(self, path: Path, at: float) -> None:
        stream = self.get_cursor(path)
        self._set_back(stream)
        stream.logged_at, stream.saved_state = at, stream.get_state()

    def _set_back(self, stream: Cursor) -> None:
        stream.reset_to_start()
        self.moved.append(stream.path)

    def skip_to(self, stream: Cursor, position: Position) -> None:
        """Move the position past records without interest, in memory only. `save_positions` writes it; until then a
        crash costs only reading again."""
        with self.lock:
            stream.offset, stream.crc = position.offset, position.crc
        self.moved.append(stream.path)

    def drop_prompts(self, ids: Sequence[str]) -> None:
        """Count these prompts as handled, as a person asked. Durable when this returns."""
        with self.lock:
            keys = list(map(SeenPrompts.encode_id, ids))
            self.log.append({"k": "ids", "at": self.clock.now(), "ids": keys})
            self.log.flush()
            self._note_handled(keys)

    def reset_cursor(self, stream: Cursor) -> None:
        """Read another file at this path from its first byte. Handled prompts are still recognised."""
        with self.lock:
            self._set_back(stream)

    def commit(
        self,
        stream: Cursor,
        position: Position,
        prompts: Sequence[Prompt],
        data: Mapping[str, Any],
        epoch: int | None = None,
    ) -> Commit | None:
        """The handler is done up to `position`. With data or prompts, the record is durable when this returns, and the
        state changes only after that. Without them, the position moves in memory; `save_positions` writes it later.

        `epoch` is the cursor's when the work was offered. If the cursor was reset since, the data is kept and the
        position stays. Raises OSError, LogDamagedError; then nothing was committed.
        """
        with self.lock:
            # Trigger: `scan` or a replaced file set the cursor back while the handler worked. Why: the answer is paid for and
            # its prompts are the same, but the old offset means nothing now. Outcome: the data is kept, the position stays.
            stays = epoch not in (None, stream.epoch)
            at = stream.position if stays else position
            commit = None
            if data or prompts:
                keys = SeenPrompts.encode_prompts(prompts)
                record = self._make_record("TranscriptGrew", stream, at) | {
                    "a": at.offset,
                    "ids": keys,
                    "d": dict(data),
                }
                commit = self._commits.append_once(self.log, record)
                self._note_handled(keys)
            stream.offset, stream.crc, stream.handled_upto = at.offset, at.crc, at.offset
            self.moved.append(stream.path)
            if commit is not None:
                stream.saved_state, stream.logged_at = stream.get_state(), commit.at
            return commit

    def commit_event(
        self, event: str, stream: Cursor | None, name: str, data: Mapping[str, Any], mark: int | None = None
    ) -> Commit:
        """An event without records is handled: the end of a session (`mark`: `handled_upto` when it was offered), or a
        job (`name`: the job's). Raises OSError, LogDamagedError; then nothing was committed."""
        with self.lock:
            record = self._make_record(event, stream)
            record |= {"s": name, "d": dict(data)}
            if event == SessionEnded.stored_name and stream is not None:
                record["e"] = max(stream.end_handled_upto, stream.handled_upto if mark is None else mark)
            commit = self._commits.append_once(self.log, record)
            if stream is not None and event == SessionEnded.stored_name:
                stream.end_handled_upto = record["e"]
                stream.saved_state, stream.logged_at = stream.get_state(), commit.at
            if event == Due.stored_name:
                self.last_job_runs[name] = commit.at
            if event == Message.stored_name:
                self.handled_messages[name] = commit.at
            return commit

    def _make_record(self, event: str, stream: Cursor | None, at: Position | None = None) -> dict[str, Any]:
        now = self.clock.now()
        if stream is None:
            return {"k": "done", "at": now, "ev": event, "t": "", "o": -1}
        at = at or stream.position
        return {**make_position_record(stream, now), "k": "done", "ev": event, "o": at.offset, "c": at.crc}

    def save_positions(self) -> None:
        """Write positions that moved past records without interest. Raises OSError, LogDamagedError."""
        with self.lock:
            self._save_first_start()
            now = self.clock.now()
            moved = [one for one in self.cursors.list_live() if one.get_state() != one.saved_state]
            for stream in moved:
                self.log.append(make_position_record(stream, now))
            self.log.flush()
            for stream in moved:
                stream.saved_state, stream.logged_at = stream.get_state(), now

    def save_jobs(self) -> None:
        """Write the last success of the jobs whose runs leave no record, so that the next start continues their
        intervals. Called when the daemon stops; after a crash these intervals begin again. Raises OSError,
        LogDamagedError."""
        with self.lock:
            ran = {name: at for name, at in list(self.last_job_runs.items()) if self.is_frequent_job(name)}
            ran = {name: at for name, at in ran.items() if self._job_runs_saved.get(name) != at}
            for name, at in ran.items():
                self.log.append({"k": "job", "at": at, "s": name})
            self.log.flush()
            self._job_runs_saved |= ran

    def rewind_transcripts(self, paths: Sequence[Path], floor: float, only: Sequence[str] = ()) -> None:
        """Read these transcripts from their first byte again, for prompts not older than `floor` (`scan`), of the
        projects with the roots `only`; empty: of all. An earlier `scan` that asked for more still counts.
        """
        with self.lock:
            now = self.clock.now()
            for path in paths:
                self.log.append(
                    {"k": "rewind", "at": now, "t": str(path), "floor": floor, "only": list(only)}
                )
            self.log.flush()
            for path in paths:
                self._apply_rewind(path, floor, tuple(only), now)

    def _apply_rewind(self, path: Path, floor: float, only: tuple[str, ...], at: float) -> None:
        stream = self.get_cursor(path)
        self._set_back(stream)
        everything = not only or (stream.scan_since is not None and not stream.scan_projects)
        stream.scan_projects = () if everything else tuple(sorted({*stream.scan_projects, *only}))
        stream.scan_since = floor if stream.scan_since is None else min(floor, stream.scan_since)
        stream.logged_at, stream.saved_state = at, stream.get_state()


def _move_position(before: StoredPosition, record: Mapping[str, Any]) -> StoredPosition:
    """The position after a record. What it does not say stays, unless the transcript was read again."""
    offset = int(record["o"])
    again = offset < before.offset
    return StoredPosition(
        before.name,
        offset,
        int(record.get("c", 0)),
        int(record.get("a", -1 if again else before.handled_upto)),
        int(record.get("e", -1 if again else before.end_handled_upto)),
        float(record["at"]),
        record.get("s") or before.session,
        record.get("w") or before.cwd,
    )


def make_baseline_records(positions: Iterable[tuple[str, Position]], at: float) -> Iterator[dict[str, Any]]:
    """The records of transcripts that count as read."""
    rest = iter(positions)
    while part := {path: (p.offset, p.crc) for path, p in islice(rest, 500)}:
        yield {"k": "base", "at": at, "p": part}


def make_position_record(stream: Cursor | StoredPosition, at: float) -> dict[str, Any]:
    """The record of a handler's position in one transcript."""
    record = {
        "k": "at",
        "at": at,
        "t": stream.name,
        "s": stream.session,
        "w": stream.cwd,
        "o": stream.offset,
        "c": stream.crc,
        "a": stream.handled_upto,
        "e": stream.end_handled_upto,
    }
    if isinstance(stream, StoredPosition) or stream.scan_since is None:
        return record
    return record | {"f": stream.scan_since, "fo": list(stream.scan_projects)}
