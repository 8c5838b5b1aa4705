"""A store that is damaged, deleted or replaced, and what a purge leaves in its files."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

import tacitd.store
from support_store import run_store
from tacitd.errors import BusyStoreError, StoreLostError, TacitdError
from tacitd.state.person_choices import FILE, Choice, choose, list_choices
from tacitd.state.store_files import STORE, code_of, put_aside
from tacitd.store import Store, open_readonly
from tacitd.testing import DAY, FakeClock
from tacitd.work.prompt_rows import finish_prompts

INSERT = (
    "INSERT INTO shown(session, name, digest, at) VALUES('s', ?, replace(hex(zeroblob(450)), '00', 'sd'), 1)"
)
EXCLUDED = Choice("project", "/home/ann/private", "exclude", "", 5.0)


def _make(state: Path, rows: int = 400) -> None:
    """A store with some pages and a choice, closed."""
    store = Store.open(state, FakeClock())
    with store.write() as tx:
        tx.executemany(INSERT, [(f"{number:04}",) for number in range(rows)])
        choose(tx, state, EXCLUDED)
    store.close()


def _aside(state: Path) -> list[str]:
    return [path.name for path in sorted(state.iterdir()) if path.name.startswith(f"{STORE}.")]


def _require_new(store: Store, how: str) -> None:
    """The store is new, has the person's choices, and says what is lost."""
    assert store.is_new and store.rows("SELECT count(*) FROM shown") == [(0,)]
    with store.write() as tx:
        assert list_choices(tx) == [EXCLUDED]
    ((owner, what, hint),) = store.rows("SELECT owner, what, hint FROM degradation")
    assert owner == "engine" and how in what and "positions" in what and "files" in hint
    assert "your choices hold" in hint


def _garble(path: Path) -> None:
    """Garble the pages with the rows of `shown`: the store opens, and other queries work."""
    data = bytearray(path.read_bytes())
    for page in range(0, len(data), 4096):
        if b"sd" * 450 in data[page : page + 4096]:
            data[page : page + 8] = b"\xa5" * 8
    path.write_bytes(data)


def _zero_header(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"\0" * 100)


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _replace(path: Path) -> None:
    path.write_bytes(b'{"k": "born"}\n' * 1000)


@pytest.mark.parametrize("damage", [_garble, _zero_header, _cut, _replace])
def test_a_damaged_store_is_put_aside_at_a_start(damage: Callable[[Path], None], tmp_path: Path) -> None:
    """DESIGN "Faults": after an unclean end the store is checked; a damaged one is put aside with its date, the new one has the
    person's choices, and `status` says what that lost. Nothing is started afresh without a word."""
    state, clock = tmp_path / "state", FakeClock()
    _make(state)
    damage(state / STORE)
    (state / f"{STORE}-wal").write_bytes(b"left by a killed process")
    damaged = (state / STORE).read_bytes()
    store = Store.open(state, clock)
    _require_new(store, "was damaged")
    name = f"{STORE}.{datetime.fromtimestamp(clock.wall).strftime('%Y-%m-%dT%H-%M-%S')}"
    assert name in _aside(state) and (state / name).read_bytes() == damaged
    assert (state / name).stat().st_mode & 0o777 == 0o600
    assert name in store.rows("SELECT what FROM degradation")[0][0]
    store.close()
    again = Store.open(state, clock)
    assert not again.is_new and len(_aside(state)) >= 1
    again.close()


@pytest.mark.scenario
@pytest.mark.undated
def test_a_sound_store_is_kept_after_an_unclean_end(tmp_path: Path) -> None:
    """A killed daemon is the normal case: nothing is put aside. Garbage in the log of a killed process is ignored."""
    state = tmp_path / "state"
    _make(state)
    for _ in range(2):
        run_store("add(Store.open(state, SystemClock()), 1)\nprint('1', flush=True)\nos._exit(0)", state)
        store = Store.open(state, FakeClock())
        assert store.rows("SELECT count(*) FROM shown") == [(401,)] and _aside(state) == []
        store.close()
        (state / f"{STORE}-wal").write_bytes(os.urandom(100_000))


def test_damage_that_a_query_meets(tmp_path: Path) -> None:
    """DESIGN "Faults": 200 garbled pages open without an error, and one query raises: the daemon begins a new store then, and
    whoever had read it is told; a command only says it."""
    state = tmp_path / "state"
    _make(state)
    _garble(state / STORE)
    store = Store.open(state, FakeClock())
    with pytest.raises(StoreLostError, match="was damaged"):
        store.rows("SELECT sum(length(digest)) FROM shown")
    _require_new(store, "was damaged")
    store.close()


