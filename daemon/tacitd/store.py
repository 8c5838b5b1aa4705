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
import math
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Self

from tacitd.clock import Clock
from tacitd.errors import OS_ERROR_HINTS, BusyStoreError, StoreLostError, UnavailableError, UnwritableError
from tacitd.files.mounts import is_on_network
from tacitd.state import store_files, store_tables
from tacitd.state.store_files import BUSY, DAMAGE, DISK, LONG, STORE, code_of, describe_error
from tacitd.state.store_tables import blank_columns, make_blanker
from tacitd.state.store_transaction import StoreTransaction, savepoint

if TYPE_CHECKING:
    from tacitd.contract import Row, Tx, Value

__all__ = ["ReadOnlyStore", "Store", "open_empty", "open_readonly", "savepoint"]

DAEMON_WAIT, COMMAND_WAIT = 0.2, LONG
DAY = 86_400.0
KEPT = store_files.KEPT_DAYS * DAY
SETTINGS = (
    "synchronous=FULL",
    "secure_delete=ON",  # deleted words leave no bytes
    "foreign_keys=ON",
    "fullfsync=ON",  # macOS: fsync alone is not durable there
    "checkpoint_fullfsync=ON",
    "wal_autocheckpoint=250",  # pages: a disk of a few megabytes has room for the log
    f"journal_size_limit={4 << 20}",  # bytes to which the write-ahead log is cut after a checkpoint
)
LOSS_HINT = "`tacitd status` says what that lost"
LOST = "store-lost"
"""The id of the engine's problem that says what a new store replaces."""


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
        self.generation = 0
        """How many stores were put aside: the numbers of rows of one mean nothing in the next."""
        self.off: Mapping[str, str] = {}
        """By plugin why its tables cannot be used."""
        self.versions: Mapping[str, int] = {}
        """Of each owner's tables."""
        self._clock = clock
        self._plugins = plugins
        self._owner = owner
        self._on_step = on_step
        self._lock = threading.RLock()
        self._read_lock = threading.Lock()
        self._writer: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        self._file = (0, 0)
        self._lost = ""
        """What happened to the store before the present one, until that was reported."""
        self._busy_since: float | None = None
        self._in_write = False
        self._closed = False

    @classmethod
    def open(
        cls,
        state_dir: Path,
        clock: Clock,
        plugins: Mapping[str, Sequence[str]] | None = None,
        *,
        owner: bool = True,
        on_step: Callable[[str], None] = lambda step: None,
    ) -> Self:
        """Open the store; create it, and make or change its tables, if needed.

        `plugins`: by name the steps of its tables. `owner`: the daemon, which alone puts a damaged store aside and waits only
        0.2 s for another process. `on_step` is called "before commit" and when "committed". Raises ConfigError for the tables
        of a newer version (exit 78), UnwritableError, and StoreLostError for a damaged store if it is not the owner.
        """
        store = cls(state_dir, clock, plugins or {}, owner, on_step)
        with store._lock:
            with suppress(StoreLostError) if owner else nullcontext():
                store._connect()
            store._lost = ""
        return store

    def close(self) -> None:
        """The last process that does so moves the write-ahead log into the store."""
        with self._lock:
            self._closed = True
            self._disconnect()

    @contextmanager
    def write(self) -> Iterator[Tx]:
        """A transaction that is committed at the end of the block, and rolled back if it raises. Not nested. Raises
        UnwritableError, BusyStoreError: it is tried again, by key; StoreLostError."""
        with self._lock:
            if self._in_write:
                raise RuntimeError("a write inside a write")
            db = self._begin()
            tx = StoreTransaction(db)
            self._in_write = True
            try:
                yield tx
                tx.require_sound()
                self._on_step("before commit")
                self._require_file()
                tx.mark("COMMIT")
            except sqlite3.Error as error:
                if error is not tx.fault:
                    raise
                _roll_back(db)
                self._explain(error, self._file)
            finally:
                tx.ended = True
                self._in_write = False
                _roll_back(db)
            self._on_step("committed")

    def rows(self, sql: str, *values: Value) -> list[Row]:
        """All rows of a SELECT. Raises UnwritableError, StoreLostError."""
        file = self._file
        try:
            with self._read_lock:
                if self._reader is not None:
                    return self._reader.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            if code_of(error) not in BUSY | DAMAGE | DISK:
                raise
            with self._lock:
                self._explain(error, file)
        with self._lock:
            self._reconnect()
        return self.rows(sql, *values)

    def check(self) -> None:
        """Check the store and remove old copies, if that was not done for a day. Raises StoreLostError, UnwritableError."""
        now = self._clock.now()
        last = self.rows("SELECT succeeded FROM job WHERE plugin='engine' AND name='check'")
        if last and now - DAY < last[0][0] <= now:
            return
        file = self._file
        try:
            self._require_check()
        except sqlite3.Error as error:
            with self._lock:
                self._explain(error, file)
        with self.write() as tx:
            tx.execute(
                "INSERT OR REPLACE INTO job(plugin, name, succeeded) VALUES('engine', 'check', ?)", now
            )
            tx.execute("DELETE FROM degradation WHERE owner='engine' AND id=? AND since<?", LOST, now - KEPT)
        with suppress(OSError):
            store_files.remove_aside(self.state_dir, now - KEPT)

    def purge_words(
        self,
        texts: Collection[str],
        keep: Collection[str] = (),
        also: Callable[[Tx], object] = lambda tx: None,
    ) -> int:
        """Remove texts from every column that may hold words, and stores that were put aside, so that no file of the store has
        a byte of them. Returns how many values changed. `keep`: longer texts that stay whole. `also` is in the same
        transaction. Raises UnwritableError: it is to be repeated."""
        with self._lock:
            with self.write() as tx:
                db = self._require_open()
                db.create_function("blank", 1, make_blanker(texts, keep), deterministic=True)
                also(tx)
                changed = blank_columns(tx, store_tables.list_text_columns(tx))
            try:
                db.create_function("blank", 1, None)
                # secure_delete leaves bytes of cells that were moved to another page.
                db.execute("VACUUM")
                waits = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
                store_files.remove_aside(self.state_dir, math.inf)
            except sqlite3.Error as error:
                self._explain(error, self._file)
            except OSError as error:
                raise describe_error(self.path, error, 0.0) from error
            if waits:
                raise BusyStoreError(
                    "another process reads the store, so the words are still in its log", "try again"
                )
        return changed

    # --- connections

    def _connect(self) -> None:
        """Raises as `open` does."""
        if self._writer is not None:
            return
        try:
            self._open_files()
        except StoreLostError:
            raise  # the connections are those of the new store
        except BaseException as error:
            self._disconnect()
            if not isinstance(error, sqlite3.Error | OSError):
                raise
            if not isinstance(error, sqlite3.Error) or code_of(error) not in DAMAGE:
                raise describe_error(self.path, error, LONG) from error
            self._put_aside("was damaged")
            self._connect()

    def _reconnect(self) -> None:
        """Raises StoreLostError if the store is another one than before."""
        if self._closed:
            raise RuntimeError("the store is closed")
        self._connect()
        if self._lost:
            what, self._lost = self._lost, ""
            raise StoreLostError(f"the store {what}", LOSS_HINT)

    def _open_files(self) -> None:
        left_open = store_files.was_left_open(self.path)
        store_files.create_store(self.path)
        wait = DAEMON_WAIT if self._owner else COMMAND_WAIT
        db = self._writer = _open_file(self.path, "rw", wait)
        found = self.path.stat()
        self._file = found.st_dev, found.st_ino
        mode = "TRUNCATE" if is_on_network(self.state_dir) else "WAL"
        _set_journal(db, mode, wait)
        for setting in SETTINGS:
            db.execute(f"PRAGMA {setting}")
        if left_open and self._owner:
            self._require_check()
        self.off = store_tables.make_tables(db, self._plugins)
        self.versions = store_tables.read_versions(db)
        self._reader = _open_file(self.path, "ro", wait, reads=True)
        self._fill()

    def _fill(self) -> None:
        """Read the choices of a person into a new store, and store what it replaces."""
        from tacitd.state.person_choices import FILE, match_file  # not for a command that only reads

        now, knows_choices = self._clock.now(), (self.state_dir / FILE).is_file()
        with self.write() as tx:
            self.is_new = not tx.rows("SELECT 1 FROM job WHERE plugin='engine' AND name='begin'")
            match_file(tx, self.state_dir, new=self.is_new)
            tx.execute("INSERT OR IGNORE INTO job(plugin, name, succeeded) VALUES('engine', 'begin', ?)", now)
            if self._lost:
                what = f"the store {self._lost}; positions, waiting prompts, history and costs are lost"
                lost = f"{FILE} is not there: exclude and share again what you had excluded and shared"
                choices = "your choices hold" if knows_choices else lost
                hint = (
                    f"what was learned is in your files; {choices}; `tacitd scan` reads old transcripts again"
                )
                sql = "INSERT OR REPLACE INTO degradation(owner, id, what, hint, since) VALUES('engine', ?, ?, ?, ?)"
                tx.execute(sql, LOST, what, hint, now)

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
        db = self._require_open()
        try:
            db.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            self._explain(error, self._file)
        self._busy_since = None
        return db

    def _require_open(self) -> sqlite3.Connection:
        assert self._writer is not None
        return self._writer

    # --- faults

    def _require_file(self) -> None:
        """Raises StoreLostError if the name of the store belongs to another file or to none."""
        try:
            found = self.path.stat()
            if (found.st_dev, found.st_ino) == self._file:
                return
            what = "replaced"
        except FileNotFoundError:
            what = "deleted"
        except OSError as error:
            raise describe_error(self.path, error, 0.0) from error
        self._begin_anew(f"was {what} while it was open")

    def _require_check(self) -> None:
        """Raises sqlite3.DatabaseError. It has a connection of its own: a write does not wait."""
        db = _open_file(self.path, "rw", DAEMON_WAIT)
        try:
            found = db.execute("PRAGMA quick_check(1)").fetchall()
        finally:
            db.close()
        if found != [("ok",)]:
            error = sqlite3.DatabaseError(f"quick_check: {found}")
            error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise error

    def _explain(self, error: sqlite3.Error, file: tuple[int, int]) -> NoReturn:
        """Raise what an error of SQLite about this file means. With the lock."""
        if code_of(error) in DAMAGE:
            if file != self._file:  # another thread met the damage first
                raise StoreLostError("the store was damaged", LOSS_HINT)
            self._begin_anew("was damaged")
        now = self._clock.monotonic()
        self._busy_since = now if self._busy_since is None else self._busy_since
        busy = now - self._busy_since if self._owner else COMMAND_WAIT
        raise describe_error(self.path, error, busy) from error

    def _begin_anew(self, what: str) -> NoReturn:
        self._disconnect()
        self._in_write = False
        self._put_aside(what)
        self._reconnect()
        raise AssertionError("a new store was not reported")

    def _put_aside(self, what: str) -> None:
        """Rename the closed store. Raises StoreLostError if that is the daemon's task."""
        if not self._owner:
            raise StoreLostError(f"the store {what}", "`tacitd start` puts it aside and begins a new one")
        if self._lost:
            raise UnwritableError(f"the store {what} as soon as it was made", OS_ERROR_HINTS[errno.EIO])
        try:
            aside = store_files.put_aside(self.path, self._clock.now())
            self.generation += 1
        except OSError as error:
            raise describe_error(self.path, error, 0.0) from error
        self._lost = f"{what} and is kept as {aside.name} for {store_files.KEPT_DAYS} days" if aside else what


