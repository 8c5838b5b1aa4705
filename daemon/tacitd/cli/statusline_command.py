"""`tacitd statusline` with options; without any, the entry point prints the line before it imports this."""

from __future__ import annotations

import os
import shlex
import sys

import click

from tacitd import statusline as program
from tacitd.cli.common import echo_json


@click.command(epilog="\b\nExample: tacitd statusline\nExample: tacitd statusline --setting")
@click.option(
    "--setting", is_flag=True, help="Print the entry for Claude Code's settings.json that runs it fastest."
)
def statusline(setting: bool) -> None:
    """Print one short line for the status bar of Claude Code: learned today, waiting, spend against the limit.

    Reads nothing from standard input, and always exits with 0.
    """
    if setting:
        echo_json({"statusLine": {"type": "command", "command": make_statusline_command()}})
    else:
        program.print_status_line()


def make_statusline_command() -> str:
    """The shell command: the interpreter outside the virtual environment runs the module's file by itself."""
    return shlex.join([os.path.realpath(sys.executable), "-I", "-S", program.__file__])
