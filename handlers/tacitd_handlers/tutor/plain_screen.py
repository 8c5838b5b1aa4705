"""The screen: text as it is, and one answer a line, in a terminal, a pipe or a screen reader.

Nothing is coloured, moved or repeated, so that a screen reader reads each line once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
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
    """A `TutorScreen` on two streams. On a terminal a line can be edited, and the arrow keys recall earlier answers."""

    def __init__(self, typed: TextIO, *, is_terminal: bool = False) -> None:
        self._typed = typed
        self._is_terminal = is_terminal

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
        if self._is_terminal:
            return self._read_edited()
        click.echo("> ", nl=False)
        try:
            line = rest = self._typed.readline(LONGEST_LINE)
            while rest and not rest.endswith("\n"):
                rest = self._typed.readline(LONGEST_LINE)
        except (OSError, ValueError, KeyboardInterrupt):
            return LearnerCommand.LEAVE
        click.echo()
        return parse_line(line) if line else LearnerCommand.LEAVE

    def _read_edited(self) -> str | LearnerCommand:
        """Read a line with the line editor, which keeps earlier ones in memory only. Ctrl-D leaves; Ctrl-C clears the line."""
        with suppress(ImportError):  # some builds of Python have no line editor
            import readline  # noqa: F401  `input` uses it from then on

        while True:
            try:
                return parse_line(input("> "))
            except KeyboardInterrupt:
                self.show_note("\nCtrl-D saves and leaves; /end ends the session with its test.")
            except (EOFError, OSError):
                return LearnerCommand.LEAVE

    def run_working(self, what: str, work: Callable[[Event], T]) -> T | None:
        """Run the work; Ctrl-C cancels it."""
        if self._is_terminal:
            self.show_note(f"{what} (Ctrl-C cancels)")
        return run_cancellable(work)


def parse_line(line: str) -> str | LearnerCommand:
    """An answer, or the command that the line is."""
    said = line.strip()
    return COMMANDS.get(said.lower(), said) if said else ""
