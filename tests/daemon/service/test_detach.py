"""`tacitd start`: the result comes from the socket or from the child's end, never from a guess."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tacitd.files.locks import acquire_lock
from tacitd.service import detach
from tacitd.state.paths import Paths


@pytest.fixture
def places(tmp_path: Path) -> Paths:
    return Paths(tmp_path, tmp_path / "claude", tmp_path / "state", tmp_path / "c.toml", tmp_path / "s")


def play(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """The program that is started is a script."""
    monkeypatch.setattr(detach, "own_command", lambda: [sys.executable, "-c", f"import os, sys; {script}"])


def test_what_the_daemon_said_and_its_code_come_back(places: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong configuration: exit code 78 and its line, at once and not after a timeout."""
    play(monkeypatch, "os.write(2, b'tacitd: budget is wrong\\n'); sys.exit(78)")
    with pytest.raises(detach.StartFailedError, match="budget is wrong") as error:
        detach.spawn_daemon(places, os.environ)
    assert error.value.code == 78
    assert (places.state_dir / "start.log").stat().st_mode & 0o777 == 0o600


def test_a_daemon_that_dies_without_a_word(places: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed while it starts."""
    play(monkeypatch, "os.kill(os.getpid(), 9)")
    with pytest.raises(detach.StartFailedError, match="it printed nothing") as error:
        detach.spawn_daemon(places, os.environ)
    assert error.value.code == 1


def test_the_childs_own_hint_comes_back(places: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the log's name: the log holds only the same sentence."""
    play(
        monkeypatch,
        "os.write(2, b'tacitd: a file is in the way\\nhint: move it\\n'); sys.exit(69)",
    )
    with pytest.raises(detach.StartFailedError) as error:
        detach.spawn_daemon(places, os.environ)
    assert error.value.what == "the daemon did not start: a file is in the way"
    assert (error.value.hint, error.value.code) == ("move it", 69)


def test_a_slower_child_has_ended_when_the_start_returns(
    places: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise it took the lock after a `stop` that followed at once, and a daemon ran that nobody wanted."""
    ended = places.home / "ended"
    play(monkeypatch, f"import time; time.sleep(0.5); open({str(ended)!r}, 'w'); sys.exit(69)")
    answers = iter([None, 4711])
    monkeypatch.setattr(detach, "ping_daemon", lambda _: next(answers))
    assert detach.spawn_daemon(places, os.environ) == 4711 and ended.exists()


def test_one_that_runs_already(places: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another start was quicker while this one looked for the client: no second process, and no failure."""
    play(monkeypatch, f"open({str(places.home / 'ran')!r}, 'w')")
    monkeypatch.setattr(detach, "ping_daemon", lambda _: 4711)
    assert detach.spawn_daemon(places, os.environ) == 4711 and not (places.home / "ran").exists()


def test_gone_means_that_the_lock_is_free(places: Paths) -> None:
    """The socket is removed first; a start at that moment would find the lock held."""
    assert detach.wait_until_gone(places.state_dir, 0)
    lock = acquire_lock(places.state_dir / "lock")
    assert not detach.wait_until_gone(places.state_dir, 0)
    lock.release()
    assert detach.wait_until_gone(places.state_dir, 0)
