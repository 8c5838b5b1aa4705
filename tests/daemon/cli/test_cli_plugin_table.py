"""The table of the plugins' hooks: made once, made again when something changed, and harmless when it cannot be kept."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from support_cli import Cli
from tacitd.cli.command_table import COMMANDS
from tacitd.cli.plugin_table import PluginTable, build_table, load_table
from tacitd.handler import Degradation, Plugin
from tacitd.plugins import FoundPlugins, find_plugins

TOY = """
from tacitd.handler import Plugin
def make_plugin():
    return Plugin("toy", "toy.nothing:Handler", commands={"toy": ("toy.program:toy", "Show toys.", "Looking")},
                  context="toy.words:section", explain="toy.words:explain")
"""
PROGRAM = "import click\n@click.command()\ndef toy():\n    click.echo('toys')\n"
WORDS = "def section(request):\n    return 'T\\n' * 2 * request.budget\ndef explain(text, cwd):\n    raise KeyError(text)\n"


@pytest.fixture
def site(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory on `sys.path` with an installed plugin `toy`."""
    place = cli.home / "site"
    (place / "toy").mkdir(parents=True)
    for name, text in (("__init__", TOY), ("program", PROGRAM), ("words", WORDS)):
        (place / "toy" / f"{name}.py").write_text(text)
    _install(place, "toy", "toy:make_plugin")
    monkeypatch.syspath_prepend(str(place))
    for name in [name for name in sys.modules if name.split(".")[0] == "toy"]:
        monkeypatch.delitem(sys.modules, name)
    return place


def _install(place: Path, name: str, where: str) -> None:
    metadata = place / f"{name}-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(f"[tacitd.handlers]\n{name} = {where}\n")


def _file(cli: Cli) -> Path:
    return cli.home / ".cache/tacitd/plugins.json"


def _table(cli: Cli) -> PluginTable:
    return load_table({"HOME": str(cli.home)}, COMMANDS)


def _names(table: PluginTable) -> list[str]:
    return [one.name for one in table.plugins]


