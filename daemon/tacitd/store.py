"""The store: `tacitd.sqlite` in the state directory. This is the only module that opens it.

SQLite's locks belong to a process: if any other descriptor of the file is closed in it, they are dropped, and another process
may write too. So a copy, a report or a purge asks here, and nothing else opens `tacitd.sqlite*`.

The daemon has one `Store`: a connection that writes, under one lock, and one that only reads. A command that changes rows
opens one too, with `owner=False`. A command that only reads uses `open_readonly`. A write is short: it is not open across a
call of the model, git, a wait, or the write of a file of a person.

What SQLite does, and what follows:

- A commit on a full disk fails and is rolled back at once; a statement after it would be a transaction of its own. So each
  statement of a `Tx` checks that the transaction is still open.
- A commit that failed may be durable: after a crash its rows may be there. So whatever is repeated is repeated by key.
- A file that was deleted or replaced takes commits as before. So its inode is compared before each commit.
- A garbled page is noticed when it is read. So a store that was not closed is checked at a start, and every store once a day.
"""

from __future__ import annotations

import errno
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn, Self

from tacitd.clock import Clock
from tacitd.contract import Row, Tx, Value
from tacitd.errors import (
    OS_ERROR_HINTS,
    BusyStoreError,
    StoreLostError,
    UnavailableError,
    UnwritableError,
    describe_os_error,
)
from tacitd.state import store_files, store_tables
from tacitd.state.person_choices import match_file
from tacitd.state.store_files import STORE
from tacitd.state.store_transaction import BUSY, DAMAGE, DISK, Savepoint, Transaction, code_of, savepoint

__all__ = ["Reader", "Savepoint", "Store", "open_readonly", "savepoint"]

DAEMON_WAIT, COMMAND_WAIT = 0.2, 5.0
"""Seconds for which the daemon and a command wait for another process's write lock."""
LONG = 5.0
"""Seconds after which the process that holds the write lock is named."""
DAY = 86_400.0
_WAL_LIMIT = 4 << 20
"""Bytes to which the write-ahead log is cut after a checkpoint."""
_DOCTOR = "`tacitd doctor` checks what may be wrong"
_PROBLEM = "store-lost"
FORGOTTEN = "[forgotten]"
"""What stands in the place of words after `forget --purge`."""


def do_nothing(step: str) -> None:
    """Called at each durable step: "before commit", "committed"."""


# --- the store -----------------------------------------------------------------------------------------------------------


