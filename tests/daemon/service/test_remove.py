"""`tacitd uninstall`: what is ours goes, what was learned stays, and each is said."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tacitd.errors import UnavailableError
from tacitd.files.locks import hold
from tacitd.paths import Paths
from tacitd.service.managers import Ran, Systemd
from tacitd.service.remove import remove


@pytest.fixture
def places(tmp_path: Path) -> Paths:
    made = Paths(
        tmp_path, tmp_path / "claude", tmp_path / "state", tmp_path / "config.toml", tmp_path / "run/tacitd/s"
    )
    made.socket.parent.mkdir(parents=True)
    made.state_dir.mkdir()
    (made.state_dir / "budget.jsonl").write_text("{}\n")
    made.config_file.write_text("")
    return made


def leave_a_socket(places: Paths) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(places.socket))


def test_without_purge_the_state_stays(places: Paths, tmp_path: Path) -> None:
    """The unit and the leftover socket go."""
    leave_a_socket(places)
    manager = Systemd.here({}, tmp_path, lambda argv: Ran(0, ""))
    manager.file.parent.mkdir(parents=True)
    manager.file.write_text("")
    said = list(remove(places, manager, purge=False))
    assert not manager.file.exists() and not places.socket.parent.exists()
    assert (places.state_dir / "budget.jsonl").exists()
    assert any("--purge" in text for text in said) and "learned" in said[-1]


def test_purge(places: Paths) -> None:
    """The state goes as well; a configuration that a person wrote is named and stays. A second time is fine."""
    said = list(remove(places, None, purge=True))
    assert not places.state_dir.exists() and places.config_file.exists()
    assert any("you wrote it" in text for text in said)
    assert list(remove(places, None, purge=True))


def test_a_daemon_that_does_not_go_stops_it(places: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is taken away under a daemon that runs."""
    monkeypatch.setattr("time.monotonic", iter(range(0, 10_000, 30)).__next__)
    with hold(places.state_dir / "lock"), pytest.raises(UnavailableError):
        list(remove(places, None, purge=True))
    assert (places.state_dir / "budget.jsonl").exists()
