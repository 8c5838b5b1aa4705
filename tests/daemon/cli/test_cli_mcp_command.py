"""`tacitd mcp`: what it says if it cannot serve, and plugins whose tools are broken."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import tacitd.plugins
from support_cli import Cli
from tacitd.cli import mcp_command
from tacitd.handler import Plugin
from tacitd.mcp.agent_tools import AgentInterface, AgentTool
from tacitd.plugins import FoundPlugins

BROKEN = AgentInterface(
    tools=(AgentTool("gone", "x", ("no-such-command",)), AgentTool("get_status", "twice", ("status",)))
)


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize("arguments", [["mcp"], ["mcp", "install"]])
def test_without_the_sdk_the_cure_is_named(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.delitem(sys.modules, "tacitd.mcp.mcp_server", raising=False)
    monkeypatch.setitem(sys.modules, "mcp", None)
    said = cli.run(*arguments)
    assert said.code == 69 and "the package mcp is not installed" in said.err
    assert "uv tool install --force '.[mcp]'" in said.err


def test_a_person_in_a_terminal_gets_a_hint(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = SimpleNamespace(isatty=lambda: True)
    monkeypatch.setattr(mcp_command, "sys", SimpleNamespace(stdin=terminal))
    said = cli.run("mcp")
    assert said.code == 2 and "`tacitd mcp install`" in said.err


def test_install_without_a_client_names_it(cli: Cli) -> None:
    said = cli.run("mcp", "install")
    assert said.code == 69 and "`claude` is not found" in said.err
    assert cli.run("mcp", "uninstall").code == 0


def test_install_is_refused_beside_the_plugin(cli: Cli) -> None:
    """The plugin brings the same tools."""
    settings = cli.home / ".claude/settings.json"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text('{"enabledPlugins": {"tacitd@tacitd": true}}')
    said = cli.run("mcp", "install")
    assert said.code == 1 and "brings the same tools" in said.err and "claude plugin uninstall" in said.err


def test_uninstall_takes_the_server_out(cli: Cli, tmp_path: Path) -> None:
    """Of all of tacitd: by the client's own command; if that fails, the entry is named with what removes it."""
    config = cli.home / ".claude.json"
    config.write_text('{"mcpServers": {"tacitd": {"command": "tacitd"}}}')
    said = cli.run("uninstall")
    assert said.code == 0 and "kept the MCP server in Claude Code" in said.err
    programs = tmp_path / "bin"
    programs.mkdir()
    client = programs / "claude"
    client.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/called\n')
    client.chmod(0o755)
    cli.set(PATH=f"{programs}:/usr/bin:/bin")
    said = cli.run("uninstall")
    assert said.code == 0 and "removed the MCP server from Claude Code" in said.err
    assert (tmp_path / "called").read_text() == "mcp remove --scope user tacitd\n"


def test_a_broken_plugin_takes_no_tools_of_others(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A tool without a command, a tool with the name of another, and a hook that names nothing."""
    plugins = (
        Plugin("one", "x:y", mcp=f"{__name__}:BROKEN"),
        Plugin("two", "x:y", mcp="no.such.module:TOOLS"),
    )
    monkeypatch.setattr(tacitd.plugins, "find_declarations", lambda: FoundPlugins(plugins))
    offer = mcp_command.make_offer()
    assert set(offer.tools) == {"explain_line", "forget_item", "get_status"}
    assert offer.tools["get_status"].tool.description != "twice"
    err = capsys.readouterr().err
    assert "the tool gone of one is left out" in err and "the tools of two are left out" in err
