"""The banner of `tacitd run`."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tacitd.app import App
from tacitd.cli.run_command import banner_lines
from tacitd.sources.watch import SilentWatcher
from tacitd.state.paths import Paths
from tacitd.testing import FakeClock, ScriptedModel

Make = Callable[..., App]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Builds an App in a temporary directory, each an hour after the one before."""
    clock = FakeClock()

    def one(key: str = "", **settings: str) -> App:
        box = tmp_path
        places = Paths(box, box / "claude", box / "state", box / "none.toml", box / "s")
        environ = {f"TACITD_{name}": value for name, value in settings.items()}
        environ |= {"ANTHROPIC_API_KEY": key} if key else {}
        model = ScriptedModel()
        clock.advance(3600.0)
        return App(
            places, environ, clock=clock, model=lambda config, budget: model, watcher_for=SilentWatcher
        )

    return one


def test_it_says_what_it_watches_what_it_may_cost_and_where_it_is(make: Make, tmp_path: Path) -> None:
    """Issue "it says at once what it watches, what it may cost, and what is missing"; the past costs nothing."""
    (tmp_path / "claude/projects/p").mkdir(parents=True)
    (tmp_path / "claude/projects/p/s.jsonl").write_text("")
    with make(BUDGET__USD_PER_DAY="2", BUDGET__CALLS_PER_DAY="7", SESSION__IDLE="45m") as app:
        text = "\n".join(banner_lines(app))
    assert f"watches {tmp_path / 'claude/projects'} (1 transcripts)" in text
    assert "at most $2.00 a day, $10.00 a month and 7 calls a day" in text
    assert "`tacitd scan --since 30d`" in text and "45m" in text and str(tmp_path / "state") in text


def test_the_first_start_is_said_once(make: Make) -> None:
    """Existing transcripts are taken as read at the very first start only."""
    with make() as app:
        assert any("first start" in line for line in banner_lines(app))
    with make() as app:
        assert not any("first start" in line for line in banner_lines(app))


def test_the_first_start_says_what_doctor_knows(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue 39, point 9: a client that is not logged in, a key that is not passed on, no plugin, files that git tracks; said once."""
    (tmp_path / "app").mkdir()
    monkeypatch.chdir(tmp_path / "app")
    for command in (["init", "-q"], ["add", "-f", "AGENTS.md"]):
        (tmp_path / "app/AGENTS.md").write_text("# Ours\n")
        subprocess.run(["git", *command], check=True)
    client = tmp_path / "logged-out"
    client.write_text('#!/bin/sh\n[ "$1" = auth ] && echo \'{"loggedIn": false}\'\n')
    client.chmod(0o755)
    with make(CLAUDE__COMMAND=str(client), key="x") as app:
        text = "\n".join(banner_lines(app))
    assert (
        "missing: claude is not logged in" in text
        and "ANTHROPIC_API_KEY is set, but not passed to it" in text
    )
    assert "the plugin is not in Claude Code" in text and "hint: `tacitd plugin install`" in text
    assert f"git tracks AGENTS.md in {tmp_path / 'app'}" in text
    with make(CLAUDE__COMMAND=str(client)) as app:
        assert "plugin" not in "\n".join(banner_lines(app))


def test_a_file_outside_the_projects_is_named(make: Make, tmp_path: Path) -> None:
    """The hook `banner`: no surprise about files. What is turned off is not named."""
    with make() as app:
        assert str(tmp_path / "claude/rules/tacitd.md") in "\n".join(banner_lines(app))
    with make(REACH__USER_RULES="false") as app:
        assert "tacitd.md" not in "\n".join(banner_lines(app))
