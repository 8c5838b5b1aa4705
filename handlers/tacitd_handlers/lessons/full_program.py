"""The program `lesson` with its whole command line, for everything that `cli` does not answer itself."""

from __future__ import annotations

from tacitd.cli.program import run_and_exit
from tacitd_handlers.lessons.command_group import lesson


def run_program() -> None:
    """Run the group, and end the process with its exit code: 0, 1 failed, 2 wrong use."""
    run_and_exit(lesson, "lesson")
