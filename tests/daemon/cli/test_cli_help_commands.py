"""`tacitd help`, `tacitd completion`, and what the program says to no command and to a mistyped one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support_cli import Cli
from tacitd.cli.program import COMMANDS, load_plugin_rows


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

    names = {**COMMANDS, **load_plugin_rows()}
    assert complete("lear") == {name for name in names if name.startswith("lear")} != set()
    assert {"list", "resume"} <= complete("sessions ''"), (
        "the commands of a group, also of one that runs alone"
    )