class Store:
    """The store, open for writing. Thread-safe."""

    def __init__(
        self,
        state_dir: Path,
        clock: Clock,
        plugins: Mapping[str, Sequence[str]],
        owner: bool,
        on_step: Callable[[str], None],
    ) -> None:
        self.state_dir = state_dir
        self.path = state_dir / STORE
        self.is_new = False
        """Whether the store was made at this start. The process can end at any time, so whoever does something at a first start
        marks it as done by a row of its own."""
        self.off: Mapping[str, str] = {}
        """By plugin why its tables cannot be used."""
        self._clock = clock
        self._plugins = plugins
        self._owner = owner
        self._on_step = on_step
        self._lock = threading.RLock()
        self._read_lock = threading.Lock()
        self._writer: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        self._file = (0, 0)
        self._lost: str = ""
        """What happened to the store before the present one, until a row of it says so."""
        self._busy_since: float | None = None
        self._in_write = False

    @classmethod
    def open(
        cls,
        state_dir: Path,
        clock: Clock,
        plugins: Mapping[str, Sequence[str]] | None = None,
        *,
        owner: bool = True,
        on_step: Callable[[str], None] = do_nothing,
    ) -> Self:
        """Open the store; create it, and make or change its tables, if needed.

        `plugins`: by name the steps of its tables, `PluginSpec.schema`. `owner`: the daemon, which alone puts a damaged store aside
        and waits only 0.2 s for another process. Raises ConfigError for the tables of a newer version (exit 78),
        UnwritableError, and StoreLostError for a damaged store if it is not the owner.
        """
        store = cls(state_dir, clock, plugins or {}, owner, on_step)
        with store._lock:
            try:
                store._connect()
            except StoreLostError:
                if not owner:
                    raise
            store._lost = ""
        return store

    def close(self) -> None:
        """Close the store. The last process that does so moves the write-ahead log into it."""
        with self._lock:
            self._disconnect()

    @contextmanager
    def write(self) -> Iterator[Tx]:
        """A transaction that is committed at the end of the block, and rolled back if it raises.

        Raises UnwritableError, BusyStoreError: it is tried again, by key; StoreLostError. Not nested.
        """
        with self._lock:
            if self._in_write:
                raise RuntimeError("a write inside a write")
            db = self._begin()
            tx = Transaction(db)
            self._in_write = True
            try:
                yield tx
                if tx.fault is not None:
                    raise tx.fault
                self._on_step("before commit")
                self._require_file()
                tx.mark("COMMIT")
            except sqlite3.Error as error:
                if error is not tx.fault:
                    raise
                self._rollback(db)
                self._explain(error)
            finally:
                tx.ended = True
                self._in_write = False
                self._rollback(db)
            self._on_step("committed")

    def rows(self, sql: str, *values: Value) -> list[Row]:
        """Return all rows of a SELECT, from a connection that only reads: it waits for no write. Raises UnwritableError,
        StoreLostError."""
        try:
            with self._read_lock:
                if self._reader is not None:
                    return self._reader.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            if code_of(error) not in BUSY | DAMAGE | DISK:
                raise
            with self._lock:
                self._explain(error)
        with self._lock:
            self._reconnect()
        return self.rows(sql, *values)

    def check(self) -> None:
        """Check the store if that was not done for a day, and remove old copies. Raises StoreLostError, UnwritableError."""
        now = self._clock.now()
        last = self.rows("SELECT succeeded FROM job WHERE plugin='engine' AND name='check'")
        if last and now - DAY < last[0][0] <= now:
            return
        if not self._is_sound():
            with self._lock:
                self._begin_anew("was damaged")
        with self.write() as tx:
            tx.execute(
                "INSERT OR REPLACE INTO job(plugin, name, succeeded) VALUES('engine', 'check', ?)", now
            )
            tx.execute(
                "DELETE FROM degradation WHERE owner='engine' AND id=? AND since<?",
                _PROBLEM,
                now - store_files.KEPT_DAYS * DAY,
            )
        with suppress(OSError):
            store_files.remove_aside(self.state_dir, now - store_files.KEPT_DAYS * DAY)

    # --- connections

    def _connect(self) -> None:
        """Open both connections. Raises as `open` does."""
        if self._writer is not None:
            return
        try:
            self._open_files()
        except StoreLostError:
            raise  # the connections are those of the new store
        except (sqlite3.Error, OSError) as error:
            self._disconnect()
            if not isinstance(error, sqlite3.Error) or code_of(error) not in DAMAGE:
                raise self._describe(error) from error
            self._put_aside("was damaged")
            self._connect()
        except BaseException:
            self._disconnect()
            raise

    def _reconnect(self) -> None:
        """Open both connections, and raise StoreLostError if the store is another one than before."""
        self._connect()
        if self._lost:
            what, self._lost = self._lost, ""
            raise StoreLostError(f"the store {what}", "`tacitd status` says what that lost")

    def _open_files(self) -> None:
        left_open = store_files.was_left_open(self.path)
        store_files.create_store(self.path)
        wait = DAEMON_WAIT if self._owner else COMMAND_WAIT
        db = _open_file(self.path, "rw", wait)
        self._writer = db
        mode = "TRUNCATE" if store_files.is_on_network(self.state_dir) else "WAL"
        db.execute(f"PRAGMA journal_mode={mode}")
        for setting in (
            "synchronous=FULL",
            "secure_delete=ON",
            "foreign_keys=ON",
            "fullfsync=ON",  # macOS: fsync alone is not durable there
            "checkpoint_fullfsync=ON",
            f"journal_size_limit={_WAL_LIMIT}",
        ):
            db.execute(f"PRAGMA {setting}")
        found = self.path.stat()
        self._file = found.st_dev, found.st_ino
        if left_open and self._owner and not self._is_sound():
            self._disconnect()
            self._put_aside("was damaged")
            self._open_files()
            return
        self.off = store_tables.make_tables(db, self._plugins)
        self._reader = _open_file(self.path, "ro", wait)
        self._fill()

    def _fill(self) -> None:
        """Read the choices of a person into a new store, and store what it replaces."""
        with self.write() as tx:
            self.is_new = not tx.rows("SELECT 1 FROM job WHERE plugin='engine' AND name='begin'")
            match_file(tx, self.state_dir, new=self.is_new)
            if self.is_new:
                tx.execute(
                    "INSERT INTO job(plugin, name, succeeded) VALUES('engine', 'begin', ?)", self._clock.now()
                )
            if self._lost:
                what = f"the store {self._lost}; positions, waiting prompts and history are lost"
                hint = "what was learned is in your files, and your choices hold; `tacitd scan` reads old transcripts again"
                tx.execute(
                    "INSERT OR REPLACE INTO degradation(owner, id, what, hint, since) VALUES('engine', ?, ?, ?, ?)",
                    _PROBLEM, what, hint, self._clock.now(),
                )  # fmt: skip

    def _disconnect(self) -> None:
        with self._read_lock:
            for db in (self._reader, self._writer):
                if db is not None:
                    with suppress(sqlite3.Error):
                        db.close()
            self._reader = self._writer = None

    def _begin(self) -> sqlite3.Connection:
        if self._writer is None:
            self._reconnect()
        db = self._writer
        assert db is not None
        try:
            db.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            self._explain(error)
        self._busy_since = None
        return db

    def _rollback(self, db: sqlite3.Connection) -> None:
        with suppress(sqlite3.Error):
            if db.in_transaction:
                db.execute("ROLLBACK")

    # --- faults

    def _require_file(self) -> None:
        """Raises StoreLostError if the name of the store belongs to another file or to none."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            self._begin_anew("was deleted while it was open")
        except OSError as error:
            raise self._describe(error) from error
        if (found.st_dev, found.st_ino) != self._file:
            self._begin_anew("was replaced while it was open")

    def _is_sound(self) -> bool:
        """Whether SQLite's check finds nothing. Raises UnwritableError."""
        try:
            db = _open_file(self.path, "rw", DAEMON_WAIT)
            try:
                return bool(db.execute("PRAGMA quick_check(1)").fetchall() == [("ok",)])
            finally:
                db.close()
        except sqlite3.Error as error:
            if code_of(error) in DAMAGE:
                return False
            raise self._describe(error) from error

    def _put_aside(self, what: str) -> None:
        """Rename the store, whose connections are closed. Raises StoreLostError if that is the daemon's task."""
        if not self._owner:
            raise StoreLostError(f"the store {what}", "`tacitd start` puts it aside and begins a new one")
        if self._lost:
            raise UnwritableError(f"the store {what} as soon as it was made", OS_ERROR_HINTS[errno.EIO])
        try:
            aside = store_files.put_aside(self.path, self._clock.now())
        except OSError as error:
            raise self._describe(error) from error
        self._lost = f"{what} and is kept as {aside.name} for {store_files.KEPT_DAYS} days" if aside else what

    def _begin_anew(self, what: str) -> NoReturn:
        """Put the store aside, begin a new one, and raise StoreLostError. The caller has the lock."""
        self._disconnect()
        self._in_write = False
        self._put_aside(what)
        self._reconnect()
        raise AssertionError("a new store was reported before it was made")

    def _explain(self, error: sqlite3.Error) -> NoReturn:
        """Raise what an error of SQLite means. The caller has the lock."""
        if code_of(error) in DAMAGE and not self._is_sound():
            self._begin_anew("was damaged")
        raise self._describe(error) from error

    def _describe(self, error: sqlite3.Error | OSError) -> Exception:
        """The error to raise for one of the disk or of SQLite; what a program did wrong stays as it is."""
        if isinstance(error, OSError):
            return UnwritableError(*describe_os_error(error))
        code = code_of(error)
        if code in BUSY:
            return self._describe_busy()
        if code not in DISK | DAMAGE:
            return error
        return UnwritableError(*(store_files.probe(self.path) or (f"{self.path}: {error}", _DOCTOR)))

    def _describe_busy(self) -> BusyStoreError:
        now = self._clock.monotonic()
        self._busy_since = since = now if self._busy_since is None else self._busy_since
        seconds = now - since
        if seconds < LONG and self._owner:
            return BusyStoreError("another process writes the store", "it is tried again", seconds=seconds)
        pid = store_files.find_lock_holder(self.path)
        if pid is None:
            return BusyStoreError(
                "another process holds the store", f"find it with `fuser {self.path}`", seconds=seconds
            )
        name = store_files.describe_process(pid)
        return BusyStoreError(
            f"{name} holds the store", f"let it go on, or end it: `kill {pid}`", seconds=seconds
        )


