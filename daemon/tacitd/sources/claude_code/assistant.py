"""The assistant's text and tool calls. Nothing here ever counts as a person's words.

An assistant's line is kept undecoded, and decoded on request: most readers need only the prompts, each with the end of the
text before it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from msgspec import Struct

from tacitd.clock import parse_utc
from tacitd.events import CONTEXT_LIMIT, TEXT_LIMIT, Record, ToolUse
from tacitd.sources.base import OwnCalls
from tacitd.sources.claude_code.records import (
    HeaderBlock,
    LineMessage,
    SpokenLine,
    TranscriptLine,
    called_tools,
    decode_spoken,
    spoken_text,
)
from tacitd.sources.record_buffer import HeldLine

HELD = 300 << 10
"""A line of up to this many bytes is kept undecoded; a longer one is reduced at once."""

_RECENT = 6
"""How many assistant records the context of a prompt is taken from."""


def is_thinking(content: str | list[HeaderBlock] | None) -> bool:
    """Whether a message of this content is nothing but thinking."""
    if type(content) is not list:
        return False
    # A loop, because a generator takes three times as long, and nearly every message has one block.
    for block in content:  # noqa: SIM110
        if block.type != "thinking":
            return False
    return True


def make_record(spoken: HeldLine, own: OwnCalls) -> Record:
    """Given a kept line, which contains its session and directory, return its record; an empty one if the daemon or the
    client wrote the message.
    """
    line = decode_spoken(spoken.raw)
    return spoken_record(spoken.start, spoken.end, line, line.session_id or "", line.cwd or "", own)


def spoken_record(
    start: int, end: int, line: SpokenLine | TranscriptLine, session: str, cwd: str, own: OwnCalls
) -> Record:
    """Given an assistant's line, return its text and tool calls, at most `TEXT_LIMIT` characters."""
    text = ""
    tools: tuple[ToolUse, ...] = ()
    message = line.message
    if (
        isinstance(message, LineMessage)
        and not _synthetic(line, message)
        and not own.is_own_record(session, cwd)
    ):
        text, tools = spoken_text(message)[:TEXT_LIMIT], called_tools(message)
    time = parse_utc(line.timestamp)
    return Record(start, end, "assistant", line.uuid or "", session, time, cwd, (), text, tools)


def _synthetic(line: SpokenLine | TranscriptLine, message: LineMessage) -> bool:
    """Whether the client wrote this in the assistant's name, as it does for API errors."""
    return bool(line.is_api_error_message or line.agent_id) or message.model == "<synthetic>"


class SpokenContext(Struct, frozen=True):
    """The end of what the assistant wrote in one working directory."""

    text: str
    """At most `CONTEXT_LIMIT` characters."""
    cwd: str
    """"" if its records name none."""


_NOTHING = SpokenContext("", "")


class RecentSpeech:
    """The end of the assistant's text in the turn that a prompt answers."""

    def __init__(self, own: OwnCalls) -> None:
        self._own = own
        self._recent: deque[bytes | SpokenContext] = deque(maxlen=_RECENT)
        self._answered = False

    def add_speech(self, said: Sequence[bytes | SpokenContext]) -> None:
        """Add messages of the assistant, each an undecoded line with a text, or the end of its text."""
        if self._answered:
            self._recent.clear()
            self._answered = False
        self._recent.extend(said)

    def mark_answered(self) -> None:
        """A person said something, so the assistant's next message begins another turn."""
        self._answered = True

    def get_context(self) -> SpokenContext:
        """The end of the assistant's text since the last prompt, or before it. What it wrote in another directory than its last
        message is left out: a person may have excluded one of the two."""
        found = _NOTHING
        for at in range(len(self._recent) - 1, -1, -1):
            said = self._recent[at]
            if isinstance(said, bytes):
                said = self._recent[at] = self._read(said)
            if not said.text:
                continue
            if not found.text:
                found = said
            elif said.cwd != found.cwd:
                break
            else:
                found = SpokenContext(f"{said.text}\n{found.text}"[-CONTEXT_LIMIT:], said.cwd)
            if len(found.text) >= CONTEXT_LIMIT:
                break
        return found

    def _read(self, raw: bytes) -> SpokenContext:
        line = decode_spoken(raw)
        message, cwd = line.message, line.cwd or ""
        if not isinstance(message, LineMessage) or _synthetic(line, message):
            return _NOTHING
        own = self._own.is_own_record(line.session_id or "", cwd)
        return _NOTHING if own else SpokenContext(spoken_text(message)[-CONTEXT_LIMIT:], cwd)
