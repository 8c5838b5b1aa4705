"""A buffer of one transcript's records that handlers may still need, in file order. No file, no rules."""

from __future__ import annotations

from bisect import bisect_left

from msgspec.structs import replace

from tacitd.events import TEXT_LIMIT, Prompt, Record

_OVERHEAD = 400
"""Bytes that a kept record needs besides its text."""


class RecordBuffer:
    """Records from `start` on, until `forget_before`."""

    def __init__(self, start: int) -> None:
        self._start = start
        self._records: list[Record] = []

    def add_record(self, record: Record) -> None:
        """Insert a record at its place. Two records of one damaged line at the same offset become one."""
        if record.start < self._start or record.is_empty:
            return
        if not self._records or self._records[-1].start < record.start:  # nearly always
            self._records.append(record)
            return
        at = bisect_left(self._records, record.start, key=_start)
        if at < len(self._records) and self._records[at].start == record.start:
            self._records[at] = _merged(self._records[at], record)
        else:
            self._records.insert(at, record)

    @property
    def held_bytes(self) -> int:
        """Roughly the memory that the records use: little more than the size of their lines."""
        return sum(one.end - one.start + _OVERHEAD for one in self._records)

    def list_records(self, after: int, upto: int) -> tuple[Record, ...]:
        """The kept records with start >= after and end <= upto."""
        first = bisect_left(self._records, after, key=_start)
        last = bisect_left(self._records, upto, lo=first, key=_start)
        return tuple([one for one in self._records[first:last] if one.end <= upto])

    def list_prompts(self, after: int, upto: int) -> tuple[Prompt, ...]:
        """The prompts of these records."""
        return tuple([prompt for record in self.list_records(after, upto) for prompt in record.prompts])

    def keep_prompts(self) -> None:
        """Drop the records without a prompt, for a reader of prompts alone."""
        self._records = [one for one in self._records if one.prompts]

    def forget_before(self, before: int) -> None:
        """Drop the records that begin before this offset."""
        del self._records[: bisect_left(self._records, before, key=_start)]


def _start(kept: Record) -> int:
    return kept.start


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
        answers=old.answers + new.answers,
    )