# --- reading only ----------------------------------------------------------------------------------------------------------


class Reader:
    """The store, open for reading only, for a command: it needs no daemon and changes nothing."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def rows(self, sql: str, *values: Value) -> list[Row]:
        """Return all rows of a SELECT."""
        return self._db.execute(sql, values).fetchall()

    def close(self) -> None:
        """Close the store."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def open_readonly(state_dir: Path) -> Reader | None:
    """Open the store for reading; None if there is none. Raises ConfigError, UnavailableError, UnwritableError."""
    path = state_dir / STORE
    if not store_files.has_bytes(path):
        return None
    # A transaction that a killed process left in a journal can only be undone by a connection that may write.
    mode = "rw" if store_files.is_on_network(state_dir) else "ro"
    try:
        try:
            db = _open_file(path, mode, COMMAND_WAIT)
            versions = _versions(db)
        except sqlite3.OperationalError:
            # A full or read-only disk has no room for -shm. If nobody has the store open, it does not change meanwhile.
            if store_files.was_left_open(path) or Path(f"{path}-shm").exists():
                raise
            db = _open_file(path, "ro&immutable=1", COMMAND_WAIT)
            versions = _versions(db)
    except sqlite3.Error as error:
        raise UnwritableError(*(store_files.probe(path) or (f"{path}: {error}", _DOCTOR))) from error
    found = versions.get(store_tables.ENGINE, 0)
    try:
        store_tables.require_version(found)
        if found < len(store_tables.ENGINE_STEPS):
            raise UnavailableError(
                "the store is from an earlier version of tacitd", "`tacitd start` changes it"
            )
    except BaseException:
        db.close()
        raise
    return Reader(db)


def _versions(db: sqlite3.Connection) -> dict[str, int]:
    try:
        return store_tables.read_versions(db)
    except sqlite3.Error:
        db.close()
        raise


def _open_file(path: Path, mode: str, wait: float) -> sqlite3.Connection:
    db = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=wait,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )
    if mode.startswith("ro"):
        db.execute("PRAGMA query_only=ON")
    return db
