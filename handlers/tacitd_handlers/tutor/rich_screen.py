"""The comfortable terminal: prompt_toolkit reads (history, several lines), rich shows (Markdown, a spinner).

Both are imported here and nowhere else of the tutor, because they take half a second.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import TypeVar

from prompt_toolkit import PromptSession
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPressEvent
from rich.console import Console
from rich.markdown import Markdown
from rich.text import Text

from tacitd.text.sanitize import sanitize_text
from tacitd_handlers.tutor.cancellable_work import run_cancellable
from tacitd_handlers.tutor.conversation import LearnerCommand
from tacitd_handlers.tutor.plain_screen import parse_line

T = TypeVar("T")


class RichScreen:
    """A `TutorScreen` on a terminal. Enter sends an answer, Alt-Enter adds a line, the arrow keys recall earlier ones."""

    def __init__(self) -> None:
        self._console = Console(highlight=False)
        # In memory only: answers may contain what nobody wants on the disk.
        self._prompt: PromptSession[str] = PromptSession(
            history=InMemoryHistory(), multiline=True, key_bindings=_make_keys()
        )

    def show_text(self, text: str) -> None:
        """Show Markdown."""
        self._console.print(Markdown(sanitize_text(text), hyperlinks=False))
        self._console.print()

    def show_note(self, text: str) -> None:
        """Show a line in another style."""
        self._console.print(Text(sanitize_text(text), style="dim"))

    def read_answer(self, prompt: str) -> str | LearnerCommand:
        """Show the question and read an answer. Ctrl-D leaves; Ctrl-C clears what was typed."""
        if prompt:
            self._console.print(Markdown(sanitize_text(prompt), hyperlinks=False))
        while True:
            try:
                return parse_line(self._prompt.prompt("> ", prompt_continuation="  "))
            except KeyboardInterrupt:
                self.show_note("Ctrl-D saves and leaves; /end ends the session with its test.")
            except (EOFError, OSError):
                return LearnerCommand.LEAVE

    def run_working(self, what: str, work: Callable[[Event], T]) -> T | None:
        """Run the work beside a spinner; Ctrl-C cancels it."""
        with self._console.status(f"{what} (Ctrl-C cancels)"):
            return run_cancellable(work)


def _make_keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _send(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _add_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys
