"""A handler's position in each transcript, in little memory.

After a year a handler knows 20,000 transcripts and works on a dozen. An object for each of them takes 500 bytes, and every
handler has its own; packed it is 150 bytes or less, and what all handlers have in common is in one dictionary. A cursor is
unpacked when it is asked for, and stays so.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from tacitd.sources.position import Position

_FIELDS = struct.Struct("<qqqqqI")
"""Offset, mark, `handled_upto`, `end_handled_upto`, `logged_at`, and the length of the session, which follows, then the directory."""
_OFFSET = struct.Struct("<q")
_UNHANDLED = struct.pack("<qq", -1, -1)
"""`handled_upto` and `end_handled_upto`."""


class Cursor(Struct):
    """A handler's position and state in one transcript. Changed under its consumer's lock only."""

    path: Path
    offset: int = 0
    crc: int = 0
    session: str = ""
    cwd: str = ""
    handled_upto: int = -1
    """The offset up to which the handler did something; -1 if it did nothing so far."""
    end_handled_upto: int = -1
    """The value of `handled_upto` for which the end of the session was handled."""
    scan_since: float | None = None
    """`scan` asked for prompts since this time; None: prompts since the first start count."""
    scan_projects: tuple[str, ...] = ()
    """Roots of the projects that `scan` asked for; empty: of all."""
    epoch: int = 0
    """How often the position was reset. The outcome of work that was offered before a reset must not move it."""
    logged_at: float = 0.0
    """The time of its last record in the log: seconds since 1970, UTC."""
    saved_state: tuple[int, int, int] = (0, 0, -1)
    """(offset, mark, `handled_upto`) as they are in the log."""

    @property
    def name(self) -> str:
        """The transcript's path as text."""
        return str(self.path)

    @property
    def position(self) -> Position:
        """The handler's position."""
        return Position(self.offset, self.crc)

    @property
    def has_unhandled_end(self) -> bool:
        """Whether the handler did something since it last handled an end of the session."""
        return self.handled_upto > self.end_handled_upto

    def get_state(self) -> tuple[int, int, int]:
        """The values that `saved_state` is compared with."""
        return self.offset, self.crc, self.handled_upto

    def reset_to_start(self) -> None:
        """Set the position back to the first byte."""
        self.offset = self.crc = 0
        self.handled_upto = self.end_handled_upto = -1
        self.epoch += 1


class StoredPosition(Struct, frozen=True):
    """A handler's position in one transcript as its log has it, without a `Path`, of which a start would make thousands."""

    name: str
    """The transcript's path."""
    offset: int = 0
    crc: int = 0
    handled_upto: int = -1
    end_handled_upto: int = -1
    at: float = 0.0
    """The time of its last record: seconds since 1970, UTC."""
    session: str = ""
    cwd: str = ""


