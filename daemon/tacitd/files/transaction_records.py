"""Transactions as records of the history log: encoding and decoding. Pure.

A transaction is one `{"id","state":"intent","key","at","root","also","ops","cause","did"}` record and later one
`{"id","state":"done","at","written","did"}`, or one with `"state":"dropped"` and a reason. If not every file could be
changed at once, records `{"id","state":"part","did"}` between them contain what is done so far. Times are ISO 8601, UTC,
with milliseconds. Reading and appending the log is in transaction.py.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tacitd.clock import parse_utc, utc_millis
from tacitd.files.log import encode_record
from tacitd.files.operations import NOTHING, Effect, Operation, read_effect, read_operation, share_path
from tacitd.text.hashes import blake2b

MEASURED = "measured"
"""The state in a record that is no transaction's: how long the log was when it was last shortened."""
PAST = "past"
"""The state in a record of the keys of transactions that are in the archive only."""
UNDONE = "undo"
"""The key of a transaction's cause that names the transaction which it undoes."""


class Transaction(Struct, frozen=True):
    """The operations on a project's files, their cause, and their effects."""

    id: str
    key: str
    """Idempotency key: a transaction with the same key is the same transaction."""
    at: float
    """When it began: seconds since 1970, UTC."""
    root: Path
    also: tuple[Path, ...]
    operations: tuple[Operation, ...]
    cause: Mapping[str, Any]
    state: Literal["intent", "done"]
    effects: tuple[Effect, ...]
    """One for each operation: what it did, or, for an intent, what it was expected to do."""
    written: tuple[Path, ...] = ()
    """The files that were changed."""


class StoredCause(Mapping[str, Any]):
    """The cause of a finished transaction in little memory: short texts as they are, everything else as compressed JSON, which is
    decoded at each use.

    The cause of a long synthesis has the origins of all its lines, and each line is asked what it was written for: decoding
    all for that would take a time that grows with the square of the lines.
    """

    __slots__ = ("_data", "_names", "_texts")

    def __init__(self, cause: Mapping[str, Any]) -> None:
        # Shared, because nearly all causes have the same names and few have texts of their own.
        names = tuple(map(sys.intern, cause))
        self._names = _NAMES.setdefault(names, names) if len(_NAMES) < _MANY else names
        self._texts = tuple(_intern_short(each) for each in cause.values())
        self._data = zlib.compress(encode_record(cause), 1)

    def __getitem__(self, key: str) -> Any:
        if key not in self._names:
            raise KeyError(key)
        text = self._texts[self._names.index(key)]
        return text if text is not None else self.decode()[key]

    def __contains__(self, key: object) -> bool:
        return key in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return repr(self.decode())

    def decode(self) -> dict[str, Any]:
        """Return all of it, for several questions."""
        return _decode(zlib.decompress(self._data))


_NAMES: dict[tuple[str, ...], tuple[str, ...]] = {}
"""The names of causes that there were."""
_MANY = 256
_SHORT = 64
"""Characters of a text that is kept as it is."""
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def _intern_short(value: object) -> str | None:
    return sys.intern(value) if isinstance(value, str) and len(value) <= _SHORT else None


class PendingTransaction(Struct, frozen=True):
    """A transaction that began and cannot be finished now."""

    id: str
    key: str
    root: Path
    reason: str
    hint: str = ""
    busy: bool = False
    """Whether it only waits for a file that is being edited. If so, it is retried each minute."""


def intent_record(begun: Transaction) -> dict[str, Any]:
    return {
        "id": begun.id,
        "state": "intent",
        "key": begun.key,
        "at": utc_millis(begun.at),
        "root": str(begun.root),
        "also": [str(each) for each in begun.also],
        "ops": [each.to_record() for each in begun.operations],
        "cause": dict(begun.cause),
        "did": [each.to_record() for each in begun.effects],
    }


def done_record(done: Transaction, now: str) -> dict[str, Any]:
    """The record that marks a transaction as done. `now`: ISO 8601, UTC."""
    return {
        "id": done.id,
        "state": "done",
        "at": now,
        "written": [str(each) for each in done.written],
        "did": [each.to_record() for each in done.effects],
    }


def measured_record(size: int) -> dict[str, Any]:
    """The record that a log was shortened to `size` bytes. It is no transaction's. `form`: earlier versions, which had no
    archive, wrote none."""
    return {"state": MEASURED, "size": size, "form": 2}


def past_record(keys: str) -> dict[str, Any]:
    """The record of the transactions that are in the archive only. `keys`: the digests of their keys in hexadecimal."""
    return {"state": PAST, "keys": keys}


def digest_key(key: str) -> bytes:
    """The digest of a transaction's key in a record of past ones."""
    return blake2b(key.encode(errors="replace"), digest_size=16).digest()


def has_key(past: bytes, key: str) -> bool:
    """Whether the digest of this key is among these."""
    digest, at = digest_key(key), -1
    while (at := past.find(digest, at + 1)) >= 0:
        if at % len(digest) == 0:
            return True
    return False


def part_record(begun: Transaction, did: Sequence[Effect]) -> dict[str, Any]:
    """The effects of the operations that are done. They are not repeated, so a line that a person has removed since is
    not put back."""
    return {"id": begun.id, "state": "part", "did": [each.to_record() for each in did]}


def read_part(record: Mapping[str, Any]) -> tuple[Effect, ...]:
    """The effects of the operations that are done; () if the record has none."""
    return tuple(map(read_effect, _read_list(record, "did")))


def read_intent(record: Mapping[str, Any]) -> Transaction | PendingTransaction:
    """The intent, or a Pending with the reason if a newer version wrote something that this one does not know."""
    id, key, root = str(record.get("id")), str(record.get("key")), share_path(str(record.get("root")))
    try:
        operations = tuple(read_operation(each) for each in record["ops"])
        also = tuple(share_path(each) for each in record.get("also", ()))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return PendingTransaction(id, key, root, f"cannot be read: {error}", "a newer version wrote it")
    at = parse_utc(record.get("at")) or 0.0
    cause = record.get("cause")
    effects = _effects(record, operations)
    return Transaction(
        id, key, at, root, also, operations, cause if isinstance(cause, dict) else {}, "intent", effects
    )


def complete_transaction(begun: Transaction, record: Mapping[str, Any]) -> Transaction:
    """Given an intent and its done record, return the finished transaction."""
    written = tuple(share_path(str(each)) for each in _read_list(record, "written"))
    return replace(begun, state="done", effects=_effects(record, begun.operations), written=written)


def _effects(record: Mapping[str, Any], operations: tuple[Operation, ...]) -> tuple[Effect, ...]:
    did = [read_effect(each) for each in _read_list(record, "did")][: len(operations)]
    return (*did, *(NOTHING for _ in operations[len(did) :]))


def _read_list(record: Mapping[str, Any], name: str) -> list[Any]:
    """The list under this key; an empty one if a damaged or foreign record has something else there."""
    found = record.get(name)
    return found if isinstance(found, list) else []
