"""`tacitd plugin`: what it runs, what it prints, and that it writes nothing itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support_cli import Cli
from support_sources import ROOT

FAKE = """#!/bin/sh
echo "$@" >> "$HOME/called"
[ "$1" = --version ] && echo "${VERSION:-2.1.331} (Claude Code)"
settings=$HOME/.claude/settings.json
case "$*" in
"plugin install"*) echo '{"enabledPlugins": {"tacitd@tacitd": true}}' > "$settings" ;;
"plugin uninstall"*) echo '{"enabledPlugins": {}}' > "$settings" ;;
esac
"""
"""A client that writes its settings as the real one does."""


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    made = Cli(tmp_path, monkeypatch, capsys)
    made.config_dir.mkdir()
    monkeypatch.chdir(tmp_path)
    return made


def put_client(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    client = tmp_path / "bin" / "claude"
    client.write_text(FAKE)
    client.chmod(0o755)
    cli.set(PATH=f"{tmp_path}/bin:/usr/bin:/bin")


def test_the_plugin_comes_and_goes(cli: Cli, tmp_path: Path) -> None:
    """By the client's commands; `status` exits with 0 while it is there. What the client keeps is named."""
    put_client(cli, tmp_path)
    assert cli.run("plugin", "status").code == 1
    made = cli.run("plugin", "install")
    assert (made.code, made.out) == (0, "") and "the plugin is in Claude Code" in made.err
    called = (cli.home / "called").read_text().splitlines()
    assert called[1:4] == [
        f"plugin marketplace add {ROOT}",
        "plugin install tacitd@tacitd",
        "plugin update tacitd@tacitd",
    ]
    shown = cli.run("plugin", "status", "--json")
    assert (shown.code, [one["id"] for one in shown.json]) == (0, ["plugin.installed"])
    gone = cli.run("plugin", "uninstall")
    assert gone.code == 0 and "is gone" in gone.err and "enabledPlugins" in gone.err
    assert cli.run("plugin", "status").code == 1
    assert not cli.state.exists()


def test_install_says_what_keeps_it_from_working(cli: Cli, tmp_path: Path) -> None:
    put_client(cli, tmp_path)
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text(json.dumps({"disableAllHooks": True}))
    made = cli.run("plugin", "install")
    assert made.code == 0 and "warning:" in made.err and "disableAllHooks" in made.err


def test_without_a_client(cli: Cli) -> None:
    """`install` needs it; without a plugin there is nothing to take out."""
    refused = cli.run("plugin", "install")
    assert refused.code == 69 and "`claude` is not found" in refused.err
    assert cli.run("plugin", "uninstall").code == 0


def test_uninstalling_tacitd_takes_the_plugin_out(cli: Cli, tmp_path: Path) -> None:
    """A plugin that cannot be taken out is named with what removes it, and the rest goes on."""
    (cli.config_dir / "settings.json").write_text('{"enabledPlugins": {"tacitd@tacitd": true}}')
    kept = cli.run("uninstall")
    assert kept.code == 0 and "`claude plugin uninstall tacitd@tacitd` removes it" in kept.err
    put_client(cli, tmp_path)
    gone = cli.run("uninstall")
    assert gone.code == 0 and "removed the plugin from Claude Code" in gone.err
    assert "plugin marketplace remove tacitd" in (cli.home / "called").read_text()
