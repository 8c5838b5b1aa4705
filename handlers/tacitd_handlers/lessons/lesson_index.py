"""index.json: the lines of the active lessons by scope, and the stamp of the log they were made from (SPEC E-20).

The index is derived: the log wins. It is valid only if its first line equals, byte for byte, the one for the log as
it is now, and if the checksum of the rest is right. Otherwise (another log, an older one, an edited file) it is
rebuilt. The format is JSON with one lesson per line, so that `lesson load` reads it without a JSON parser, and `grep`
works on it.

    {"version":1,"log":[size,mtime_ns,ctime_ns,inode],
    "sum":crc32 of everything below,
    "counts":{"active":2,"deleted":1,"promoted":0,"other":0,"ai":1,"user":1,"strays":0,"last":3,"bad":0},
    "scopes":{
    "global":[
    ["001","- WHEN … [firm]"]
    ],
    …

For a fast start this module imports no pathlib, and json only if a line contains a backslash.
"""

# pathlib takes longer to import than the lessons take to load.
# ruff: noqa: PTH116

from __future__ import annotations

import os
from zlib import crc32

from tacitd_handlers.lessons.load_output import line_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tacitd_handlers.lessons.lesson_fold import FoldedLessons

LIMIT = 64 << 20
"""Maximum bytes, about 400,000 lessons. A longer index is not stored; each load then reads the log."""


_EMPTY = (
    b'"counts":{"active":0,"deleted":0,"promoted":0,"other":0,"ai":0,"user":0,"strays":0,"last":0,"bad":0},\n'
    b'"scopes":{\n\n}}\n'
)
"""What is below the sum in the index of no lessons."""


class LessonIndex:
    """An index that matches the log at one moment. Rows are cut out of its bytes on demand."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def bind_to_log(self, log: os.stat_result) -> bytes | None:
        """The bytes to store, with the stamp of the log; None if they are too long."""
        if len(self._body) > LIMIT - 1000:
            return None
        return format_header(log) + b'"sum":%d,\n' % crc32(self._body) + self._body

    def rows_of_scope(self, scope: str) -> list[tuple[str, str]]:
        """The (id, line) pairs of a scope's active lessons, by id; [] if there are none."""
        begin = self._body.find(b"\n" + _quoted(scope) + b":[\n")
        if begin < 0:
            return []
        begin = self._body.index(b"[\n", begin) + 2
        section = self._body[begin : self._body.index(b"\n]", begin)]
        if b"\\" in section:
            import json

            return [(str(id), str(line)) for id, line in json.loads(b"[" + section + b"]")]
        return [_row(line) for line in section.decode("utf-8").split("\n")]

    def list_scopes(self) -> list[str]:
        """Every scope with an active lesson."""
        import json

        begin = self._body.index(b'"scopes":{\n') + 11
        ends = (line for line in self._body[begin:].split(b"\n") if line.endswith(b":["))
        return [str(json.loads(line[:-2])) for line in ends]

    def list_project_scopes(self) -> list[str]:
        """Every project's scope with an active lesson: `app-1a2b3c4d`. Without a JSON parser, for a fast start."""
        found: list[str] = []
        end = self._body.find(b'":[\n')
        while end >= 0:
            begin = self._body.rfind(b"\n", 0, end) + 2
            name, dash, digits = self._body[begin:end].rpartition(b"-")
            if name and dash and len(digits) == 8 and not digits.strip(b"0123456789abcdef"):
                found.append(self._body[begin:end].decode("utf-8", "replace"))
            end = self._body.find(b'":[\n', end + 1)
        return found

    def read_counts(self) -> dict[str, int]:
        """The number of lessons of each kind."""
        import json

        begin = self._body.index(b'"counts":') + 9
        counted: dict[str, int] = json.loads(self._body[begin : self._body.index(b"}", begin) + 1])
        return counted


def format_header(log: os.stat_result | None) -> bytes:
    """The first line of the index for this log, or for no log (None)."""
    stamp = (log.st_size, log.st_mtime_ns, log.st_ctime_ns, log.st_ino) if log is not None else (0, 0, 0, 0)
    return b'{"version":1,"log":[%d,%d,%d,%d],\n' % stamp


def stat_log(log: str) -> os.stat_result | None:
    """The log's stat, following links; None if it does not exist. Raises other OSErrors."""
    try:
        return os.stat(log)
    except (FileNotFoundError, NotADirectoryError):
        return None


def read_index(log: str, index: str) -> LessonIndex | None:
    """The index if it matches the log as it is now, otherwise None."""
    first = format_header(stat_log(log))
    try:
        data = _bytes(index)
    except OSError:
        return None
    end = data.find(b"\n", len(first) + 1)
    if not data.startswith(first) or end < 0:
        return None
    body = data[end + 1 :]
    return LessonIndex(body) if data[len(first) : end] == b'"sum":%d,' % crc32(body) else None


def read_missing(log: str) -> LessonIndex | None:
    """The index of no lessons if the log does not exist, otherwise None. Raises OSError except FileNotFoundError."""
    try:
        os.stat(log)
    except FileNotFoundError:
        return LessonIndex(_EMPTY)
    return None


def build_index(folded: FoldedLessons, bad: int) -> LessonIndex:
    """Build the index of these lessons in memory. `bad`: the number of lines of the log that are not records."""
    import json

    say = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    scopes: dict[str, list[str]] = {}
    for lesson in folded.list_active():
        row = say([lesson.id, line_of(lesson.text, firm=lesson.is_firm)])
        scopes.setdefault(lesson.scope, []).append(row)
    parts = [f"{say(scope)}:[\n" + ",\n".join(rows) + "\n]" for scope, rows in sorted(scopes.items())]
    counts = say(_counts(folded) | {"bad": bad})
    text = f'"counts":{counts},\n"scopes":{{\n' + ",\n".join(parts) + "\n}}\n"
    return LessonIndex(text.encode("utf-8", "replace"))


def _counts(folded: FoldedLessons) -> dict[str, int]:
    counted = {"active": 0, "deleted": 0, "promoted": 0, "other": 0, "ai": 0, "user": 0}
    for lesson in folded.lessons.values():
        counted[lesson.status if lesson.status in ("active", "deleted", "promoted") else "other"] += 1
        if lesson.is_active and lesson.source in ("ai", "user"):
            counted[lesson.source] += 1
    return counted | {"strays": folded.strays, "last": folded.last}


def _bytes(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # O_NONBLOCK: a FIFO does not block
    try:
        return os.read(fd, min(os.fstat(fd).st_size, LIMIT) + 1)
    finally:
        os.close(fd)


def _row(line: str) -> tuple[str, str]:
    """Split `["002","- WHEN …"],` without a parser; it contains no backslash."""
    id, _, rest = line[2:].partition('","')
    return id, rest[: rest.rindex('"')]


def _quoted(scope: str) -> bytes:
    if '"' in scope or "\\" in scope or not scope.isprintable():
        import json

        return json.dumps(scope, ensure_ascii=False).encode("utf-8", "replace")
    return b'"' + scope.encode("utf-8", "replace") + b'"'
