"""The commands and hooks that installed plugins offer: those of another package work like ours, and a broken one stops no other."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support_cli import Cli
from tacitd.cli.program import make_plugin_table
from tacitd.handler import Degradation
from tacitd.plugin import PluginSpec
from tacitd.plugins import FoundPlugins

TOY = """
from tacitd.plugin import PluginSpec
def make_plugin():
    return PluginSpec("toy", commands={"toy": ("toy.program:toy", "Show toys.", "More")},
                      session_text="toy.words:section", session_budget=1000, why="toy.words:explain")
"""
PROGRAM = "import click\n@click.command()\ndef toy():\n    click.echo('toys')\n"
WORDS = "def section(request):\n    return 'T\\n' * 2 * request.budget\ndef explain(rows, text, root):\n    raise KeyError(text)\n"


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
    (metadata / "entry_points.txt").write_text(f"[tacitd.handlers]\n{name} = {where}\n")


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

    def offer(name: str, commands: tuple[str, ...], order: int = 50) -> PluginSpec:
        rows = dict.fromkeys(commands, (name, "X.", "More"))
        return PluginSpec(name, commands=rows, order=order)

    found = FoundPlugins(
        (offer("a", ("toy",), 60), offer("b", ("status", "toy"))),
        (Degradation("handler.broken", "d cannot be loaded"),),
    )
    made = make_plugin_table(found)
    assert made.commands == {"toy": ("b", "X.", "More")}
    assert [what.split(" is ")[0] for what in made.broken] == [
        "d cannot be loaded",
        "the command status of b",
        "the command toy of a",
    ]
