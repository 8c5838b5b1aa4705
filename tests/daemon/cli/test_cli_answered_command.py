"""Commands that run without click: the values that they get are those that click gives them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from support_cli import Cli
from tacitd.cli.answered_command import AnsweredCommand, load_answered, locate_answered
from tacitd_handlers.entry_point import ANSWERED

NAMES = sorted(ANSWERED)
WORDS = [
    "", "x", "x y", "x y z", "--json", "x --json", "--json x", "--json --json", "--jso", "-h", "--help", "--", "-- x", "-",
    "-x", "-v", "-vv", "-vh", "-n 3", "-n3", "-n 0", "-n -1", "-n ١", "-n", "--since 7d", "--since=7d", "--since=", "--since",
    "--since --json", "--since -- --json", "--since 1d --since 2d", "--budget 600", "--budget=600", "--budget 6", "--by model",
    "--by MODEL", "--by=day", "--project . x", "x --cwd .", "--json=1", "--all -n 4 .", "--no-pager x", "--explain x y",
    "--quick --json", "--agent Explore", "UNREADABLE", "/nowhere",
]  # fmt: skip


@pytest.fixture(params=NAMES)
def command(request: pytest.FixtureRequest, cli: Cli) -> AnsweredCommand:
    """Each of them."""
    found = locate_answered(request.param.split())
    loaded = load_answered(found[1]) if found else None
    assert loaded is not None
    return loaded


def read_with_click(command: AnsweredCommand, words: list[str]) -> dict[str, Any] | None:
    """The values that click gives; None if it prints help or reports an error."""
    try:
        made = command.make_click().make_context("x", list(words))
    except (click.ClickException, click.exceptions.Exit):
        return None
    return made.params


@pytest.mark.parametrize("line", WORDS)
def test_values_are_those_of_click(command: AnsweredCommand, line: str, tmp_path: Path) -> None:
    """Or none, if click must read the arguments."""
    words = [str(tmp_path) if one == "UNREADABLE" else one for one in line.split()]
    found = command.read_arguments(words)
    if found is not None:
        expected = read_with_click(command, words)
        assert found == expected
        assert expected and list(map(type, found.values())) == [type(expected[name]) for name in found]


@pytest.mark.parametrize(
    ("arguments", "some"),
    [
        ("learned app pnpm", {"project": "app", "words": ("pnpm",)}),
        ("history --since=7d -n 3", {"since": "7d", "limit": 3}),
        ("spend --by model", {"by": "model"}),
        ("context --budget 600 --agent Explore", {"budget": 600, "agent": "Explore", "directory": None}),
        ("prompts a b --json", {"where": (Path("a"), Path("b")), "as_json": True}),
        ("status -v", {"verbose": True, "watch": False}),
        ("config show --json", {"as_json": True}),
    ],
)
def test_usual_forms_need_no_click(cli: Cli, arguments: str, some: dict[str, Any]) -> None:
    """Flags, options with a value, and arguments."""
    words = arguments.split()
    found = locate_answered(words)
    assert found is not None
    command = load_answered(found[1])
    assert command is not None
    assert some.items() <= (command.read_arguments(words[len(found[0]) :]) or {}).items()


@pytest.mark.parametrize("name", ["x" * 300, "x\0y"])
def test_click_reads_a_path_that_cannot_be_examined(cli: Cli, name: str) -> None:
    """A name that is too long, as below a directory that only others may search: the command reports it, without a traceback."""
    found = locate_answered(["prompts"])
    command = load_answered(found[1]) if found else None
    assert command is not None and command.read_arguments([name]) is None


def test_other_commands_are_not_answered(cli: Cli) -> None:
    """One that changes something, a group, and one that does not exist."""
    found = locate_answered(["stop"])
    assert found is not None and load_answered(found[1]) is None
    assert locate_answered(["config", "path"]) is None and locate_answered(["nothing"]) is None
