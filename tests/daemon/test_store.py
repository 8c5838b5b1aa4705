"""The store: its files, its tables, transactions, and reading."""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from support_faulty_disk import Crash
from support_store import CrashSteps
from tacitd.contract import Tx
from tacitd.errors import ConfigError, UnavailableError, UnwritableError
from tacitd.state import store_tables
from tacitd.state.store_files import STORE
from tacitd.store import Store, open_readonly, savepoint
from tacitd.testing import FakeClock

INSERT = "INSERT INTO shown(session, name, digest, at) VALUES('s', ?, x'00', 1)"
NAMES = "SELECT name FROM shown ORDER BY name"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def store(state: Path) -> Iterator[Store]:
    one = Store.open(state, FakeClock())
    yield one
    one.close()


def _modes(state: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in state.iterdir()}


@pytest.fixture
def steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a plugin `toy_steps` whose steps a test writes."""
    folder = tmp_path / "toy_steps"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "1.sql").write_text("CREATE TABLE toy_word(\n  word TEXT PRIMARY KEY -- text\n);\n-- the end\n")
    (folder / "2.sql").write_text("ALTER TABLE toy_word ADD COLUMN note TEXT /* text */;")
    (folder / "wrong.sql").write_text("CREATE TABLE toy_wrong(x);\nCREATE TABLE toy_wrong(x);")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "toy_steps", raising=False)
    return folder


# --- files and tables ----------------------------------------------------------------------------------------------


def test_every_file_is_private_whatever_the_umask(state: Path) -> None:
    """DESIGN "Where it writes": tacitd's own files are 0600 in 0700, also those that SQLite makes beside the store."""
    before = os.umask(0o000)
    try:
        store = Store.open(state, FakeClock())
    finally:
        os.umask(before)
    assert state.stat().st_mode & 0o777 == 0o700
    assert _modes(state) == {STORE: 0o600, f"{STORE}-wal": 0o600, f"{STORE}-shm": 0o600}
    store.close()
    (state / STORE).chmod(0o644)
    Store.open(state, FakeClock()).close()
    assert _modes(state) == {STORE: 0o600}


