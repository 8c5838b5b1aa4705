"""A transaction of the store, and a part of it that can be undone alone."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tacitd.state.store_files import BUSY, DAMAGE, DISK, code_of
from tacitd.text.lazy_pattern import compile_lazily

if TYPE_CHECKING:
    from tacitd.contract import Executed, Row, Tx, Value

_OWN = compile_lazily(
    r"\s*(?:BEGIN|COMMIT|END|ROLLBACK|SAVEPOINT|RELEASE|PRAGMA|ATTACH|DETACH|VACUUM)\b", re.IGNORECASE
)
"""Statements that only the store runs."""


class StoreTransaction:
    """A `Tx`. It knows whether the store, and not its user, is the cause of an error."""

    def __init__(self, db: sqlite3.Connection) -> None:
        from tacitd.contract import Executed  # not for a command that only reads

        self._db = db
        self._made = Executed
        self.fault: sqlite3.Error | None = None
        """The error of the disk that ended it."""
        self.ended = False

    def execute(self, sql: str, *values: Value) -> Executed:
        cursor, _ = self._run(sql, values)
        return self._made(max(cursor.rowcount, 0), cursor.lastrowid or 0)

    def executemany(self, sql: str, rows: Iterable[Sequence[Value]]) -> None:
        self._run(sql, list(rows), many=True)  # what makes them may raise errors of its own

    def rows(self, sql: str, *values: Value) -> list[Row]:
        return self._run(sql, values)[1]

    def mark(self, statement: str) -> None:
        """Run a statement that only the store runs."""
        self._run(statement, (), own=True)

    def require_sound(self) -> None:
        """Raise the error of the disk that ended it, if one did, also if the program that got it went on."""
        if self.fault is not None:
            raise self.fault

    def _run(
        self, sql: str, values: Sequence[object], *, many: bool = False, own: bool = False
    ) -> tuple[sqlite3.Cursor, list[Row]]:
        if not own and _OWN.match(sql):
            raise ValueError(f"a transaction is ended by the store, not by a statement: {sql.strip()[:40]}")
        if self.ended:
            raise RuntimeError(
                "the transaction has ended: a Tx is only valid inside the function that got it"
            )
        self.require_sound()
        try:
            cursor = (self._db.executemany if many else self._db.execute)(sql, values)  # type: ignore[arg-type]
            return cursor, cursor.fetchall()
        except sqlite3.Error as error:
            if not self._db.in_transaction or code_of(error) in BUSY | DAMAGE | DISK:
                self.fault = error
            raise


class Savepoint:
    """Changes that can be undone alone: see `savepoint`."""

    error: Exception | SystemExit | None = None
    """What the body raised, if its own changes were rolled back for it."""


@contextmanager
def savepoint(tx: Tx) -> Iterator[Savepoint]:
    """Run a plugin's part of a transaction so that its fault is its own:

        with savepoint(tx) as part:
            observe(batch, tx)
        if part.error is not None: ...  # its changes are rolled back, the transaction goes on

    An error of the disk ends the whole transaction and is raised through, whatever the part made of it.
    """
    if not isinstance(tx, StoreTransaction):
        raise TypeError("a savepoint needs a transaction of the store")
    part = Savepoint()
    tx.mark("SAVEPOINT part")
    try:
        yield part
    except BaseException as error:
        tx.require_sound()
        tx.mark("ROLLBACK TO part")
        if not isinstance(error, Exception | SystemExit):  # a plugin may call `sys.exit`
            raise
        part.error = error
    tx.require_sound()
    tx.mark("RELEASE part")
