"""The line mode: for pipes, screen readers and terminals without features. One answer a line.

Nothing is coloured, moved or repeated, so that a screen reader reads each line once.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import TextIO, TypeVar

import click

from tacitd.text.sanitize import sanitize_text
from tacitd_handlers.tutor.cancellable_work import run_cancellable
from tacitd_handlers.tutor.conversation import LearnerCommand

T = TypeVar("T")
LONGEST_LINE = 1 << 20
"""Characters of one line that are read; the rest of a longer line is skipped."""
COMMANDS = {
    one.value: one
    for one in (LearnerCommand.END, LearnerCommand.SKIP, LearnerCommand.REFS, LearnerCommand.HELP)
}


class PlainScreen:
    """A `TutorScreen` on two streams."""

    def __init__(self, typed: TextIO) -> None:
        self._typed = typed

    def show_text(self, text: str) -> None:
        """Print the text as it is."""
        click.echo(f"{sanitize_text(text)}\n")

    def show_note(self, text: str) -> None:
        """Print the line."""
        click.echo(sanitize_text(text))

    def read_answer(self, prompt: str) -> str | LearnerCommand:
        """Print the question and read one line."""
        if prompt:
            click.echo(sanitize_text(prompt))
        click.echo("> ", nl=False)
        try:
            line = rest = self._typed.readline(LONGEST_LINE)
            while rest and not rest.endswith("\n"):
                rest = self._typed.readline(LONGEST_LINE)
        except (OSError, ValueError, KeyboardInterrupt):
            return LearnerCommand.LEAVE
        click.echo()
        return parse_line(line) if line else LearnerCommand.LEAVE

    def run_working(self, what: str, work: Callable[[Event], T]) -> T | None:
        """Run the work; Ctrl-C cancels it."""
        return run_cancellable(work)


def parse_line(line: str) -> str | LearnerCommand:
    """An answer, or the command that the line is."""
    said = line.strip()
    return COMMANDS.get(said.lower(), said) if said else ""