@pytest.mark.parametrize(
    ("lines", "mode"),
    [
        ("1 0 8:1 / / rw - ext4 disk rw\n2 1 0:9 / {0} rw - nfs4 host:/a rw\n", "truncate"),
        ("1 0 8:1 / / rw - ext4 disk rw\n2 1 0:9 / {0}x rw - nfs4 host:/a rw\n", "wal"),
        ("1 0 8:1 / / rw - nfs disk rw\n2 1 0:9 / {0} rw - ext4 disk rw\n", "wal"),
        ("1 0 8:1 / / rw shared:1 - fuse.sshfs ann@host:/ rw\n", "truncate"),
    ],
)
def test_a_network_file_system_gets_no_write_ahead_log(
    lines: str, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DESIGN "The store": a write-ahead log is not safe with two hosts, so TRUNCATE is used there; the file system is that of
    the longest mount point, whose name may have a space."""
    state = tmp_path / "a state"
    mounts = tmp_path / "mounts"
    mounts.write_text(lines.format(str(state.resolve()).replace(" ", "\\040")))
    monkeypatch.setattr("tacitd.files.mounts.MOUNTS", mounts)
    store = Store.open(state, FakeClock())
    with store.write() as tx:
        tx.execute(INSERT, "a")
    assert (state / f"{STORE}-journal").exists() is (mode != "wal")
    assert (state / f"{STORE}-wal").exists() is (mode == "wal")
    reader = open_readonly(state)
    assert reader is not None and reader.rows(NAMES) == [("a",)]
    assert reader.versions == {"engine": 1}
    with pytest.raises(UnwritableError, match="readonly"):
        reader.rows("DELETE FROM shown")
    reader.close()
    store.close()


def test_steps_of_a_plugin_run_once_and_in_order(state: Path, steps: Path) -> None:
    """DESIGN "The store": a change is a numbered step, run at a start with its version in one transaction."""
    Store.open(state, FakeClock(), {"toy": ["toy_steps:1.sql"]}).close()
    both = {"toy": ["toy_steps:1.sql", "toy_steps:2.sql"]}
    for _ in range(2):
        store = Store.open(state, FakeClock(), both)
        assert store.off == {}
        assert store.rows("SELECT owner, version FROM schema_version ORDER BY owner") == [
            ("engine", 1),
            ("toy", 2),
        ]
        assert store.rows("SELECT note FROM toy_word") == []
        with store.write() as tx:
            columns = store_tables.list_text_columns(tx)
        assert {("toy_word", "word"), ("toy_word", "note"), ("prompt_text", "text"), ("plan", "put")} <= set(
            columns
        )
        assert ("prompt", "id") not in columns
        store.close()


def test_a_plugin_with_newer_or_wrong_tables_is_off(state: Path, steps: Path) -> None:
    """DESIGN "The store": a plugin whose tables are newer than known is off; a step that fails leaves nothing, and stops no other."""
    newer = {"toy": ["toy_steps:1.sql", "toy_steps:2.sql"]}
    Store.open(state, FakeClock(), newer).close()
    plugins = {
        "wrong": ["toy_steps:wrong.sql"],
        "absent": ["toy_steps:no.sql"],
        "odd": ["odd"],
        "toy": ["toy_steps:1.sql"],
    }
    store = Store.open(state, FakeClock(), plugins)
    assert set(store.off) == {"wrong", "absent", "odd", "toy"}
    assert "newer" in store.off["toy"] and "already exists" in store.off["wrong"]
    assert store.rows("SELECT name FROM sqlite_master WHERE name='toy_wrong'") == []
    with store.write() as tx:
        tx.execute(INSERT, "a")
    store.close()


def test_a_newer_engine_is_refused_with_exit_78(state: Path) -> None:
    """DESIGN "The store": the state of a newer version is not touched, and the exit code says so, for commands too."""
    store = Store.open(state, FakeClock())
    with store.write() as tx:
        tx.execute("UPDATE schema_version SET version=2")
    store.close()
    for opening in (lambda: Store.open(state, FakeClock()), lambda: open_readonly(state)):
        with pytest.raises(ConfigError, match="newer version") as refused:
            opening()
        assert refused.value.code == 78


def test_a_command_does_not_read_an_earlier_store(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command of a new version says that the daemon has to change the tables first."""
    Store.open(state, FakeClock()).close()
    monkeypatch.setattr(store_tables, "ENGINE_STEPS", ("tacitd:schema.sql", "tacitd:next.sql"))
    with pytest.raises(UnavailableError, match="earlier version"):
        open_readonly(state)


def test_two_stores_can_be_opened_at_once(state: Path) -> None:
    """A first start and a command at the same moment make the tables once."""
    opened: list[Store] = []
    threads = [
        threading.Thread(target=lambda: opened.append(Store.open(state, FakeClock(), owner=False)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 4 and sum(one.is_new for one in opened) == 1
    for one in opened:
        one.close()


# --- transactions ----------------------------------------------------------------------------------------------------


def test_a_transaction_is_whole_or_nothing(store: Store) -> None:
    """DESIGN "The store": what raises is rolled back; the store goes on."""
    with store.write() as tx:
        assert tx.execute(INSERT, "a").changed == 1
        assert tx.execute("INSERT INTO project(root, first_seen) VALUES('/p', 1)").row == 1
        tx.executemany(INSERT, [("b",), ("c",)])
        assert tx.rows(NAMES) == [("a",), ("b",), ("c",)]
        assert store.rows(NAMES) == []  # what is read elsewhere is what is committed
    with pytest.raises(KeyError), store.write() as tx:
        tx.execute("DELETE FROM shown")
        raise KeyError
    assert store.rows(NAMES) == [("a",), ("b",), ("c",)]
    with pytest.raises(sqlite3.IntegrityError), store.write() as tx:
        tx.execute(INSERT, "d")
        tx.execute("INSERT INTO prompt_task(plugin, prompt) VALUES('toy', 99)")
    assert store.rows(NAMES) == [("a",), ("b",), ("c",)]


def test_a_transaction_cannot_be_used_wrongly(store: Store) -> None:
    """A Tx is only valid inside of its block, and only the store ends it."""
    kept: list[Tx] = []
    with store.write() as tx:
        kept.append(tx)
        for statement in (
            "COMMIT",
            " rollback",
            "BEGIN",
            "PRAGMA synchronous=OFF",
            "ATTACH ':memory:' AS x",
            "END",
        ):
            with pytest.raises(ValueError, match="ended by the store"):
                tx.execute(statement)
        with pytest.raises(RuntimeError, match="a write inside a write"), store.write():
            pass
        tx.execute(INSERT, "a")
    with store.write(), pytest.raises(RuntimeError, match="only valid inside"):
        kept[0].execute(INSERT, "b")
    assert store.rows(NAMES) == [("a",)]
    with pytest.raises(UnwritableError, match="readonly"):
        store.rows("DELETE FROM shown")


def test_a_closed_store_is_not_opened_again(state: Path) -> None:
    """What still runs after the end of the daemon gets an error, and no store of its own."""
    store = Store.open(state, FakeClock())
    store.close()
    with pytest.raises(RuntimeError, match="closed"), store.write():
        pass
    with pytest.raises(RuntimeError, match="closed"):
        store.rows(NAMES)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("wrong"),
        OSError(28, "No space left on device"),
        sqlite3.OperationalError("disk I/O error"),
        sqlite3.DatabaseError("database disk image is malformed"),
        RecursionError(),
    ],
)
def test_a_fault_of_a_plugin_is_its_own(store: Store, error: Exception) -> None:
    """RELIABILITY, DESIGN "Ingest": a part that raises anything is rolled back alone; `in_transaction` is still true."""
    with store.write() as tx:
        tx.execute(INSERT, "before")
        with savepoint(tx) as part:
            tx.execute(INSERT, "inside")
            raise error
        assert part.error is error
        with savepoint(tx) as part:
            tx.execute("INSERT INTO nowhere VALUES(1)")
        assert isinstance(part.error, sqlite3.OperationalError)
        with savepoint(tx) as part:
            tx.execute(INSERT, "after")
        assert part.error is None
    assert store.rows(NAMES) == [("after",), ("before",)]


def test_an_end_of_the_process_passes_through_a_savepoint(store: Store) -> None:
    """A crash or Ctrl-C is no fault of a plugin."""
    with pytest.raises(KeyboardInterrupt), store.write() as tx, savepoint(tx):
        tx.execute(INSERT, "a")
        raise KeyboardInterrupt
    assert store.rows(NAMES) == []


def test_threads_take_turns(store: Store) -> None:
    """One writing connection under one lock; each thread may read at any time."""

    def work(number: int) -> None:
        for each in range(20):
            with store.write() as tx:
                ((before,),) = tx.rows("SELECT count(*) FROM shown")
                tx.execute(INSERT, f"{number}-{each}")
                assert tx.rows("SELECT count(*) FROM shown") == [(before + 1,)]
            assert (f"{number}-{each}",) in store.rows(NAMES)

    failed: list[object] = []
    before, threading.excepthook = threading.excepthook, failed.append
    try:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        threading.excepthook = before
    assert failed == []
    assert store.rows("SELECT count(*) FROM shown") == [(80,)]


@pytest.mark.parametrize(("at", "step", "kept"), [(1, "before commit", []), (2, "committed", [("a",)])])
def test_a_crash_at_each_durable_step(state: Path, at: int, step: str, kept: list[tuple[str]]) -> None:
    """A process that ends before the commit leaves nothing, one that ends after it everything."""
    steps = CrashSteps()
    store = Store.open(state, FakeClock(), on_step=steps)
    steps.arm(at)
    with pytest.raises(Crash, match=step), store.write() as tx:
        tx.execute(INSERT, "a")
    with pytest.raises(Crash), store.write() as tx:
        tx.execute(INSERT, "of a dead process")
    store.close()
    again = Store.open(state, FakeClock())
    assert again.rows(NAMES) == kept
    again.close()


# --- reading ---------------------------------------------------------------------------------------------------------


def test_a_command_reads_with_and_without_a_daemon(state: Path) -> None:
    """DESIGN "Commands": a command that only reads needs no daemon and changes nothing."""
    assert open_readonly(state) is None
    assert not state.exists()
    store = Store.open(state, FakeClock())
    for number in range(2):
        with store.write() as tx:
            tx.execute(INSERT, str(number))
        reader = open_readonly(state)
        assert reader is not None
        with reader:
            assert len(reader.rows(NAMES)) == number + 1
            with pytest.raises(UnwritableError, match="readonly"):
                reader.rows("DELETE FROM shown")
    store.close()
    before = (state / STORE).read_bytes()
    for _ in range(2):
        with open_readonly(state) or pytest.fail() as reader:
            assert len(reader.rows(NAMES)) == 2
    assert (state / STORE).read_bytes() == before
    assert set(_modes(state).values()) == {0o600}


def test_a_store_that_was_just_created_is_none(state: Path) -> None:
    """A crash between the creation of the file and its tables leaves an empty file: there is nothing to read, and it is filled."""
    state.mkdir()
    (state / STORE).touch()
    assert open_readonly(state) is None
    store = Store.open(state, FakeClock())
    assert store.is_new and store.rows(NAMES) == []
    store.close()
