"""What a person decided: rows of the store, each also a line of `choices.jsonl`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support_faulty_disk import Crash
from support_store import CrashSteps
from tacitd.errors import TacitdError
from tacitd.state.person_choices import FILE, Choice, choose, list_choices, withdraw
from tacitd.state.store_files import STORE
from tacitd.store import Store
from tacitd.testing import FakeClock

EXCLUDE = Choice("project", "/home/ann/größe", "exclude", "", 5.0)
PAUSE = Choice("all", "", "pause", "", 6.0)
NEVER = Choice("text", "0a1b", "never", "", 7.0)
ALIAS = Choice("project", "/home/ann/app", "alias", "/workspace", 8.0)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def _choose(state: Path, *choices: Choice) -> None:
    store = Store.open(state, FakeClock())
    for choice in choices:
        with store.write() as tx:
            choose(tx, state, choice)
    store.close()


def _list(state: Path) -> list[Choice]:
    store = Store.open(state, FakeClock())
    with store.write() as tx:
        found = list_choices(tx)
    store.close()
    return found


def _lose_store(state: Path) -> None:
    (state / STORE).unlink()


def test_a_fresh_store_has_the_choices(state: Path) -> None:
    """DESIGN "The store": deleting the store loses no choice."""
    _choose(state, EXCLUDE, PAUSE, NEVER, ALIAS)
    assert (state / FILE).stat().st_mode & 0o777 == 0o600
    assert len((state / FILE).read_bytes().splitlines()) == 4
    _lose_store(state)
    assert _list(state) == [EXCLUDE, PAUSE, NEVER, ALIAS]


def test_a_withdrawn_choice_stays_withdrawn(state: Path) -> None:
    """`resume` and `share` hold in a fresh store too: of exclude, share and local the last counts."""
    share = EXCLUDE._replace(what="share", at=9.0)
    _choose(state, EXCLUDE, PAUSE, share)
    store = Store.open(state, FakeClock())
    with store.write() as tx:
        assert withdraw(tx, state, PAUSE)
        assert not withdraw(tx, state, PAUSE)
    store.close()
    assert _list(state) == [share]
    _lose_store(state)
    assert _list(state) == [share]


@pytest.mark.parametrize("at", [1, 2])
def test_a_crash_at_a_choice(state: Path, at: int) -> None:
    """The store is the truth: a line whose transaction was not committed is taken out at the next start, and a choice that was
    committed is in a fresh store."""
    steps = CrashSteps()
    store = Store.open(state, FakeClock(), on_step=steps)
    steps.arm(at)
    with pytest.raises(Crash), store.write() as tx:
        choose(tx, state, EXCLUDE)
    store.close()
    kept = [] if at == 1 else [EXCLUDE]
    assert _list(state) == kept
    _lose_store(state)
    assert _list(state) == kept


def test_a_choice_is_not_made_without_its_line(state: Path) -> None:
    """A choice that a fresh store would not know is not made: the person is told why."""
    store = Store.open(state, FakeClock())
    (state / FILE).mkdir()
    with pytest.raises(TacitdError) as failed, store.write() as tx:
        choose(tx, state, EXCLUDE)
    assert FILE in str(failed.value)
    (state / FILE).rmdir()
    with store.write() as tx:
        assert list_choices(tx) == []
    store.close()


def test_a_file_that_was_changed_by_hand(state: Path) -> None:
    """A torn line and lines of no known form are left out of a fresh store, and a line after them counts, as one behind a byte order mark
    does. A file that was deleted is written anew from the store."""
    _choose(state, EXCLUDE)
    (state / FILE).write_bytes(b"\xef\xbb\xbf" + (state / FILE).read_bytes() + b"[" * 100_000 + b"\n")
    with (state / FILE).open("ab") as file:
        file.write(
            b'\xff\n[1]\n{"scope": "all", "name": "", "what": "fly", "at": 1}\n{"scope": "all", "name": 5}\n{"scope": "al'
        )
    _lose_store(state)
    assert _list(state) == [EXCLUDE]
    _choose(state, PAUSE)
    _lose_store(state)
    assert _list(state) == [EXCLUDE, PAUSE]
    (state / FILE).unlink()
    assert _list(state) == [EXCLUDE, PAUSE]
    assert [json.loads(line)["what"] for line in (state / FILE).read_bytes().splitlines()] == [
        "exclude",
        "pause",
    ]


def test_the_first_designs_exclusions_are_read_once(state: Path) -> None:
    """DESIGN "The store": they are read into choices.jsonl; its file is left alone."""
    state.mkdir(mode=0o700)
    file = state / "projects.jsonl"
    modes = (("/a", "off"), ("/b", "shared"), ("/c", "off"), ("/d", "off"), ("/c", ""))
    rows = [{"at": 1.0, "project": root, "write": mode} for root, mode in modes]
    file.write_text("".join(f"{json.dumps(one)}\n" for one in rows))
    before = file.read_bytes()
    excluded = [("project", "/a", "exclude"), ("project", "/d", "exclude")]
    assert [choice[:3] for choice in _list(state)] == excluded
    assert file.read_bytes() == before and len((state / FILE).read_bytes().splitlines()) == 2
    store = Store.open(state, FakeClock())
    with store.write() as tx:
        withdraw(tx, state, Choice("project", "/a", "exclude"))
    store.close()
    _lose_store(state)
    assert [choice[:3] for choice in _list(state)] == excluded[1:]
