"""The screen: text as it is, and one answer a line, in a terminal or a pipe.

Nothing is coloured, moved or repeated, so that a screen reader reads each line once.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from enum import Enum

import click

from tacitd.text.sanitize import sanitize_text


class LearnerCommand(Enum):
    """What a learner can do instead of answering."""

    END = "/end"
    SKIP = "/skip"
    REFS = "/refs"
    HELP = "/help"
    LEAVE = "leave"
    """The terminal is closed, Ctrl-D, or the end of the input: save and leave."""


class Screen:
    """Shows Markdown and reads answers; it knows nothing about sessions."""

    def __init__(self) -> None:
        """Use standard input and output. On a terminal the arrow keys recall earlier answers, which are in memory only."""
        self._is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
        if self._is_terminal and os.environ.get("TERM") != "dumb":
            with suppress(ImportError):  # some builds of Python have no line editor
                import readline  # noqa: F401  `input` uses it from then on

    def show_text(self, text: str) -> None:
        """Show Markdown of the tutor."""
        click.echo(f"{sanitize_text(text)}\n")

    def show_note(self, text: str) -> None:
        """Show a line that is not the tutor's: progress, a saved session, an error."""
        click.echo(sanitize_text(text))

    def read_answer(self, prompt: str) -> str | LearnerCommand:
        """Ask the learner; return the answer or a command. Never raises for a closed terminal."""
        if prompt:
            click.echo(sanitize_text(prompt))
        while True:
            try:
                said = input("> ").strip()
            except KeyboardInterrupt:
                self.show_note("\nCtrl-D saves and leaves; /end ends the session with its test.")
                continue
            except (EOFError, OSError, ValueError):
                return LearnerCommand.LEAVE
            if not self._is_terminal:
                click.echo()
            # A person does not type the word of LEAVE as a command.
            return LearnerCommand(said.lower()) if said.lower() in _TYPED else said

    def show_working(self, what: str) -> None:
        """Say on a terminal what a call of the model is for."""
        if self._is_terminal:
            self.show_note(f"{what} (Ctrl-C cancels)")


_TYPED = {one.value for one in LearnerCommand} - {LearnerCommand.LEAVE.value}
