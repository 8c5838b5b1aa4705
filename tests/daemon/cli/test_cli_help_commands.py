"""`tacitd help`, `tacitd completion`, and what the program says to no command and to a mistyped one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support_cli import Cli
from support_terminal import Terminal
from tacitd.cli.common import format_moment
from tacitd.cli.program import COMMANDS, load_plugin_table
from tacitd.clock import local_minutes


def test_help_of_a_command_is_what_its_option_prints(cli: Cli) -> None:
    """Also of a command in a group, and of a plugin's command."""
    for topic in (["learned"], ["config", "show"], ["config"]):
        assert cli.run("help", *topic) == cli.run(*topic, "--help")
    assert cli.run("help") == cli.run("--help") == cli.run()
    assert cli.run().code == 0


def test_a_mistyped_command_is_answered_with_similar_ones(cli: Cli) -> None:
    """Exit code 2; nothing is suggested if nothing is similar."""
    said = cli.run("stauts")
    assert said.code == 2 and "No such command 'stauts'. Did you mean 'status'" in said.err
    assert "'learned'" in cli.run("learnd").err
    assert "Did you mean" not in cli.run("qqqq").err
    assert cli.run("help", "stauts").code == cli.run("help", "status", "more").code == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell_parses(cli: Cli, shell: str) -> None:
    """Checked by the shell itself where it is installed."""
    said = cli.run("completion", shell)
    assert said.code == 0 and "_TACITD_COMPLETE" in said.out and "%(" not in said.out
    if (program := shutil.which(shell)) is not None:
        subprocess.run([program, "-n"], input=said.out, text=True, check=True)


def test_bash_completes_commands_of_the_engine_and_of_plugins(cli: Cli, tmp_path: Path) -> None:
    """A real bash evaluates the script and asks the real program."""
    if (bash := shutil.which("bash")) is None:
        pytest.skip("no bash")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "tacitd"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m tacitd_handlers.entry_point "$@"\n')
    program.chmod(0o755)
    script = cli.run("completion", "bash").out
    asking = "_tacitd_completion tacitd; printf '%s\\n' \"${COMPREPLY[@]}\""
    environment = os.environ | {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}

    def complete(words: str) -> set[str]:
        typed = f"COMP_WORDS=(tacitd {words}); COMP_CWORD={len(words.split())}; "
        asked = [bash, "-c", script + typed + asking]
        done = subprocess.run(asked, env=environment, capture_output=True, text=True, check=True)
        return set(done.stdout.split())

    names = {**COMMANDS, **load_plugin_table().commands}
    assert complete("lear") == {name for name in names if name.startswith("lear")} != set()
    assert {"list", "resume"} <= complete("sessions ''"), (
        "the commands of a group, also of one that runs alone"
    )


# --- `tacitd config`: paths, values and errors


def test_the_paths(cli: Cli) -> None:
    """Issue "`config show|path|socket|check`": one path on stdout, for use in a command line."""
    assert cli.run("config", "socket").out == f"{cli.state}/tacitd.sock\n"
    assert cli.run("config", "path").out == f"{cli.home}/.config/tacitd/config.toml\n"
    places = dict(text.split(maxsplit=1) for text in cli.run("config", "path", "--all").out.splitlines())
    assert places["state_dir"] == str(cli.state) and places["config_dir"] == str(cli.config_dir)


def test_what_is_shown_can_stand_in_the_file(cli: Cli) -> None:
    """Every line is TOML, and all of them together are the same configuration."""
    before = cli.run("config", "show").out
    file = cli.home / ".config/tacitd/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(before)
    assert cli.run("config", "check").code == 0
    assert cli.run("config", "show").out == before


# --- output on a terminal: through the pager that a person chose, and with colours unless they are unwanted


LINES = "from tacitd.cli.common import echo_paged; echo_paged(['a', 'b'], no_pager={}); print('end')"


@pytest.mark.parametrize(
    ("variables", "no_pager", "shown"),
    [
        ({"PAGER": "tac"}, False, "b\na\nend"),
        ({"PAGER": "tac"}, True, "a\nb\nend"),
        ({"PAGER": ""}, False, "a\nb\nend"),
        ({"PAGER": "/no/such/pager"}, False, "a\nb\nend"),
    ],
)
def test_the_pager_is_the_person_s(
    tmp_path: Path, variables: dict[str, str], no_pager: bool, shown: str
) -> None:
    """An empty one is none, and neither is one that cannot be run."""
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
