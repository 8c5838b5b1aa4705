"""One handler's place in the log that the transcripts are: its positions, what it has seen, what it did.

A consumer owns one log, `handlers/<name>/log.jsonl` in the state directory. Each record in it is a commit, written
once: how far the handler got in one transcript, and the data of what it did, together. Nothing here decides
when something is offered (`dispatch.py`), reads a transcript (`transcripts/`), or makes a long log short
(`compaction.py`).

Records of the log, all with `at` (seconds since 1970, UTC). A transcript `t` has a session `s`, a directory `w`, the
position `o` (offset) and `c` (mark); `a`, `e`, `f` and `fo` are `Stream.acted`,
`.ended`, `.floor` and `.only`:

    {"k":"base","p":{path:[offset,mark],…}}         taken as read without being read
    {"k":"born"}                                    the first start is complete: what is older is not paid for
    {"k":"done","ev","t","s","w","o","c","a","e","ids","d"}   handled; `ids` are the prompts, `d` the handler's data
    {"k":"at","t","s","w","o","c","a","e","f"}      nothing more of interest up to `o`
    {"k":"rewind","t","floor","only"}               `scan` asked for the past
    {"k":"retry","t","ids"}                         a person has these prompts tried again
    {"k":"ids"}, {"k":"job"}, {"k":"told"}, {"k":"kept"}   what a compaction wrote
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loguru import logger

from tacitd.clock import Clock
from tacitd.commits import Commits, commit_of
from tacitd.events import Prompt, Record
from tacitd.files.log import Log
from tacitd.handler import Commit, Handler, Slice
from tacitd.pathnames import name_of, path_of
from tacitd.transcripts.dedupe import Seen
from tacitd.transcripts.position import Position

GRACE = 60.0
"""Seconds by which a record may be older than the first start and still count as new: a record bears the time
at which Enter was pressed, and appears in the file later."""


OFTEN = 3600.0
"""Seconds: a run of a job with a shorter interval leaves no record if it did nothing. `save_jobs` keeps the last one."""
TELL = "tell"
"""The key of a commit's data under which findings for other handlers stand, by their names."""
_NOWHERE = Position(-1, 0)


@dataclass(slots=True)
class Stream:
    """One transcript, as one handler sees it. Changed under its consumer's lock only."""

    path: Path
    offset: int = 0
    crc: int = 0
    session: str = ""
    cwd: str = ""
    acted: int = -1
    """The offset up to which the handler did something; -1: all of it was only ever taken as read."""
    ended: int = -1
    """The value of `acted` for which the end of the session was handled."""
    floor: float | None = None
    """`scan` asked for what is younger than this; None: what is younger than the first start counts."""
    only: tuple[str, ...] = ()
    """Roots of the projects that `scan` asked for; empty: of all."""
    copies: bool = False
    """Its client copies histories with new uuids (up to 1.0.83): known words are known by their text."""
    epoch: int = 0
    """Counts how often the position was set back: an answer to what was offered before must not move it."""
    touched: float = 0.0
    """When the log last spoke of it: seconds since 1970, UTC."""
    saved: tuple[int, int, int] = (0, 0, -1)
    """(offset, mark, acted) as the log knows them."""

    @property
    def position(self) -> Position:
        """Where the handler stands."""
        return Position(self.offset, self.crc)

    @property
    def unended(self) -> bool:
        """Whether the handler did something since it last heard of the session's end."""
        return self.acted > self.ended

    def moved(self) -> tuple[int, int, int]:
        """What `saved` is compared with."""
        return self.offset, self.crc, self.acted

    def set_back(self) -> None:
        """Read it from its first byte again."""
        self.offset = self.crc = 0
        self.acted = self.ended = -1
        self.epoch += 1


