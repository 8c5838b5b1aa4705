"""A transaction of the store, and a part of it that can be undone alone."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Self, TypeVar

from tacitd.contract import Executed, Row, Tx, Value

T = TypeVar("T")
BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
DISK = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_NOLFS,
}
_OWN = re.compile(
    r"\s*(?:BEGIN|COMMIT|END|ROLLBACK|SAVEPOINT|RELEASE|PRAGMA|ATTACH|DETACH|VACUUM)\b", re.IGNORECASE
)
"""Statements that only this module runs."""


def code_of(error: sqlite3.Error) -> int:
    """SQLite's primary code; 0 for an error that SQLite did not report, such as one that a plugin raised itself."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


class Transaction:
    """A `Tx`. It knows whether the store, and not its user, is the cause of an error."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.fault: sqlite3.Error | None = None
        """The error of the disk that ended it."""
        self.ended = False

    def execute(self, sql: str, *values: Value) -> Executed:
        """Run one statement."""
        cursor = self._run(lambda: self._db.execute(self._checked(sql), values))
        return Executed(max(cursor.rowcount, 0), cursor.lastrowid or 0)

    def executemany(self, sql: str, rows: Iterable[Sequence[Value]]) -> None:
        """Run one statement for each row of values."""
        self._run(lambda: self._db.executemany(self._checked(sql), rows))

    def rows(self, sql: str, *values: Value) -> list[Row]:
        """Return all rows of a SELECT."""
        return self._run(lambda: self._db.execute(self._checked(sql), values).fetchall())

    def mark(self, statement: str) -> None:
        """Run SAVEPOINT, RELEASE or ROLLBACK TO."""
        self._run(lambda: self._db.execute(statement))

    def _checked(self, sql: str) -> str:
        if _OWN.match(sql):
            raise ValueError(f"a transaction is ended by the store, not by a statement: {sql.strip()[:40]}")
        return sql

    def _run(self, act: Callable[[], T]) -> T:
        if self.ended:
            raise RuntimeError(
                "the transaction has ended: a Tx is only valid inside the function that got it"
            )
        if self.fault is not None:
            raise self.fault
        try:
            return act()
        except sqlite3.Error as error:
            if not self._db.in_transaction or code_of(error) in BUSY | DAMAGE | DISK:
                self.fault = error
            raise


class Savepoint:
    """Changes that can be undone alone: see `savepoint`."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self.error: Exception | None = None
        """What the body raised, if its own changes were rolled back for it."""

    def __enter__(self) -> Self:
        self._tx.mark("SAVEPOINT part")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if self._tx.fault is not None:
            raise self._tx.fault
        if error is not None:
            self._tx.mark("ROLLBACK TO part")
        self._tx.mark("RELEASE part")
        if isinstance(error, Exception):
            self.error = error
            return True
        return False


def savepoint(tx: Tx) -> Savepoint:
    """Run a plugin's part of a transaction so that its fault is its own:

        with savepoint(tx) as part:
            observe(batch, tx)
        if part.error is not None: ...  # its changes are rolled back, the transaction goes on

    An error of the disk ends the whole transaction and is raised through, whatever the part made of it.
    """
    if not isinstance(tx, Transaction):
        raise TypeError("a savepoint needs a transaction of the store")
    return Savepoint(tx)
