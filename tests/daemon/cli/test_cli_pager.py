"""Output on a terminal: through the pager that a person chose, and with colours unless they are unwanted."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from support_cli import Cli
from support_terminal import Terminal
from tacitd.cli.common import format_moment
from tacitd.clock import local_minutes

LINES = "from tacitd.cli.common import echo_paged; echo_paged(['a', 'b'], no_pager={}); print('end')"


@pytest.mark.parametrize(
    ("variables", "no_pager", "shown"),
    [
        ({"TACITD_PAGER": "tac", "PAGER": "cat"}, False, "b\na\nend"),
        ({"PAGER": "tac"}, False, "b\na\nend"),
        ({"TACITD_PAGER": "tac"}, True, "a\nb\nend"),
        ({"TACITD_PAGER": "", "PAGER": "tac"}, False, "a\nb\nend"),
        ({"PAGER": "cat"}, False, "a\nb\nend"),
        ({"PAGER": "/no/such/pager"}, False, "a\nb\nend"),
    ],
)
def test_the_pager_is_chosen_as_git_does(
    tmp_path: Path, variables: dict[str, str], no_pager: bool, shown: str
) -> None:
    """TACITD_PAGER, then PAGER; an empty one is none, and neither is one that cannot be run."""
    environ = {"PATH": os.environ["PATH"], **variables}
    terminal = Terminal([sys.executable, "-c", LINES.format(no_pager)], environ, tmp_path)
    terminal.wait_for(shown)
    terminal.close()


@pytest.mark.parametrize(
    ("unwanted", "coloured"), [({}, True), ({"NO_COLOR": ""}, True), ({"NO_COLOR": "0"}, False)]
)
def test_colours_are_unwanted_with_no_color(cli: Cli, unwanted: dict[str, str], coloured: bool) -> None:
    """With any content but an empty one (no-color.org)."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(cli.home), **unwanted}
    program = [sys.executable, "-c", "from tacitd.cli.program import main; main()", "status"]
    terminal = Terminal(program, environ, cli.home)
    terminal.wait_for("no daemon runs")
    assert (b"\x1b[1m" in terminal.raw) is coloured
    terminal.close()


def test_a_moment_is_local_with_its_age() -> None:
    """What is no time stays as it is."""
    local = local_minutes(1_795_149_000.0).replace("T", " ")
    assert format_moment("2026-11-20T04:30:00Z", 1_795_149_000.0 + 7200) == f"{local} (2 h ago)"
    assert format_moment("2026-11-20T04:30:00Z", 0.0) == local
    assert format_moment("sometime") == "sometime"
