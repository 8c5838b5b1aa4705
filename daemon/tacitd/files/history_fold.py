"""The history log folded in memory: which transactions are open, which are done, and the lines of each project. Pure.

Reading the log and deciding when to read it again is in transaction.py; what a record contains, in
transaction_records.py; what a compaction keeps, in history_compaction.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tacitd.files.operations import Effect, Operation, RewriteFile, WriteFile
from tacitd.files.provenance import LineHistory, fold_transaction
from tacitd.files.transaction_records import (
    PendingTransaction,
    StoredCause,
    Transaction,
    complete_transaction,
    has_key,
    read_intent,
    read_part,
)


class FoldedHistory:
    """What the records amount to. Not thread-safe."""

    def __init__(self, records: Iterable[Mapping[str, Any]] = ()) -> None:
        self.open: dict[str, Transaction] = {}
        """By id, the transactions that began and are neither done nor dropped, oldest first."""
        self.pending: dict[str, PendingTransaction] = {}
        """By id, the open transactions and those that this version cannot read, with the reason."""
        self.parts: dict[str, tuple[Effect, ...]] = {}
        """By id, the effects of the first operations of an open transaction, which are not repeated."""
        self.reduced: set[str] = set()
        """The ids of finished transactions of which only the archive has the whole."""
        self._past = b""
        """Digests of the keys of transactions that are in the archive only."""
        self._ids: dict[str, str] = {}
        """Key to id, of what is done."""
        self._unreadable: dict[str, str] = {}
        """Id to key, of the intents that this version cannot read."""
        self.dropped: set[str] = set()
        """The ids of transactions that were given up, or that are done under another id."""
        self._done: dict[str, Transaction] = {}
        self._by_root: dict[Path, dict[str, Transaction]] = {}
        self._lines: dict[Path, dict[tuple[Path, str], LineHistory]] = {}
        for record in records:
            self._add_record(record)
        # The key is done under another id: its intent was recorded twice, because the first append raised although the
        # record was written.
        for each in [each for each in self.open.values() if each.key in self._ids]:
            self.drop(each.id)

    def begin(self, begun: Transaction) -> None:
        """Add a transaction whose intent is recorded."""
        self.open[begun.id] = begun
        self.pending[begun.id] = PendingTransaction(begun.id, begun.key, begun.root, "not finished yet")

    def complete(self, done: Transaction) -> None:
        """Add a transaction whose done record is written."""
        self._forget_open(done.id)
        lean = _make_lean(done)
        self._ids[done.key] = done.id
        self._done[done.id] = lean
        self._by_root.setdefault(done.root, {})[done.id] = lean
        fold_transaction(self._lines.setdefault(done.root, {}), lean)

    def drop(self, id: str) -> None:
        """Give up an open transaction."""
        self.dropped.add(id)
        self._forget_open(id)

    def carry_over(self, before: FoldedHistory) -> None:
        """Keep what only memory has of transactions that are still open: the reasons, and parts that were not recorded."""
        for id in self.pending:
            if id in before.pending:
                self.pending[id] = before.pending[id]
            if id in self.open and len(before.parts.get(id, ())) > len(self.parts.get(id, ())):
                self.parts[id] = before.parts[id]

    def is_done(self, key: str) -> bool:
        """Whether a transaction with this key is done."""
        return key in self._ids or has_key(self._past, key)

    def find_key(self, key: str) -> Transaction | None:
        """The finished transaction with this key; None if this version cannot read it, or if it is in the archive only."""
        return self._done.get(self._ids.get(key, ""))

    def is_in_archive(self, key: str) -> bool:
        """Whether the transaction with this key is in the archive only."""
        return key not in self._ids and has_key(self._past, key)

    def find_id(self, id: str) -> Transaction | None:
        """The transaction with this id, done or open."""
        return self._done.get(id) or self.open.get(id)

    def list_transactions(self, root: Path | None = None) -> list[Transaction]:
        """The finished ones (of one project) in the order of finishing, then the open ones."""
        done = self._done if root is None else self._by_root.get(root, {})
        return [*done.values(), *(each for each in self.open.values() if root in (None, each.root))]

    def list_lines(self, root: Path) -> dict[tuple[Path, str], LineHistory]:
        """A copy of the history of every line of a project, by (file, text)."""
        return dict(self._lines.get(root, {}))

    def _add_record(self, record: Mapping[str, Any]) -> None:
        id = str(record.get("id"))
        match record.get("state"):
            case "intent":
                intent = read_intent(record)
                if record.get("reduced"):
                    self.reduced.add(id)
                if isinstance(intent, Transaction):
                    self.begin(intent)
                else:
                    self.pending[id] = intent
                    self._unreadable[id] = intent.key
            case "part" if id in self.open:
                self.parts[id] = read_part(record)
            case "done" if id in self.open:
                self.complete(complete_transaction(self.open[id], record))
            case "done" if id in self._unreadable:
                self._ids[self._unreadable.pop(id)] = id
                self._forget_open(id)
            case "dropped":
                self._unreadable.pop(id, None)
                self.drop(id)
            case "part":
                pass
            case "past":
                self._past += bytes.fromhex(str(record.get("keys", "")))
            case "measured":
                pass
            case _:  # a newer version ended it in a way that this one does not know
                self._unreadable.pop(id, None)
                self._forget_open(id)

    def _forget_open(self, id: str) -> None:
        self.open.pop(id, None)
        self.pending.pop(id, None)
        self.parts.pop(id, None)


def _make_lean(done: Transaction) -> Transaction:
    """The transaction without the text of generated files, which nothing reads once it is written, and with its cause as
    JSON: a year has thousands of them."""
    operations = tuple(_without_text(each) for each in done.operations)
    return replace(done, operations=operations, cause=StoredCause(done.cause))


def _without_text(operation: Operation) -> Operation:
    return replace(operation, text="") if isinstance(operation, WriteFile | RewriteFile) else operation
