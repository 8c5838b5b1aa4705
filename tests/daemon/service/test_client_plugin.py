"""The plugin in Claude Code: the client's own commands are run, and its settings say what is there and what is in the way."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tacitd.errors import TacitdError
from tacitd.service import client_plugin
from tacitd.service.client_plugin import (
    ID,
    PluginState,
    check_plugin,
    check_server,
    find_marketplace,
    install_plugin,
    make_runner,
    read_state,
    remove_plugin,
)
from tacitd.service.managers import ToolExit
from tacitd.state.paths import Paths

ADD, INSTALL = f"plugin marketplace add {find_marketplace()}", f"plugin install {ID}"
UNINSTALL, REMOVE = f"plugin uninstall {ID}", "plugin marketplace remove tacitd"


class Client:
    """A client that answers commands by their beginning, and remembers them."""

    def __init__(self, version: str = "2.1.331 (Claude Code)", **answers: tuple[int, str]) -> None:
        self.answers = {"--version": (0, version), **answers}
        self.called: list[str] = []

    def run(self, arguments: Sequence[str]) -> ToolExit:
        command = " ".join(arguments)
        self.called.append(command)
        return ToolExit(*next((one for key, one in self.answers.items() if key in command), (0, "done")))


@pytest.fixture
def places(tmp_path: Path) -> Paths:
    (tmp_path / "claude").mkdir()
    state = tmp_path / "state"
    return Paths(tmp_path, tmp_path / "claude", state, tmp_path / "none.toml", state / "tacitd.sock")


def write_settings(places: Paths, **more: object) -> None:
    """The settings after an installation."""
    source = {"source": {"source": "directory", "path": str(find_marketplace())}}
    document = {"enabledPlugins": {ID: True}, "extraKnownMarketplaces": {"tacitd": source}, **more}
    (places.config_dir / "settings.json").write_text(json.dumps(document))


@pytest.mark.parametrize("version", ["2.1.109 (Claude Code)", "2.0.76 (Claude Code)", "1.9.999", "", "what?"])
def test_a_client_that_is_too_old_gets_nothing(version: str) -> None:
    """Before 2.1.110 an event that it does not know disables all hooks."""
    client = Client(version)
    with pytest.raises(TacitdError, match=r"needs Claude Code 2\.1\.110") as error:
        install_plugin(client.run, find_marketplace())
    assert client.called == ["--version"] and error.value.hint == "`claude update`"


def test_what_the_client_refuses_is_said_with_its_last_line() -> None:
    client = Client(install=(1, "Installing\n✘ no room\n"))
    with pytest.raises(TacitdError, match="`claude plugin install tacitd@tacitd` failed: ✘ no room"):
        install_plugin(client.run, find_marketplace())
    assert client.called[-1] == INSTALL


@pytest.mark.parametrize(
    ("state", "called"),
    [
        (PluginState(), []),
        (PluginState(is_enabled=True, is_known=True), [UNINSTALL, REMOVE]),
        (PluginState(is_known=True), [UNINSTALL, REMOVE]),
    ],
)
def test_a_removal_takes_the_marketplace_too(state: PluginState, called: list[str]) -> None:
    """Either may be gone already."""
    gone = (1, "Marketplace 'tacitd' not found")
    client = Client(uninstall=(1, "not found in installed plugins"), remove=gone)
    assert remove_plugin(client.run, state) == bool(called) and client.called == called
    with pytest.raises(TacitdError, match="marketplace remove tacitd` failed: locked"):
        remove_plugin(Client(remove=(1, "locked")).run, PluginState(is_known=True))


@pytest.mark.parametrize(
    "text", ["", "[]", "{,}", "{}", '{"enabledPlugins": 1, "extraKnownMarketplaces": []}']
)
def test_settings_that_say_nothing(places: Paths, text: str) -> None:
    """Also damaged ones: nobody's session ends for it."""
    (places.config_dir / "settings.json").write_text(text)
    assert read_state(places.config_dir, places.home) == PluginState()
    assert [one.id for one in check_plugin(places, places.home)] == ["plugin.absent"]


def test_what_the_settings_say(places: Paths) -> None:
    write_settings(places)
    assert read_state(places.config_dir, places.home) == PluginState(True, find_marketplace(), True)
    assert [one.id for one in check_plugin(places, places.home)] == ["plugin.installed"]
    write_settings(places, enabledPlugins={ID: False})
    assert read_state(places.config_dir, places.home) == PluginState(False, find_marketplace(), True)
    (found,) = check_plugin(places, places.home)
    assert (found.id, found.hint) == ("plugin.absent", "`tacitd plugin install`")
    github = {"tacitd": {"source": {"source": "github", "repo": "tacitd/tacitd"}}}
    write_settings(places, extraKnownMarketplaces=github)
    assert [one.id for one in check_plugin(places, places.home)] == ["plugin.installed"]


def test_another_copy_of_the_plugin_is_named(places: Paths) -> None:
    """After tacitd moved to another environment: the folder is another one, or gone."""
    for folder in (places.home, places.home / "gone"):
        source = {"source": {"source": "directory", "path": str(folder)}}
        write_settings(places, extraKnownMarketplaces={"tacitd": source})
        (found,) = check_plugin(places, places.home)
        assert found.id == "plugin.elsewhere" and str(folder) in found.what


@pytest.mark.parametrize("where", ["own", "project", "local", "managed"])
def test_hooks_that_are_switched_off_are_named(
    places: Paths, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`disableAllHooks`: in the person's settings, those of the project, and those of an organisation."""
    project = places.home / "app"
    (project / ".claude").mkdir(parents=True)
    managed = places.home / "managed.json"
    monkeypatch.setattr(client_plugin, "MANAGED", (managed,))
    write_settings(places)
    file = {
        "own": places.config_dir / "settings.json",
        "project": project / ".claude/settings.json",
        "local": project / ".claude/settings.local.json",
        "managed": managed,
    }[where]
    written = json.loads(file.read_text()) if file.exists() else {}
    file.write_text("\ufeff" + json.dumps(written | {"disableAllHooks": True}))
    (found,) = check_plugin(places, project)
    assert found.id == "plugin.no-hooks" and str(file) in found.what
    file.write_text(json.dumps(written | {"disableAllHooks": False}))
    assert [one.id for one in check_plugin(places, project)] == ["plugin.installed"]


def test_the_client_runs_with_its_own_directory_on_the_path(tmp_path: Path) -> None:
    """One of npm starts the `node` beside it. Its output and its messages are read, and it gets no input."""
    client = tmp_path / "claude"
    client.write_text('#!/bin/sh\necho "$PATH $1"\ncat\necho trouble >&2\nexit 3\n')
    client.chmod(0o755)
    done = make_runner(str(client), {"PATH": "/usr/bin:/bin"})(["list"])
    assert (done.code, done.out) == (3, f"/usr/bin:/bin:{tmp_path} list\ntrouble")


def test_a_program_that_is_not_on_the_path_is_named(places: Paths, tmp_path: Path) -> None:
    """The client starts the plugin's tools by the program's name; without the plugin nothing is missing."""
    environ = {"PATH": str(tmp_path)}
    assert list(check_server(places, places.home, environ)) == []
    write_settings(places)
    assert [one.id for one in check_server(places, places.home, environ)] == ["mcp.path"]
    program = tmp_path / "tacitd"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert list(check_server(places, places.home, environ)) == []
