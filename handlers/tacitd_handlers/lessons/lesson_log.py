"""lessons.jsonl: what its records mean, and how they are read and appended (SPEC E-20 to E-25).

A record is one line of JSON. Later keys of an id override earlier ones, and the log is never pruned:

    {"id":"002","scope":"tmux","from":"ai","status":"active","created":"2024-02-10","when":…,"action":"do","do":…,"because":…}
    {"id":"002","scope":"tmux","from":"ai","status":"deleted","updated":"2024-02-11","reason":"too specific"}

A change holds the log's own lock: read, decide, append, sync. So ids have no gaps and are never reused. Records of other
writers are tolerated, and no line is ever lost: unknown keys stay in it, and what makes no lesson is counted and left alone.
index.json is made from the log with each change, for people and other programs; tacitd reads the log alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from tacitd.clock import Clock, SystemClock, local_date
from tacitd.files.disk import DISK, Disk, read_all
from tacitd.state.paths import config_dir
from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.sanitize import sanitize_line
from tacitd.text.wording import count_noun
from tacitd_handlers.lessons.pattern import FIRM, GLOBAL, Pattern, format_pattern

if TYPE_CHECKING:
    from tacitd.files.append_file import HeldFile

LOG, INDEX, PROMOTED_DIR = "lessons.jsonl", "index.json", "promoted"
KEYS = (
    "id", "scope", "from", "status", "created", "updated", "when", "action", "do", "because", "reason", "promoted_to",
)  # fmt: skip
"""The seed's keys, in the order of its records (SPEC E-25)."""
_TEXT_KEYS = {"created", "when", "action", "do", "because"}
"""What the record of a lesson that is no longer active leaves out, as in the seed's sample."""
ACTIVE, DELETED, PROMOTED, WAITING = "active", "deleted", "promoted", "waiting"
"""The seed's three, and one that only people see."""
BLANK = "[forgotten]"
"""What replaces the words of a lesson after `tacitd forget --purge`."""
PURGED = "purged "
"""How the reason of a purged lesson begins; digests of what it said follow."""
DIGITS = 12
"""Maximum digits of an id. A longer one would use up all numbers below it."""
_ID = compile_lazily(rf'"id"\s*:\s*"?(\d{{1,{DIGITS}}})\b')


class Lesson(NamedTuple):
    """The state of a lesson. Dates are local ISO dates (SPEC E-24), "" for none."""

    id: str
    scope: str
    source: str
    """The record's `from`: ai or user."""
    status: str
    created: str
    parts: Pattern
    updated: str = ""
    reason: str = ""
    promoted_to: str = ""

    @property
    def text(self) -> str:
        return format_pattern(self.parts)

    @property
    def line(self) -> str:
        return f"- {self.text}{FIRM if self.is_firm else ''}"

    @property
    def is_active(self) -> bool:
        return self.status == ACTIVE

    @property
    def is_firm(self) -> bool:
        return self.source == "user"

    @property
    def is_ours(self) -> bool:
        """Whether an agent or the daemon made it, and no person changed it since."""
        return not self.is_firm and not self.updated

    @property
    def state(self) -> str:
        """The status as people see it. An agent added one that waits, and it may not be loaded unless a person accepts it: its first
        record has the status `deleted` with the reason. A lesson that a person deleted has a date of that."""
        return WAITING if self.status == DELETED and self.is_ours and self.reason else self.status

    @property
    def is_purged(self) -> bool:
        return BLANK in (self.parts.when, self.parts.do)

    @property
    def digests(self) -> list[str]:
        """Digests of what a purged lesson said; none for others, and for one that may be drafted again."""
        return self.reason.split()[1:] if self.is_purged and self.reason.startswith(PURGED) else []

    def to_record(self) -> dict[str, Any]:
        """The lesson as one record, keys in the seed's order, without empty values."""
        values = (*self[:5], self.updated, *self.parts, self.reason, self.promoted_to)
        return {key: value for key, value in zip(KEYS, values, strict=True) if value != ""}


class Lessons(NamedTuple):
    all: Mapping[str, Lesson]
    """By id, in the order of their numbers."""
    last: int
    """The highest id of any line, also of a damaged one: a person may repair it (SPEC E-22)."""
    odd: int
    """Lines of which no lesson is made."""

    def get(self, id: str) -> Lesson | None:
        """The lesson with this id; `2` and `002` are equal (SPEC E-19)."""
        number = number_of(id)
        return self.all.get(name_of(number)) if number is not None else None

    def list_active(self) -> list[Lesson]:
        return [lesson for lesson in self.all.values() if lesson.is_active]


def trace_log(data: bytes) -> Iterator[Lesson | None]:
    """What each line makes of its lesson; None for one that is no record, or while its id does not have all parts of a lesson."""
    records: dict[int, dict[str, Any]] = {}
    for line in filter(bytes.strip, data.split(b"\n")):
        record = decode_record(line)
        number = number_of(record.get("id"))
        if number is not None:
            records[number] = record = records.get(number, {}) | record
        yield None if number is None else _make_lesson(name_of(number), record)