@dataclass(slots=True)
class Consumer:
    """A handler with its log. Its methods may be called from any thread."""

    slice: Slice
    handler: Handler
    log: Log
    clock: Clock
    streams: dict[Path, Stream] = field(default_factory=dict)
    seen: Seen = field(default_factory=Seen)
    born: float | None = None
    jobs: dict[str, float] = field(default_factory=dict)
    """When each job last succeeded: seconds since 1970, UTC."""
    told: set[str] = field(default_factory=set)
    """Findings of others that were handled, by id."""
    retried: set[str] = field(default_factory=set)
    """`Seen.key` of prompts that were rejected and that a person has tried again: new until they are handled."""
    tells: list[Commit] = field(default_factory=list)
    """Commits, as they were read, that have findings for others."""
    skipped: int = 0
    """Records of the log that could not be understood."""
    lock: threading.RLock = field(default_factory=threading.RLock)
    _commits: Commits = field(default_factory=Commits)
    _born_saved: bool = True
    _jobs_saved: dict[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The slice's."""
        return self.slice.name

    # from the log

    def read(self) -> Iterator[Commit]:
        """Fold the log, and hand out the commits that carry data, oldest first. Call once, before all else, and
        exhaust it: what is not read is not known."""
        for record in self.log.read():
            try:
                commit = self._fold(record)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                self.skipped += 1
                logger.warning("{}: a record is left out: {}", self.log.path, type(error).__name__)
                continue
            if commit is not None and commit.data:
                if TELL in commit.data:
                    self.tells.append(commit)
                yield commit

    def _fold(self, record: Mapping[str, Any]) -> Commit | None:
        match record.get("k"):
            case "born":
                self.born = float(record["at"])
            case "base":
                for name, (offset, crc) in record["p"].items():
                    self._based(path_of(name), int(offset), int(crc), float(record["at"]))
            case "rewind":
                only = tuple(map(str, record.get("only", ())))
                self._rewound(path_of(record["t"]), float(record["floor"]), only, float(record["at"]))
            case "at":
                self._move(record)
            case "ids":
                self._handled(record["ids"])
            case "retry":
                self.retried.update(map(str, record["ids"]))
                if record.get("t"):
                    self._set_back(path_of(record["t"]), float(record["at"]))
            case "job":
                self.jobs[str(record["s"])] = self._jobs_saved[str(record["s"])] = float(record["at"])
            case "told":
                self.told.update(map(str, record["ids"]))
            case "kept":
                return commit_of(record)
            case "done":
                return self._fold_done(record)
            case _:
                pass  # a newer version's record: what it says is not ours to judge
        return None

    def _fold_done(self, record: Mapping[str, Any]) -> Commit:
        commit = commit_of(record)
        self._handled(record.get("ids", ()))
        if commit.event == "Due":
            self.jobs[commit.session] = commit.at
        if commit.event == "Told":
            self.told.add(commit.session)
        if commit.transcript:
            self._move(record)
        return commit

    def _handled(self, keys: Sequence[str]) -> None:
        self.seen.load(keys)
        self.retried.difference_update(keys)

    def _move(self, record: Mapping[str, Any]) -> Stream:
        """What a record says of its transcript. One that lies before what was known means: read again."""
        stream = self.stream(path_of(record["t"]))
        offset = int(record["o"])
        if offset < stream.offset:
            stream.set_back()
        stream.offset, stream.crc, stream.touched = offset, int(record.get("c", 0)), float(record["at"])
        stream.session = record.get("s") or stream.session
        stream.cwd = record.get("w") or stream.cwd
        stream.acted = int(record.get("a", stream.acted))
        stream.ended = int(record.get("e", stream.ended))
        stream.floor = record.get("f", stream.floor)
        stream.only = tuple(map(str, record.get("fo", stream.only)))
        stream.saved = stream.moved()
        return stream

    def often(self, job: str) -> bool:
        """Whether a job comes round so often that its last time is not worth a record: a start begins it anew."""
        return any(one.name == job and one.every < OFTEN for one in self.slice.jobs)

    # positions

    def begin(self, positions: Mapping[Path, Position]) -> None:
        """The first start: take what is there as read, and keep the time. Durable when it returns; a crash before
        that leaves no first start at all."""
        with self.lock:
            now = self.clock.now()
            items = list(positions.items())
            for i in range(0, len(items), 500):
                part = {name_of(path): [p.offset, p.crc] for path, p in items[i : i + 500]}
                self.log.append({"k": "base", "at": now, "p": part})
            self.log.append({"k": "born", "at": now})
            self.log.flush()
            self.born = now
            for path, p in items:
                self._based(path, p.offset, p.crc, now)

    def reborn(self) -> None:
        """The clock says that the first start is yet to come: it was wrong then, or is wrong now. What is typed from now
        on counts as new, because else nothing would be learned any more, and nobody would know why.

        Raises OSError, LogDamagedError.
        """
        with self.lock:
            now = self.clock.now()
            if self.born is not None and now < self.born:
                # At once: what is typed while it cannot be written down would be passed by as too old.
                self.born, self._born_saved = now, False
            self._save_born()

    def _save_born(self) -> None:
        if not self._born_saved:
            self.log.append({"k": "born", "at": self.born})
            self.log.flush()
            self._born_saved = True

    def _based(self, path: Path, offset: int, crc: int, at: float) -> None:
        self.streams[path] = Stream(path, offset, crc, touched=at, saved=(offset, crc, -1))

    def stream(self, path: Path) -> Stream:
        """The stream of a transcript; a new one starts at its first byte."""
        with self.lock:
            return self.streams.setdefault(path, Stream(path))

    def stands(self, path: Path) -> int:
        """The offset up to which a transcript is handled, without remembering that it was asked for."""
        stream = self.streams.get(path)
        return stream.offset if stream is not None else 0

    def too_old(self, one: Prompt | Record, stream: Stream) -> bool:
        """Whether a handler that pays must skip this, because it is from before the first start."""
        if not self.slice.pays or one.time is None:
            return False
        floor = stream.floor if stream.floor is not None else self._first
        return one.time < floor

    def past(self, prompt: Prompt, stream: Stream, root: str) -> bool:
        """Whether a prompt is from before the first start, and no `scan` asked for its project's."""
        old = self.slice.pays and prompt.time is not None and prompt.time < self._first
        return old and bool(stream.only) and root not in stream.only

    @property
    def _first(self) -> float:
        return (self.born or 0.0) - GRACE

    def wants(self, prompt: Prompt, stream: Stream) -> bool:
        """Whether a prompt is new to the handler, and may be paid for."""
        again = bool(self.retried) and Seen.key(prompt.id) in self.retried
        return (again or not self.seen.has(prompt, stream.copies)) and not self.too_old(prompt, stream)

    def handled(self, id: str) -> bool:
        """Whether the prompt with this id was handled or rejected, and nobody has it tried again."""
        return self.seen.knows(id) and Seen.key(id) not in self.retried

    def retry(self, path: Path, ids: Sequence[str]) -> None:
        """Offer these prompts of a transcript again, which is read from its first byte for that. Durable when it returns.

        Raises OSError, LogDamagedError: then nothing has changed.
        """
        with self.lock:
            keys, now = list(map(Seen.key, ids)), self.clock.now()
            self.log.append({"k": "retry", "at": now, "t": name_of(path), "ids": keys})
            self.log.flush()
            self.retried.update(keys)
            self._set_back(path, now)

    def _set_back(self, path: Path, at: float) -> None:
        stream = self.stream(path)
        stream.set_back()
        stream.touched, stream.saved = at, stream.moved()

    def skip(self, stream: Stream, position: Position) -> None:
        """Nothing up to there is for this handler. Moves in memory; `save` writes it: reading again costs nothing."""
        with self.lock:
            stream.offset, stream.crc = position.offset, position.crc

    def forget(self, ids: Sequence[str]) -> None:
        """These prompts count as handled, because a person said so. Durable when it returns."""
        with self.lock:
            keys = list(map(Seen.key, ids))
            self.log.append({"k": "ids", "at": self.clock.now(), "ids": keys})
            self.log.flush()
            self._handled(keys)

    def set_back(self, stream: Stream) -> None:
        """The file is another one: read it from its first byte. What is known of its prompts stays known."""
        with self.lock:
            stream.set_back()

    def commit(
        self,
        stream: Stream,
        position: Position,
        prompts: Sequence[Prompt],
        data: Mapping[str, Any],
        epoch: int | None = None,
    ) -> Commit | None:
        """The handler is done up to `position`. With data or prompts, a record is durable when this returns, and only
        then does anything change; without, the position moves in memory and `save` writes it some time later.

        `epoch` is the stream's when the work was offered: where it was set back since, what was done is kept and the
        position stays. Raises OSError, LogDamagedError: then nothing was committed.
        """
        with self.lock:
            stays = epoch not in (None, stream.epoch)
            at = stream.position if stays else position
            commit = None
            if data or prompts:
                keys = Seen.keys(prompts, stream.copies)
                record = self._record("TranscriptGrew", stream, at) | {
                    "a": at.offset,
                    "ids": keys,
                    "d": dict(data),
                }
                commit = self._commits.add(self.log, record)
                self._handled(keys)
            stream.offset, stream.crc, stream.acted = at.offset, at.crc, at.offset
            if commit is not None:
                stream.saved, stream.touched = stream.moved(), commit.at
            return commit

    def finish(
        self, event: str, stream: Stream | None, name: str, data: Mapping[str, Any], mark: int | None = None
    ) -> Commit:
        """An event without records is handled: an ended session (`mark`: what the handler had done of it when it was
        told), a job (`name` is the job's). Raises OSError, LogDamagedError: then nothing was committed."""
        with self.lock:
            record = self._record(event, stream, stream.position if stream else _NOWHERE)
            record |= {"s": name, "d": dict(data)}
            if event == "SessionEnded" and stream is not None:
                record["e"] = max(stream.ended, stream.acted if mark is None else mark)
            commit = self._commits.add(self.log, record)
            if stream is not None and event == "SessionEnded":
                stream.ended = record["e"]
                stream.saved, stream.touched = stream.moved(), commit.at
            if event == "Due":
                self.jobs[name] = commit.at
            if event == "Told":
                self.told.add(name)
            return commit

    def _record(self, event: str, stream: Stream | None, at: Position) -> dict[str, Any]:
        now = self.clock.now()
        if stream is None:
            return {"k": "done", "at": now, "ev": event, "t": "", "o": -1}
        return {**standing(stream, now), "k": "done", "ev": event, "o": at.offset, "c": at.crc}

    def save(self) -> None:
        """Write positions that moved past things of no interest. Raises OSError, LogDamagedError."""
        with self.lock:
            self._save_born()
            now = self.clock.now()
            moved = [stream for stream in self.streams.values() if stream.moved() != stream.saved]
            for stream in moved:
                self.log.append(standing(stream, now))
            self.log.flush()
            for stream in moved:
                stream.saved, stream.touched = stream.moved(), now

    def save_jobs(self) -> None:
        """Write when the jobs without a record of their own last succeeded, so that the next start continues their
        intervals. For the end of the daemon: a crash begins those intervals anew. Raises OSError, LogDamagedError."""
        with self.lock:
            ran = {name: at for name, at in list(self.jobs.items()) if self.often(name)}
            ran = {name: at for name, at in ran.items() if self._jobs_saved.get(name) != at}
            for name, at in ran.items():
                self.log.append({"k": "job", "at": at, "s": name})
            self.log.flush()
            self._jobs_saved |= ran

    def rewind(self, paths: Sequence[Path], floor: float, only: Sequence[str] = ()) -> None:
        """Read these transcripts from their first byte again, for prompts not older than `floor` (`scan`), of the
        projects with these roots; empty: of all.

        Where an earlier `scan` asked for more, that still counts.
        """
        with self.lock:
            now = self.clock.now()
            for path in paths:
                self.log.append(
                    {"k": "rewind", "at": now, "t": name_of(path), "floor": floor, "only": list(only)}
                )
            self.log.flush()
            for path in paths:
                self._rewound(path, floor, tuple(only), now)

    def _rewound(self, path: Path, floor: float, only: tuple[str, ...], at: float) -> None:
        stream = self.stream(path)
        stream.set_back()
        everything = not only or (stream.floor is not None and not stream.only)
        stream.only = () if everything else tuple(sorted({*stream.only, *only}))
        stream.floor = floor if stream.floor is None else min(floor, stream.floor)
        stream.touched, stream.saved = at, stream.moved()


def standing(stream: Stream, at: float) -> dict[str, Any]:
    """The record of where a handler stands in one transcript."""
    return {
        "k": "at",
        "at": at,
        "t": name_of(stream.path),
        "s": stream.session,
        "w": stream.cwd,
        "o": stream.offset,
        "c": stream.crc,
        "a": stream.acted,
        "e": stream.ended,
    } | ({"f": stream.floor, "fo": list(stream.only)} if stream.floor is not None else {})
