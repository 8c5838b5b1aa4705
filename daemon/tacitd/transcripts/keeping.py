"""A buffer of one transcript's records that handlers may still need, in file order. No file, no rules."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace

from tacitd.events import Prompt, Record
from tacitd.transcripts.person import Own
from tacitd.transcripts.records import TEXT_LIMIT
from tacitd.transcripts.spoken import Spoken, record_of

_OVERHEAD = 400
"""Bytes that a kept record needs besides its text."""


class Kept:
    """Records from `start` on, until `forget`."""

    def __init__(self, own: Own, start: int) -> None:
        self.bytes = 0
        """Roughly the memory they use: little more than the size of their lines."""
        self._own = own
        self._start = start
        self._kept: list[Record | Spoken] = []

    def hold(self, start: int, end: int, raw: bytes) -> None:
        """Keep an assistant's line undecoded. Lines come in file order."""
        if start >= self._start:
            self.bytes += end - start + _OVERHEAD
            self._kept.append(Spoken(start, end, raw))

    def add(self, record: Record) -> None:
        """Insert a record at its place. Two records of one damaged line at the same offset become one."""
        if record.start < self._start:
            return
        at = bisect_left(self._kept, record.start, key=_start)
        old = self._kept[at] if at < len(self._kept) else None
        if isinstance(old, Record) and old.start == record.start:
            self._kept[at] = _merged(old, record)
        else:
            self.bytes += _size(record)
            self._kept.insert(at, record)

    def records(self, after: int, upto: int) -> tuple[Record, ...]:
        """The kept records with start >= after and end <= upto. Decodes the assistant's lines among them."""
        first, last = self._between(after, upto)
        for at in range(first, last):
            spoken = self._kept[at]
            if isinstance(spoken, Spoken):
                self._kept[at] = record_of(spoken, self._own)
        held = (one for one in self._kept[first:last] if isinstance(one, Record) and one.end <= upto)
        return tuple(one for one in held if not one.empty)

    def prompts(self, after: int, upto: int) -> tuple[Prompt, ...]:
        """The prompts of these records. Does not decode the assistant's lines."""
        first, last = self._between(after, upto)
        held = (one for one in self._kept[first:last] if isinstance(one, Record) and one.end <= upto)
        return tuple(prompt for record in held for prompt in record.prompts)

    def forget(self, before: int) -> None:
        """Drop the records that begin before this offset."""
        last = bisect_left(self._kept, before, key=_start)
        self.bytes -= sum(map(_size, self._kept[:last]))
        del self._kept[:last]

    def _between(self, after: int, upto: int) -> tuple[int, int]:
        first = bisect_left(self._kept, after, key=_start)
        return first, bisect_left(self._kept, upto, lo=first, key=_start)


def _start(kept: Record | Spoken) -> int:
    return kept.start


def _size(kept: Record | Spoken) -> int:
    return kept.end - kept.start + _OVERHEAD


def _merged(old: Record, new: Record) -> Record:
    return replace(
        old,
        prompts=old.prompts + new.prompts,
        text="\n".join(filter(None, (old.text, new.text)))[:TEXT_LIMIT],
        tools=old.tools + new.tools,
        summary=old.summary or new.summary,
        command=old.command or new.command,
    )