def test_it_is_made_once_and_private(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second command reads the file and finds no entry point itself."""
    made = _table(cli)
    assert set(_names(made)) == {one.name for one in find_plugins().plugins}
    assert _names(made)[0] == "learning"  # by `Plugin.order`
    assert stat.S_IMODE(_file(cli).stat().st_mode) == 0o600
    monkeypatch.setattr("tacitd.cli.plugin_table._make_table", None)
    assert _table(cli) == made


def test_an_installation_and_a_removal_make_it_anew(cli: Cli, site: Path) -> None:
    """The stamp is of the entry points' files: a new, a changed and a removed distribution differ."""
    assert "toy" in _names(_table(cli))
    points = site / "toy-1.dist-info" / "entry_points.txt"
    points.write_text("[tacitd.handlers]\n")
    assert "toy" not in _names(_table(cli))
    _install(site, "broken", "no_such_module:make_plugin")
    assert "no_such_module" in _table(cli).broken[0]
    (site / "broken-1.dist-info" / "entry_points.txt").unlink()
    assert _table(cli).broken == ()


def test_an_edited_declaration_makes_it_anew(cli: Cli, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An editable installation changes no metadata when a command is added."""
    assert "toy" in _names(_table(cli))
    (site / "toy" / "__init__.py").write_text(TOY.replace('"toy": (', '"toys": ('))
    for name in [name for name in sys.modules if name.split(".")[0] == "toy"]:
        monkeypatch.delitem(sys.modules, name)
    (toy,) = [one for one in _table(cli).plugins if one.name == "toy"]
    assert list(toy.commands) == ["toys"]


@pytest.mark.parametrize("damage", ["", "{", "[]", "{}", '{"schema": 1}', None])
def test_a_damaged_file_is_made_anew(cli: Cli, damage: str | None) -> None:
    """Damaged, of another version, or with a row of another form."""
    made = _table(cli)
    whole: dict[str, Any] = json.loads(_file(cli).read_text())
    if damage is None:
        whole["plugins"][0]["commands"]["demo"] = ["too short"]
    _file(cli).write_text(json.dumps(whole) if damage is None else damage)
    assert _table(cli) == made
    assert json.loads(_file(cli).read_text())["plugins"][0]["name"] == "learning"


def test_a_place_that_cannot_be_written_to_costs_time_only(cli: Cli) -> None:
    """A file where the directory belongs, and a read-only directory."""
    _file(cli).parent.parent.mkdir()
    _file(cli).parent.write_text("mine")
    assert cli.run("context").code == 0 and "learning" in _names(_table(cli))
    assert _file(cli).parent.read_text() == "mine"
    _file(cli).parent.unlink()
    _file(cli).parent.mkdir(0o500)
    assert "learning" in _names(_table(cli))
    if os.getuid():
        assert not _file(cli).exists()


def test_a_third_party_plugin_has_the_same_hooks(cli: Cli, site: Path) -> None:
    """Its command runs and is listed, its section is cut to the budget, its failing explanation is reported."""
    assert "  toy " in cli.run("--help").out
    assert cli.run("toy").out == "toys\n"
    assert 900 < len(cli.run("context", "--json").json["toy"]) <= 1_000
    said = cli.run("why", "pnpm")
    assert said.code == 1 and "toy: KeyError" in said.err


def test_a_broken_plugin_is_reported_and_the_others_work(cli: Cli, site: Path) -> None:
    """A command and a section that cannot be imported, and a package that cannot."""
    (site / "toy" / "program.py").write_text("import no_such_module\n")
    (site / "toy" / "words.py").unlink()
    _install(site, "broken", "no_such_module:make_plugin")
    said = cli.run("toy")
    assert said.code == 1 and "the command toy" in said.err and "Traceback" not in said.err
    cli.run("profile", "set", "tools.editor", "neovim")
    said = cli.run("context")
    assert "Editor: neovim" in said.out and "toy: " in said.err and "the handler broken" in said.err
    assert cli.run("--help").code == 0


def test_a_name_that_is_taken_is_left_out_and_reported() -> None:
    """The engine's commands come first, then the plugins in their order."""

    def offer(name: str, commands: Mapping[str, Any], order: int = 50) -> Plugin:
        return Plugin(name, "x:y", commands=commands, order=order)

    row = ("x:y", "X.", "Looking")
    found = FoundPlugins(
        (offer("b", {"status": row, "toy": row}), offer("a", {"toy": row}, 60), offer("c", {"bad": ()})),
        (Degradation("handler.broken", "d cannot be loaded"),),
    )
    made = build_table(found, COMMANDS)
    assert {one.name: list(one.commands) for one in made.plugins} == {"b": ["toy"], "a": []}
    assert [what.split(" is ")[0] for what in made.broken[:2]] == [
        "d cannot be loaded",
        "the command status of b",
    ]
    assert any("the command toy of a" in what for what in made.broken)
    assert any("the hooks of c" in what for what in made.broken)


@pytest.mark.parametrize("how", ["link", "fifo", "writable", "deep", "large"])
def test_a_table_that_somebody_else_could_have_written_is_not_used(cli: Cli, how: str) -> None:
    """The table names modules that are imported. A link, a FIFO, a file that others may write: it is made anew."""
    made = _table(cli)
    file, other = _file(cli), _file(cli).parent / "other.json"
    stored: dict[str, Any] = json.loads(file.read_text())
    stored["plugins"][0]["name"] = "evil"
    text = json.dumps(stored)
    file.unlink()
    match how:
        case "link":
            other.write_text(text)
            file.symlink_to(other)
        case "fifo":
            os.mkfifo(file)
        case "writable":
            file.write_text(text)
            file.chmod(0o666)
        case "deep":
            file.write_text("[" * 200_000)
        case _:
            file.write_text(text + " " * (2 << 20))
    assert _table(cli) == made


def test_a_table_of_a_broken_plugin_is_not_kept(cli: Cli, site: Path) -> None:
    """What cannot be imported in this environment may be imported in the next call's."""
    _install(site, "broken", "no_such_module:make_plugin")
    assert _table(cli).broken and not _file(cli).exists()
