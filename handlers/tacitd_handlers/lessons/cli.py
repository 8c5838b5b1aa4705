"""The program `lesson`: the group of commands with a process of its own."""

from __future__ import annotations

from tacitd.cli.program import run_and_exit
from tacitd_handlers.lessons.lesson_commands import lesson


def main() -> None:
    """Run the program, and end the process with its exit code: 0, 1 failed, 2 wrong use."""
    run_and_exit(lesson, "lesson")
