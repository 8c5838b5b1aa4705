"""`tacitd mcp`: what it says to a person, and plugins whose tools are broken."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import tacitd.plugins
from support_cli import Cli
from tacitd.cli import client_commands
from tacitd.mcp.agent_tools import AgentInterface, AgentTool
from tacitd.plugin import PluginSpec
from tacitd.plugins import FoundPlugins

BROKEN = AgentInterface(
    tools=(AgentTool("gone", "x", ("no-such-command",)), AgentTool("get_status", "twice", ("status",)))
)


def test_a_person_in_a_terminal_gets_a_hint(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = SimpleNamespace(isatty=lambda: True)
    monkeypatch.setattr(client_commands, "sys", SimpleNamespace(stdin=terminal))
    said = cli.run("mcp")
    assert said.code == 2 and "`tacitd plugin install`" in said.err


def test_a_broken_plugin_takes_no_tools_of_others(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A tool without a command, a tool with the name of another, and a hook that names nothing."""
    plugins = (
        PluginSpec("one", mcp=f"{__name__}:BROKEN"),
        PluginSpec("two", mcp="no.such.module:TOOLS"),
    )
    monkeypatch.setattr(tacitd.plugins, "find_declarations", lambda: FoundPlugins(plugins))
    offer = client_commands.make_offer()
    assert set(offer.tools) == {"explain_line", "forget_item", "get_status"}
    assert offer.tools["get_status"].tool.description != "twice"
    err = capsys.readouterr().err
    assert "the tool gone of one is left out" in err and "two: ModuleNotFoundError" in err
