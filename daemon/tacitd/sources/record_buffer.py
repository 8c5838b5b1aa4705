"""A buffer of one transcript's records that handlers may still need, in file order. No file, no rules."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from tacitd.events import TEXT_LIMIT, Prompt, Record

_OVERHEAD = 400
"""Bytes that a kept record needs besides its text."""


class HeldLine(Struct, gc=False):
    """An assistant's line that is not decoded yet."""

    start: int
    end: int
    raw: bytes


class RecordBuffer:
    """Records from `start` on, until `forget_before`. `decode` makes the record of a line that was kept undecoded."""

    def __init__(self, start: int, decode: Callable[[HeldLine], Record]) -> None:
        self.held_bytes = 0
        """Roughly the memory they use: little more than the size of their lines."""
        self.keeps_spoken = True
        """Whether the assistant's lines are kept. A reader of prompts alone does not need them."""
        self._decode = decode
        self._start = start
        self._records: list[Record | HeldLine] = []

    def hold_lines(self, lines: Sequence[HeldLine]) -> None:
        """Keep lines of the assistant undecoded. They come in file order, all before `start` or none."""
        if self.keeps_spoken and lines[0].start >= self._start:
            self.held_bytes += sum(map(_size, lines))
            self._records += lines

    def add_record(self, record: Record) -> None:
        """Insert a record at its place. Two records of one damaged line at the same offset become one."""
        if record.start < self._start or record.is_empty:
            return
        if not self._records or self._records[-1].start < record.start:  # nearly always
            self.held_bytes += _size(record)
            self._records.append(record)
            return
        at = bisect_left(self._records, record.start, key=_start)
        old = self._records[at] if at < len(self._records) else None
        if isinstance(old, Record) and old.start == record.start:
            self._records[at] = _merged(old, record)
        else:
            self.held_bytes += _size(record)
            self._records.insert(at, record)

    def list_records(self, after: int, upto: int) -> tuple[Record, ...]:
        """The kept records with start >= after and end <= upto. Decodes the assistant's lines among them, once."""
        first, last = self._between(after, upto)
        made: list[Record] = []
        for one in self._records[first:last]:
            if isinstance(one, Record):
                made.append(one)
            elif (record := self._decode(one)).is_empty:
                self.held_bytes -= _size(one)
            else:
                made.append(record)
        self._records[first:last] = made
        return tuple([one for one in made if one.end <= upto])

    def list_prompts(self, after: int, upto: int) -> tuple[Prompt, ...]:
        """The prompts of these records. Does not decode the assistant's lines."""
        first, last = self._between(after, upto)
        held = [one for one in self._records[first:last] if isinstance(one, Record) and one.end <= upto]
        return tuple([prompt for record in held for prompt in record.prompts])

    def forget_before(self, before: int) -> None:
        """Drop the records that begin before this offset."""
        if not self._records or self._records[0].start >= before:
            return  # called after each move of each handler, and only the last of them to come this far frees something
        last = bisect_left(self._records, before, key=_start)
        self.held_bytes -= sum(map(_size, self._records[:last]))
        del self._records[:last]

    def _between(self, after: int, upto: int) -> tuple[int, int]:
        first = bisect_left(self._records, after, key=_start)
        return first, bisect_left(self._records, upto, lo=first, key=_start)


def _start(kept: Record | HeldLine) -> int:
    return kept.start


def _size(kept: Record | HeldLine) -> int:
    return kept.end - kept.start + _OVERHEAD


def _merged(old: Record, new: Record) -> Record:
    return replace(
        old,
        prompts=old.prompts + new.prompts,
        text="\n".join(filter(None, (old.text, new.text)))[:TEXT_LIMIT],
        tools=old.tools + new.tools,
        summary=old.summary or new.summary,
        command=old.command or new.command,
        plan=old.plan or new.plan,
        branch=old.branch or new.branch,
    )
