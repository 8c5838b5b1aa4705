"""The model of a command: its calls are in the store, beside those of a daemon."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support_calls import list_calls
from support_claude import install_stand_in
from tacitd.clock import SystemClock
from tacitd.config.settings import load_config
from tacitd.errors import UnwritableError
from tacitd.model.budget import Budget
from tacitd.model.port import Answer, ModelRequest
from tacitd.model_factory import open_model
from tacitd.state.paths import Paths
from tacitd.store import Store

pytestmark = pytest.mark.scenario


def ask(tmp_path: Path) -> str:
    """Ask as a command does, and return the answer."""
    claude = install_stand_in(tmp_path / "bin", [{"reply": "fine"}])
    environ = {"HOME": str(tmp_path), "PATH": claude.path()}
    paths = Paths.from_env(environ)
    with open_model(paths, environ, load_config(paths.config_file, environ, {})) as (model, _):
        answer = model.ask(ModelRequest("a", "fast", purpose="doctor"))
    assert isinstance(answer, Answer)
    return answer.text


def test_calls_of_ended_processes_are_lost_and_others_go_on(tmp_path: Path) -> None:
    """DESIGN "The model": a daemon may be calling; what a killed command began counts as lost."""
    assert ask(tmp_path) == "fine"
    state = Paths.from_env({"HOME": str(tmp_path)}).state_dir
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    store = Store.open(state, SystemClock(), owner=False)
    with store.write() as tx:
        for process in (ended.pid, os.getppid()):
            tx.execute(
                "INSERT INTO call(plugin, purpose, tier, begun, day, process) VALUES('x', 'x', 'fast', ?, '2026-01-01', ?)",
                SystemClock().now(),
                process,
            )
    store.close()
    assert ask(tmp_path) == "fine"
    assert [one["outcome"] for one in list_calls(state)] == ["answered", "lost", None, "answered"]


def test_an_answer_is_not_lost_with_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DESIGN "Faults": a disk that is full when a call ends costs no answer."""

    def refuse(budget: Budget) -> None:
        raise UnwritableError("the disk is full", "free some space")

    monkeypatch.setattr(Budget, "save_ends", refuse)
    assert ask(tmp_path) == "fine"