class ReadOnlyStore:
    def __init__(self, path: Path, db: sqlite3.Connection, versions: Mapping[str, int]) -> None:
        self.versions = versions
        """Of each owner's tables. A plugin that is not in it has none yet."""
        self._path = path
        self._db = db

    def rows(self, sql: str, *values: Value) -> list[Row]:
        """Raises UnwritableError, StoreLostError."""
        try:
            return self._db.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise describe_error(self._path, error, COMMAND_WAIT) from error

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def open_readonly(state_dir: Path) -> ReadOnlyStore | None:
    """Open the store for reading; None if there is none. Raises ConfigError or UnavailableError for one of another version,
    UnwritableError, StoreLostError."""
    path = state_dir / STORE
    try:
        if not path.stat().st_size:
            return None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:  # such as a directory of another user
        raise describe_error(path, error, COMMAND_WAIT) from error
    # A transaction that a killed process left in a journal can only be undone by a connection that may write.
    mode = "rw" if is_on_network(state_dir) else "ro"
    try:
        try:
            db, versions = _open_read(path, mode)
        except sqlite3.Error as error:
            # A full or read-only disk has no room for -shm. Then nobody has the store open, and it does not change meanwhile.
            if code_of(error) not in DISK or store_files.was_left_open(path):
                raise
            db, versions = _open_read(path, "ro&immutable=1")
    except sqlite3.Error as error:
        raise describe_error(path, error, COMMAND_WAIT) from error
    version = versions.get(store_tables.ENGINE, 0)
    if version == len(store_tables.ENGINE_STEPS):
        return ReadOnlyStore(path, db, versions)
    db.close()
    store_tables.require_version(version)
    if version:
        raise UnavailableError("the store is from an earlier version of tacitd", "`tacitd start` changes it")
    return None