@pytest.mark.parametrize("table", ["job", "choice", "degradation", "schema_version"])
def test_damage_that_a_start_meets(table: str, tmp_path: Path) -> None:
    """A store that was closed is not checked at a start. What the start itself reads may be garbled: then it begins a new one."""
    state = tmp_path / "state"
    _make(state)
    db = sqlite3.connect(state / STORE)
    ((page,),) = db.execute("SELECT rootpage FROM sqlite_master WHERE name=?", (table,))
    db.close()
    with (state / STORE).open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xa5" * 60)
    store = Store.open(state, FakeClock())
    if table == "degradation":  # nothing has read it
        with pytest.raises(StoreLostError):
            store.rows("SELECT * FROM degradation")
    _require_new(store, "was damaged")
    assert len(_aside(state)) == 1
    store.close()


def test_damage_that_two_threads_meet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that comes second is told too, and does not put the new store aside."""
    state, met = tmp_path / "state", threading.Event()
    _make(state)
    _garble(state / STORE)
    store = Store.open(state, FakeClock())

    def code_and_signal(error: sqlite3.Error) -> int:
        met.set()
        return code_of(error)

    told: list[StoreLostError] = []

    def read() -> None:
        try:
            store.rows("SELECT sum(length(digest)) FROM shown")
        except StoreLostError as error:
            told.append(error)

    thread = threading.Thread(target=read)
    with pytest.raises(StoreLostError), store.write() as tx:
        with monkeypatch.context() as patch:
            patch.setattr(tacitd.store, "code_of", code_and_signal)
            thread.start()
            assert met.wait(60)
        tx.rows("SELECT sum(length(digest)) FROM shown")
    thread.join()
    assert len(told) == 1 and len(_aside(state)) == 1
    _require_new(store, "was damaged")
    store.close()


def test_a_command_leaves_a_damaged_store_to_the_daemon(tmp_path: Path) -> None:
    """Two processes must not both begin a new store: a command names the damage, and changes nothing."""
    state = tmp_path / "state"
    _make(state)
    _zero_header(state / STORE)
    before = (state / STORE).read_bytes()
    for opening in (lambda: Store.open(state, FakeClock(), owner=False), lambda: open_readonly(state)):
        with pytest.raises(StoreLostError, match="damaged") as refused:
            opening()
        assert "tacitd start" in refused.value.hint
    assert (state / STORE).read_bytes() == before and _aside(state) == []


def test_a_store_is_checked_once_a_day(tmp_path: Path) -> None:
    """DESIGN "Faults": a garbled page that no query meets is found within a day; a clock that was set back does not stop the check.
    What was put aside goes after 30 days, and with it the line of `status`."""
    state, clock = tmp_path / "state", FakeClock()
    _make(state)
    store = Store.open(state, clock)
    store.check()
    store.close()
    _garble(state / STORE)
    store = Store.open(state, clock)
    clock.advance(DAY - 60)
    store.check()
    assert _aside(state) == []
    clock.jump(-DAY)
    with pytest.raises(StoreLostError, match="was damaged"):
        store.check()
    _require_new(store, "was damaged")
    assert len(_aside(state)) == 1
    clock.advance(29 * DAY)
    store.check()
    assert len(_aside(state)) == 1 and store.rows("SELECT 1 FROM degradation")
    clock.advance(2 * DAY)
    store.check()
    assert _aside(state) == [] and not store.rows("SELECT 1 FROM degradation")
    store.close()


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_a_store_that_is_gone_while_open_takes_no_commit(how: str, tmp_path: Path) -> None:
    """DESIGN "Faults": SQLite goes on committing into a deleted file. The inode is compared before each commit, and a new store
    is begun; a copy that was put in its place is an older state, and is put aside too."""
    state = tmp_path / "state"
    _make(state)
    copy = (state / STORE).read_bytes()
    store = Store.open(state, FakeClock())
    with store.write() as tx:
        tx.execute(INSERT, "before")
    for path in list(state.iterdir()):
        if path.name.startswith(STORE):
            path.unlink()
    if how == "replaced":
        (state / "copy").write_bytes(copy)
        (state / "copy").replace(state / STORE)
    with pytest.raises(StoreLostError, match=f"was {how}"), store.write() as tx:
        tx.execute(INSERT, "into nothing")
    _require_new(store, f"was {how} while it was open")
    assert len(_aside(state)) == (how == "replaced")
    with store.write() as tx:
        tx.execute(INSERT, "after")
    store.close()
    with open_readonly(state) or pytest.fail() as reader:
        assert reader.rows("SELECT name FROM shown") == [("after",)]


def test_choices_hold_only_if_their_file_is_there(tmp_path: Path) -> None:
    """The whole state directory is deleted while the store is open: nobody is told that what was excluded stays so."""
    state = tmp_path / "state"
    _make(state)
    store = Store.open(state, FakeClock())
    shutil.rmtree(state)
    with pytest.raises(StoreLostError), store.write() as tx:
        tx.execute(INSERT, "into nothing")
    ((hint,),) = store.rows("SELECT hint FROM degradation")
    assert "your choices hold" not in hint and "exclude and share again" in hint
    store.close()


def test_a_new_store_that_cannot_be_made_yet_is_reported_later(tmp_path: Path) -> None:
    """The store is deleted, and the choices cannot be read at that moment: no transaction succeeds before they are known, and
    whoever kept positions in memory is told once."""
    state = tmp_path / "state"
    _make(state)
    store = Store.open(state, FakeClock())
    (state / STORE).unlink()
    (state / FILE).rename(state / "kept")
    (state / FILE).mkdir()
    for _ in range(2):
        with pytest.raises(TacitdError, match="director"), store.write() as tx:
            tx.execute(INSERT, "a")
    (state / FILE).rmdir()
    (state / "kept").rename(state / FILE)
    with pytest.raises(StoreLostError), store.write() as tx:
        tx.execute(INSERT, "a")
    with store.write() as tx:
        tx.execute(INSERT, "a")
        assert list_choices(tx) == [EXCLUDED]
    store.close()


@pytest.mark.scenario
@pytest.mark.undated
def test_a_crash_while_a_store_is_put_aside(tmp_path: Path) -> None:
    """Only the store itself was renamed: its log is not applied to the new one."""
    state = tmp_path / "state"
    run_store("add(Store.open(state, SystemClock()), 1)\nprint('1', flush=True)\nos._exit(0)", state)
    assert (state / f"{STORE}-wal").stat().st_size > 0
    (state / STORE).rename(state / f"{STORE}.2026-02-19T14-30-05")
    store = Store.open(state, FakeClock())
    assert store.is_new and store.rows("SELECT count(*) FROM shown") == [(0,)]
    store.close()


def test_two_stores_put_aside_in_one_second(tmp_path: Path) -> None:
    """None replaces another."""
    for _ in range(3):
        (tmp_path / STORE).touch()
        assert put_aside(tmp_path / STORE, 1_771_511_405.0) is not None
    assert put_aside(tmp_path / STORE, 1_771_511_405.0) is None
    assert len(_aside(tmp_path)) == 3


# --- purge ---------------------------------------------------------------------------------------------------------------

WORDS = "the wren nests behind the boiler"
UNICODE = "der Zaunkönig nistet im Café"


def _store_words(store: Store) -> None:
    """Rows with the words in every kind of column, among many that moved and went before."""
    with store.write() as tx:
        tx.execute("INSERT INTO project(number, root, first_seen) VALUES(1, '/p', 1)")
        for number in range(300):
            text = f"{number}: {WORDS if number % 7 == 0 else 'something else'} and {UNICODE} " * (
                number % 9 + 1
            )
            tx.execute(
                "INSERT INTO prompt(number, id, digest, source, session, project, kind, typed, ingested)"
                " VALUES(?1, ?1, x'00', 'claude-code', 's', 1, 'typed', 1, 1)",
                number,
            )
            tx.execute(
                "INSERT INTO prompt_text(prompt, text, context, transcript, cwd) VALUES(?, ?, ?, 't', '/p')",
                *(number, text, WORDS),
            )
        tx.execute(
            "INSERT INTO task(plugin, lane, kind, key, data, created, due) VALUES('toy', '', 'message', 'k', ?, 1, 1)",
            '{"said": "caf\\u00e9 \\n'
            + UNICODE.replace("ö", "\\u00f6").replace("é", "\\u00e9")
            + '", "'
            + WORDS
            + '": 1}',
        )
        tx.execute("INSERT INTO shared_file(path, plugin, format) VALUES('/p/L.md', 'toy', 'bullets')")
        for end in ("", "."):
            tx.execute("INSERT INTO shared_leaf VALUES('/p/L.md', ?, ?, 0)", f"## A\n{WORDS}{end}", WORDS)
    with store.write() as tx:
        tx.execute("DELETE FROM prompt_text WHERE prompt % 3 = 0")
        finish_prompts(tx, "", range(0, 300, 2), 1)


def test_a_purge_leaves_no_byte_of_the_words(tmp_path: Path) -> None:
    """DESIGN "The store": purge goes through the marked columns, truncates the log and removes damaged copies; also words of rows
    that were deleted or moved before are in no file."""
    state = tmp_path / "state"
    store = Store.open(state, FakeClock())
    _store_words(store)
    (state / f"{STORE}.2026-02-19T14-30-05").write_text(WORDS)
    (state / f"{STORE}.2026-02-19T14-30-05-wal").write_text(WORDS)
    assert store.purge_words([WORDS, UNICODE]) > 200
    assert _aside(state) == []
    for path in state.iterdir():
        data = path.read_bytes()
        for word in ("wren nests", "Zaunk", "boiler"):
            assert word.encode() not in data, path
    ((data,),) = store.rows("SELECT data FROM task")
    assert json.loads(data) == {"said": "café \n[forgotten]", "[forgotten]": 1}
    assert store.rows("SELECT count(*) FROM shared_leaf") == [(2,)]
    assert "something else" in store.rows("SELECT text FROM prompt_text WHERE prompt=1")[0][0]
    assert store.purge_words([WORDS, ""]) == 0
    store.close()


def test_words_of_rows_that_moved_are_gone(tmp_path: Path) -> None:
    """DESIGN "The store": SQLite's secure_delete alone leaves bytes of rows that were moved to another page; they go too."""
    state, chance = tmp_path / "state", random.Random(1)
    store = Store.open(state, FakeClock())
    insert = "INSERT INTO activity(at, plugin, did, text) VALUES(1, 'toy', 'learned', ?)"
    for _ in range(20):
        with store.write() as tx:
            for _ in range(300):
                end = WORDS if chance.random() < 0.3 else "something else"
                tx.execute(insert, "y" * chance.randrange(600) + end)
            ((last,),) = tx.rows("SELECT max(number) FROM activity")
            for _ in range(100):
                tx.execute("DELETE FROM activity WHERE number=?", chance.randrange(1, last))
                text = "z" * chance.randrange(900)
                tx.execute(
                    "UPDATE activity SET text=? || text WHERE number=?", text, chance.randrange(1, last)
                )
    assert store.purge_words([WORDS]) > 1000
    assert {path.name: path.read_bytes().count(b"wren nests") for path in state.iterdir()} == {
        STORE: 0,
        f"{STORE}-wal": 0,
        f"{STORE}-shm": 0,
    }
    store.close()