def fold_log(data: bytes) -> Lessons:
    traced = list(trace_log(data))
    found = {int(one.id): one for one in traced if one is not None}
    all = {name_of(number): found[number] for number in sorted(found)}
    # Also ids of damaged lines, but not of a torn last line, whose id was never reported to anyone.
    ids = _ID.findall(data.rpartition(b"\n")[0].decode("utf-8", "replace"))
    return Lessons(all, max((*found, *map(int, ids)), default=0), traced.count(None))


def _make_lesson(id: str, record: Mapping[str, Any]) -> Lesson | None:
    texts = {key: sanitize_line(record[key]) for key in KEYS if isinstance(record.get(key), str)}
    action = texts.get("action")
    if not all(texts.get(key) for key in ("when", "do", "because")) or action not in ("do", "dont"):
        return None
    return Lesson(
        id,
        texts.get("scope", "").lower() or GLOBAL,
        texts.get("from") or "ai",
        texts.get("status") or ACTIVE,
        texts.get("created", ""),
        Pattern(texts["when"], "do" if action == "do" else "dont", texts["do"], texts["because"]),
        texts.get("updated", ""),
        texts.get("reason", ""),
        texts.get("promoted_to", ""),
    )


def number_of(id: object) -> int | None:
    """The number of an id, given as digits or as an integer; None for anything else."""
    text = str(id)
    if not isinstance(id, str | int) or not (text.isascii() and text.isdigit()) or len(text) > DIGITS:
        return None
    return int(text) or None


def name_of(number: int) -> str:
    return f"{number:03d}"


def decode_record(line: bytes) -> dict[str, Any]:
    """The record of a line; {} if it is not a JSON object."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def encode_record(record: Mapping[str, Any], indent: int | None = None) -> bytes:
    """A record as compact JSON in UTF-8, without a newline at its end."""
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"), indent=indent)
    return re.sub("[\ud800-\udfff]", "\ufffd", text).encode()


class LessonLog:
    """The lessons of one directory. Safe with any number of processes."""

    def __init__(self, directory: Path, clock: Clock | None = None, disk: Disk = DISK) -> None:
        self.directory = directory
        self.path = directory / LOG
        self.clock = clock or SystemClock()
        self.disk = disk

    @classmethod
    def from_environ(cls, env: Mapping[str, str], clock: Clock | None = None) -> Self:
        """Those of `~/.claude/lessons`, or of the `lessons` folder of CLAUDE_CONFIG_DIR."""
        return cls(config_dir(env) / "lessons", clock)

    @property
    def today(self) -> str:
        return local_date(self.clock.now())

    def read(self) -> bytes:
        """The log's bytes; none if there is no log. Raises OSError."""
        try:
            fd = self.disk.open_read(self.path)
        except FileNotFoundError:
            return b""
        try:
            return read_all(fd, self.disk)
        except OSError as error:
            error.filename = error.filename or str(self.path)  # that of `pread` has none
            raise
        finally:
            self.disk.close(fd)

    def read_lessons(self) -> Lessons:
        return fold_log(self.read())

    def describe_odd(self, odd: int) -> str:
        return f"{count_noun(odd, 'line')} of {self.path} make no lesson and are skipped"

    @contextmanager
    def begin_change(self) -> Iterator[LogChange]:
        """Hold the lock and read the log. After the block, make index.json again, which may be stale.

        Raises OSError or FileRefusedError if the log cannot be written. That the index cannot be written stops nothing.
        """
        from tacitd.errors import FileRefusedError
        from tacitd.files.append_file import hold_file
        from tacitd.files.atomic import replace_file
        from tacitd.files.write_checks import refuse_other_name

        for path in (self.path, self.directory / INDEX):
            refuse_other_name(path, self.disk.resolve(path))
        with hold_file(self.path, self.disk) as file:
            yield LogChange(file, fold_log(file.read()))
            with suppress(OSError, FileRefusedError):
                index = build_index(self.read_lessons())
                replace_file(self.directory / INDEX, index, mode=0o600, disk=self.disk)


class LogChange:
    def __init__(self, file: HeldFile, lessons: Lessons) -> None:
        self.lessons = lessons
        self._file = file

    def next_id(self) -> str:
        return name_of(self.lessons.last + 1)

    def append(self, lesson: Lesson) -> Lesson:
        """Append a record of the lesson, durably, and return the lesson. It has the text if the lesson is new or active; an earlier
        reason that the lesson has no more is emptied. Raises OSError."""
        old = self.lessons.all.get(lesson.id)
        record = lesson.to_record()
        if old is not None:
            record |= {"reason": ""} if old.reason and not lesson.reason else {}
            if not lesson.is_active:
                record = {key: value for key, value in record.items() if key not in _TEXT_KEYS}
        self._file.append(encode_record(record) + b"\n")
        known = {**self.lessons.all, lesson.id: lesson}
        self.lessons = self.lessons._replace(all=known, last=max(self.lessons.last, int(lesson.id)))
        return lesson


def build_index(lessons: Lessons) -> bytes:
    """index.json: the patterns of the active lessons by id, and these by scope; one on each line, so that `grep` works."""
    scopes: dict[str, dict[str, str]] = {}
    for lesson in lessons.list_active():
        scopes.setdefault(lesson.scope, {})[lesson.id] = lesson.text
    return encode_record(scopes, indent=1) + b"\n"
