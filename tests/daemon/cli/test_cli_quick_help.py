"""The help from the stored table: the text of the full program, without click."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tacitd.cli import quick_help
from tacitd.cli.plugin_table import HELP_WIDTHS

pytestmark = [pytest.mark.scenario, pytest.mark.undated]


SCRIPT = """
import sys
from tacitd_handlers.entry_point import main
try:
    main()
finally:
    print("click" in sys.modules, file=sys.stderr)
"""


def run(home: Path, *arguments: str, **variables: str) -> tuple[str, bool]:
    """What a process of the program prints, and whether it imported click."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments],
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout, done.stderr == "True\n"


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], []])
@pytest.mark.parametrize("columns", ["", "20", "90", "300", "none"])
def test_the_second_help_is_that_of_the_full_program(
    tmp_path: Path, arguments: list[str], columns: str
) -> None:
    """The text is the same for every width, and the second call does without click."""
    given = {"COLUMNS": columns} if columns else {}
    first, slow = run(tmp_path, *arguments, **given)
    second, again = run(tmp_path, *arguments, **given)
    assert (second, slow, again) == (first, True, False)
    assert "Usage: tacitd [OPTIONS] COMMAND [ARGS]..." in first


def test_each_width_has_its_own(tmp_path: Path) -> None:
    """A narrow terminal wraps the text; only so many widths are kept."""
    narrow, wide = (run(tmp_path, "--help", COLUMNS=columns)[0] for columns in ("60", "100"))
    assert narrow != wide
    assert [run(tmp_path, "--help", COLUMNS=columns) for columns in ("60", "100")] == [
        (narrow, False),
        (wide, False),
    ]
    for columns in range(61, 61 + HELP_WIDTHS):
        run(tmp_path, "--help", COLUMNS=str(columns))
    stored = json.loads((tmp_path / ".cache/tacitd/plugins.json").read_bytes())
    assert list(stored["help"]) == [str(columns) for columns in range(61, 61 + HELP_WIDTHS)]


@pytest.mark.parametrize(
    "damage", [b"", b"{}", b"[]", b"[" * 100_000, b'{"schema":4,"stamp":"","modules":{}}']
)
def test_a_damaged_table_is_made_again(tmp_path: Path, damage: bytes) -> None:
    """What cannot be read costs time and nothing else."""
    first, _ = run(tmp_path, "--help")
    (tmp_path / ".cache/tacitd/plugins.json").write_bytes(damage)
    assert run(tmp_path, "--help") == (first, True)
    assert run(tmp_path, "--help") == (first, False)


def test_a_table_of_others_is_not_printed(tmp_path: Path) -> None:
    """A file that others can write could contain sequences for the terminal."""
    first, _ = run(tmp_path, "--help")
    table = tmp_path / ".cache/tacitd/plugins.json"
    table.chmod(0o666)
    assert run(tmp_path, "--help") == (first, True)


def test_completion_is_not_answered_with_the_help(tmp_path: Path) -> None:
    """A shell that completes `tacitd` calls it without arguments."""
    run(tmp_path, "--help")
    given = {"_TACITD_COMPLETE": "bash_complete", "COMP_WORDS": "tacitd st", "COMP_CWORD": "1"}
    printed, slow = run(tmp_path, **given)
    assert slow and "plain,status" in printed


@pytest.mark.parametrize("environ", [{}, {"HOME": "relative"}, {"XDG_CACHE_HOME": "relative"}])
def test_without_a_home_the_full_program_answers(environ: Mapping[str, str]) -> None:
    """The user database, which knows the home then, is the full program's."""
    assert quick_help.read_help(environ) is None


def test_the_table_is_where_the_full_program_has_it(tmp_path: Path) -> None:
    """XDG_CACHE_HOME counts as in `state.paths`."""
    cache = tmp_path / "elsewhere"
    first, _ = run(tmp_path, "--help", XDG_CACHE_HOME=str(cache))
    assert os.listdir(cache / "tacitd") == ["plugins.json"]
    assert run(tmp_path, "--help", XDG_CACHE_HOME=str(cache)) == (first, False)