def test_a_short_text_is_removed_as_a_word(tmp_path: Path) -> None:
    """A text of three letters is no part of other words."""
    store = Store.open(tmp_path / "state", FakeClock())
    with store.write() as tx:
        tx.execute(
            "INSERT INTO activity(at, plugin, did, text) VALUES(1, 'toy', 'learned', 'the cat concatenates; cat')"
        )
    assert store.purge_words(["cat"]) == 1
    assert store.rows("SELECT text FROM activity") == [("the [forgotten] concatenates; [forgotten]",)]
    store.close()


def test_a_purge_beside_a_reader_is_repeated(tmp_path: Path) -> None:
    """Another process that reads keeps the words in the log: the purge says so, and can be repeated."""
    state = tmp_path / "state"
    store = Store.open(state, FakeClock())
    _store_words(store)
    other = sqlite3.connect(state / STORE, isolation_level=None)
    other.execute("BEGIN")
    other.execute("SELECT count(*) FROM prompt").fetchall()
    with pytest.raises(BusyStoreError):
        store.purge_words([WORDS])
    other.close()
    store.purge_words([WORDS])
    assert all(WORDS.encode() not in path.read_bytes() for path in state.iterdir())
    store.close()


def test_reading_goes_on_while_a_write_waits(tmp_path: Path) -> None:
    """`status` answers while a transaction takes long, such as one whose fsync hangs."""
    store = Store.open(tmp_path / "state", FakeClock())
    read: list[int] = []
    with store.write() as tx:
        tx.execute(INSERT, "a")
        thread = threading.Thread(target=lambda: read.append(len(store.rows("SELECT * FROM shown"))))
        thread.start()
        thread.join()
    assert read == [0]
    store.close()