class CursorTable:
    """The cursors of one handler by transcript. Used under its consumer's lock, except `get_offset`."""

    def __init__(self, tables: list[CursorTable] | None = None) -> None:
        """`tables`: those of all handlers, to which this one is added."""
        self._tables = [] if tables is None else tables
        self._tables.append(self)
        self._live: dict[str, Cursor] = {}
        self._packed: dict[str, bytes] = {}
        self._common: Mapping[str, bytes] = MappingProxyType({})
        """What all handlers had in common at the start. Those that are in `_live` or `_packed` changed since."""

    def __len__(self) -> int:
        return len(self._live) + sum(1 for _ in self._iter_packed())

    def __contains__(self, path: Path) -> bool:
        key = str(path)
        return key in self._live or key in self._packed or key in self._common

    def _iter_packed(self) -> Iterator[tuple[str, bytes]]:
        yield from list(self._packed.items())
        own = {*self._packed, *self._live}
        yield from ((key, packed) for key, packed in self._common.items() if key not in own)

    def find_cursor(self, path: Path) -> Cursor | None:
        """The cursor of a transcript; None if there is none."""
        key = str(path)
        live = self._live.get(key)
        packed = self._packed.get(key) or self._common.get(key) if live is None else None
        if packed is not None:
            # The order matters to `get_offset` in another thread.
            live = self._live[sys.intern(key)] = _unpack(path, packed)
            self._packed.pop(key, None)
        return live

    def get_cursor(self, path: Path) -> Cursor:
        """The cursor of a transcript; a new one starts at the first byte."""
        found = self.find_cursor(path)
        if found is None:
            found = self._live[sys.intern(str(path))] = Cursor(path)
        return found

    def get_offset(self, path: Path | str) -> int:
        """The offset of a transcript's cursor; 0 if there is none. Unpacks nothing."""
        key = str(path)
        packed = self._packed.get(key)
        if packed is not None:
            return int(_OFFSET.unpack_from(packed)[0])
        live = self._live.get(key)
        if live is not None:
            return live.offset
        packed = self._common.get(key)
        return int(_OFFSET.unpack_from(packed)[0]) if packed is not None else 0

    def find_unequal(self, sizes: Mapping[str, int]) -> list[str]:
        """Of these transcripts, those whose size is not `get_offset`. A start asks for thousands at once."""
        changed = {*self._packed, *self._live}
        common, unpack = self._common, _OFFSET.unpack_from
        return [
            path
            for path, size in sizes.items()
            if (self.get_offset(path) if path in changed or path not in common else unpack(common[path])[0])
            != size
        ]

    def list_live(self) -> list[Cursor]:
        """The cursors that were asked for. All others are as the log has them."""
        return list(self._live.values())

    def iter_all(self) -> Iterator[Cursor]:
        """Every cursor. Of the packed ones a copy, which is not kept."""
        yield from self.list_live()
        yield from (_unpack(Path(key), packed) for key, packed in self._iter_packed())

    def iter_positions(self) -> Iterator[StoredPosition]:
        """The position in each transcript that is packed and not in `iter_baselines`."""
        for key, packed in self._iter_packed():
            if not _is_baseline(packed):
                yield _read_packed(key, packed)

    def iter_baselines(self) -> Iterator[tuple[str, int, int, float]]:
        """The transcripts that count as read and in which nothing was done: path, offset, mark and time, without a cursor."""
        for key, packed in self._iter_packed():
            if _is_baseline(packed):
                offset, crc, _, _, at, _ = _FIELDS.unpack_from(packed)
                yield key, offset, crc, float(at)

    def iter_unhandled_ends(self) -> Iterator[Cursor]:
        """Those of `iter_all` in whose session the handler did something since it last handled an end."""
        yield from (one for one in self.list_live() if one.has_unhandled_end)
        for key, packed in self._iter_packed():
            # Of most they are equal, and need not be unpacked.
            if packed[16:24] != packed[24:32] and (one := _unpack(Path(key), packed)).has_unhandled_end:
                yield one

    def put_baselines(self, found: Mapping[str, Sequence[int]], at: float) -> None:
        """Count transcripts as read: offset and mark by path. `at`: seconds since 1970, UTC."""
        others = next((one._packed for one in self._tables if one is not self and one._packed), {})
        for path, (offset, crc) in found.items():
            offset, crc = int(offset), int(crc)
            try:
                packed = _FIELDS.pack(offset, crc, -1, -1, int(at), 0)
            except struct.error:  # a number of a damaged log is too large
                self._live[path] = Cursor(
                    Path(path), offset, crc, logged_at=at, saved_state=(offset, crc, -1)
                )
                continue
            same = others.get(path)
            self._packed[sys.intern(path)] = same if same is not None and same == packed else packed
            if self._live:
                self._live.pop(path, None)

    def find_position(self, path: str) -> StoredPosition | None:
        """The packed position in a transcript, which is before its first byte in one that is not known; None if it has a cursor."""
        if path in self._live:
            return None
        packed = self._packed.get(path) or self._common.get(path)
        return StoredPosition(path) if packed is None else _read_packed(path, packed)

    def put_position(self, position: StoredPosition) -> bool:
        """Pack the position in a transcript without a cursor. False if that is not possible; nothing is changed then."""
        one = position
        state = one.offset, one.crc, one.handled_upto, one.end_handled_upto
        return self._put(one.name, state, one.at, one.session, one.cwd)

    def pack_cursor(self, cursor: Cursor) -> None:
        """Pack a cursor that is as the log has it and that nobody else holds, unless it has more than most."""
        if cursor.scan_since is None:
            state = cursor.offset, cursor.crc, cursor.handled_upto, cursor.end_handled_upto
            self._put(str(cursor.path), state, cursor.logged_at, cursor.session, cursor.cwd)

    def _put(
        self, path: str, state: tuple[int, int, int, int], at: float, session: str = "", cwd: str = ""
    ) -> bool:
        texts = session.encode(errors="surrogatepass"), cwd.encode(errors="surrogatepass")
        try:
            # Whole seconds, because handlers that read to the same end are a moment apart.
            packed = _FIELDS.pack(*state, int(at), len(texts[0])) + texts[0] + texts[1]
        except struct.error:  # a number of a damaged log is too large
            return False
        # Each handler knows the same transcripts, most of them with the same state.
        for table in self._tables:
            same = table._packed.get(path)
            if same is not None and same == packed:
                packed = same
                break
        self._packed[sys.intern(path)] = packed
        self._live.pop(path, None)
        return True


def share_cursors(tables: Sequence[CursorTable]) -> None:
    """Keep what all these handlers have in common in one dictionary. Called once, when their logs are read.

    Of a dictionary for each of them, 600 KB for 20,000 transcripts, only what differs remains.
    """
    if not tables:
        return
    first, *others = tables
    common = {
        key: packed
        for key, packed in first._packed.items()
        if all(one._packed.get(key) == packed for one in others)
    }
    for one in tables:
        one._packed = {key: packed for key, packed in one._packed.items() if key not in common}
        one._common = common


def _is_baseline(packed: bytes) -> bool:
    return len(packed) == _FIELDS.size and packed[16:32] == _UNHANDLED


def _read_packed(name: str, packed: bytes) -> StoredPosition:
    offset, crc, handled, ended, at, length = _FIELDS.unpack_from(packed)
    texts = packed[_FIELDS.size :]
    session, cwd = texts[:length], texts[length:]
    return StoredPosition(
        name,
        offset,
        crc,
        handled,
        ended,
        at,
        session.decode(errors="surrogatepass"),
        cwd.decode(errors="surrogatepass"),
    )


def _unpack(path: Path, packed: bytes) -> Cursor:
    one = _read_packed(str(path), packed)
    return Cursor(
        path,
        one.offset,
        one.crc,
        session=one.session,
        cwd=one.cwd,
        handled_upto=one.handled_upto,
        end_handled_upto=one.end_handled_upto,
        logged_at=one.at,
        saved_state=(one.offset, one.crc, one.handled_upto),
    )