def open_empty(plugins: Mapping[str, Sequence[str]]) -> ReadOnlyStore:
    """A store without rows, in memory only."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    store_tables.make_tables(db, plugins)
    return ReadOnlyStore(Path(":memory:"), db, store_tables.read_versions(db))


def _open_read(path: Path, mode: str) -> tuple[sqlite3.Connection, dict[str, int]]:
    db = _open_file(path, mode, COMMAND_WAIT, reads=True)
    try:
        return db, store_tables.read_versions(db)
    except BaseException:
        db.close()
        raise


def _roll_back(db: sqlite3.Connection) -> None:
    with suppress(sqlite3.Error):  # it is closed, or the disk's error has ended the transaction
        if db.in_transaction:
            db.execute("ROLLBACK")


def _set_journal(db: sqlite3.Connection, mode: str, wait: float) -> None:
    """SQLite does not wait itself for another process that sets it too, as two first starts do."""
    until = time.monotonic() + wait
    while True:
        try:
            db.execute(f"PRAGMA journal_mode={mode}")
        except sqlite3.Error as error:
            if code_of(error) not in BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def _open_file(path: Path, mode: str, wait: float, *, reads: bool = False) -> sqlite3.Connection:
    db = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=wait,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )
    if reads:
        db.execute("PRAGMA query_only=ON")
    return db
