"""The record of an intent: what `record` was given beyond the ledger row, such as tested tags and observations.

An intent is written before the row, so that a crash between the two loses nothing. Pure: records of `records.jsonl`
in and out; `store.py` reads and writes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from tacitd_handlers.learner.formats.ledger_md import LedgerRow, RowKey


class Intent(Struct, frozen=True):
    """One problem of one session, as it was recorded."""

    row: LedgerRow
    tested: tuple[str, ...] | None = None
    """The tags that the session tested. None if they were not given (SPEC L-21)."""
    observations: str = ""
    trajectory: str = ""
    """One sentence on the earlier sessions of the problem (SPEC L-40)."""
    descriptions: Mapping[str, str] = field(default_factory=dict)
    """The descriptions of new gaps, by tag."""
    fresh: bool = False
    """True while it is being recorded; False when it is read back, for example after a crash."""

    def as_record(self, at: float) -> dict[str, Any]:
        """The record for the log. `at`: seconds since 1970, UTC."""
        details = {
            "tested": list(self.tested) if self.tested is not None else None,
            "observations": self.observations,
            "trajectory": self.trajectory,
            "descriptions": dict(self.descriptions),
        }
        return {"k": "record", "at": at, "row": list(self.row), **details}


def given_up(row: LedgerRow, at: float) -> dict[str, Any]:
    """The record of an intent whose row could not be written and whose caller got an error.

    `at`: seconds since 1970, UTC.
    """
    return {"k": "given-up", "at": at, "key": list(row.key)}


def parse_records(data: bytes) -> Iterator[dict[str, Any]]:
    """The JSON objects in a part of the log; other lines are skipped."""
    for line in data.split(b"\n"):
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            yield found


def fold_intents(records: Iterable[Mapping[str, Any]]) -> dict[RowKey, Intent]:
    """The intents of a log by the keys of their rows, without those given up. Foreign records are skipped."""
    found: dict[RowKey, Intent] = {}
    for record in records:
        try:
            if record.get("k") == "given-up":
                found.pop(RowKey(*record["key"]), None)
            elif record.get("k") == "record":
                intent = _intent(record)
                found[intent.row.key] = intent
        except (KeyError, TypeError, ValueError):
            continue
    return found


def _intent(record: Mapping[str, Any]) -> Intent:
    tested = record.get("tested")
    return Intent(
        LedgerRow(*(str(cell) for cell in record["row"])),
        tuple(str(tag) for tag in tested) if tested is not None else None,
        str(record.get("observations", "")),
        str(record.get("trajectory", "")),
        {str(tag): str(text) for tag, text in dict(record.get("descriptions") or {}).items()},
    )
