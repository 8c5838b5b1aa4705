"""The assistant's text and tool calls. Nothing here ever counts as a person's words."""

from __future__ import annotations

from collections import deque

from msgspec import Struct

from tacitd.events import CONTEXT_LIMIT, ToolUse
from tacitd.sources.claude_code.records import LineMessage, TranscriptLine, read_blocks

_RECENT = 6
"""How many assistant records the context of a prompt is taken from."""


def read_message(line: TranscriptLine) -> tuple[str, tuple[ToolUse, ...]]:
    """Given an assistant's line, return its whole text and its tool calls; none of both if the client wrote it in the
    assistant's name, as it does for API errors."""
    message = line.message
    if not isinstance(message, LineMessage) or line.is_api_error_message or message.model == "<synthetic>":
        return "", ()
    return read_blocks(message)


class SpokenContext(Struct, frozen=True):
    """The end of what the assistant wrote in one working directory."""

    text: str
    """At most `CONTEXT_LIMIT` characters."""
    cwd: str
    """"" if its records name none."""
    stamp: str = ""
    """The time of its first record; "" if that has none."""


class RecentSpeech:
    """The end of the assistant's text in the turn that a prompt answers."""

    def __init__(self) -> None:
        self._recent: deque[SpokenContext] = deque(maxlen=_RECENT)
        self._answered = False

    def add_speech(self, text: str, cwd: str, stamp: str = "") -> None:
        """Add a message of the assistant that has a text."""
        if self._answered:
            self._recent.clear()
            self._answered = False
        self._recent.append(SpokenContext(text[-CONTEXT_LIMIT:], cwd, stamp))

    def mark_answered(self) -> None:
        """A person said something, so the assistant's next message begins another turn."""
        self._answered = True

    def get_context(self) -> SpokenContext:
        """The end of the assistant's text since the last prompt, or before it. What it wrote in another directory than its last
        message is left out: a person may have excluded one of the two."""
        found = SpokenContext("", "")
        for said in reversed(self._recent):
            if not found.text:
                found = said
            elif said.cwd != found.cwd:
                break
            else:
                text = f"{said.text}\n{found.text}"[-CONTEXT_LIMIT:]
                found = SpokenContext(text, said.cwd, said.stamp)
            if len(found.text) >= CONTEXT_LIMIT:
                break
        return found
