"""Rule 4: the messages that were typed while the model worked.

A state machine over the records of one transcript, in file order; no clock, no file. Claude Code writes `enqueue` with
the words, and later exactly one of these: `remove` (delivered in the middle of the turn; up to 2.1.42 the words are
nowhere else), `dequeue` (the same words follow as a user line), `popAll` (taken back for editing). Only `remove` and
`popAll` contain the words, and not in every version. The queue is first in, first out except for priorities, and it
contains task notifications too. So after a `dequeue`, the user line that follows decides which message it meant.
"""

from __future__ import annotations

from msgspec import Struct

from tacitd.sources.assembler import SpokenContext
from tacitd.sources.base import PromptVerdict

_MOST = 1000
"""How many messages may wait; beyond it the oldest count as said."""


class QueuedPrompt(Struct, eq=False):
    """A message in the queue: its line's offsets, and the verdict when it was typed."""

    start: int
    end: int
    text: str
    verdict: PromptVerdict
    session: str
    cwd: str
    """The directory in which it was typed; "" if no record before it names one."""
    stamp: str
    context: SpokenContext
    uuid: str = ""
    given_out: bool = False
    """Whether its words became a prompt already (`release_all`)."""


class PromptQueue:
    """The waiting messages, oldest first."""

    def __init__(self) -> None:
        self._waiting: list[QueuedPrompt] = []
        self._due = 0
        """How many dequeues wait for their user line; below 0, how many user lines came before their dequeue."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return not self._waiting

    def find_pin(self, start: int) -> int | None:
        """The offset of the oldest message, from `start` on, that may still be taken back or delivered; None if there is none.

        A position must not pass it: after a restart the message would not be read again, although it was not decided.
        """
        if not self._waiting:
            return None
        return next(
            (e.start for e in self._waiting if e.start >= start and e.verdict.words and not e.given_out), None
        )

    def enqueue(self, entry: QueuedPrompt) -> list[QueuedPrompt]:
        """Add a typed message. Returns the oldest ones beyond the limit, which count as said."""
        self._waiting.append(entry)
        late, self._waiting = self._waiting[:-_MOST], self._waiting[-_MOST:]
        return late

    def remove_delivered(self, text: str) -> QueuedPrompt | None:
        """Remove a message that was delivered in the middle of the turn. Without text, the oldest. None if it is not there."""
        return self._take(text) if text else self._first()

    def pop_all(self, text: str) -> list[QueuedPrompt]:
        """Remove messages that were taken back for editing: the one with this text (one record for each), otherwise all."""
        named = self._take(text) if text else None
        if named is not None:
            return [named]
        taken, self._waiting = self._waiting, []
        self._due = 0
        return taken

    def dequeue(self, text: str) -> QueuedPrompt | None:
        """A message will follow as a user line. Returns it if the record names it; otherwise the next user line decides."""
        named = self._take(text) if text else None
        if named is None:
            self._due += 1
        return named

    def take_attached(self, text: str) -> QueuedPrompt | None:
        """An attachment with this text was written. Returns the waiting message with that text, if any."""
        return self._take(text)

    def take_delivered(self, text: str) -> list[QueuedPrompt]:
        """A user line with this text was written. Returns the messages that it delivered, which no longer wait."""
        same = self._take(text)
        if same is not None:
            self._due = max(self._due - 1, -3)
            return [same]
        if self._due <= 0:
            return []
        # One user line may contain several dequeued messages. If it contains none of them, the queue's order decides.
        merged = [e for e in self._waiting if e.text.strip() and e.text.strip() in text][: self._due]
        taken = merged or self._waiting[:1]
        self._waiting = [e for e in self._waiting if e not in taken]
        self._due -= max(1, len(taken))
        return taken

    def release_all(self) -> tuple[list[QueuedPrompt], list[QueuedPrompt]]:
        """Nothing more is expected for now. Returns (those that were dequeued, those that count as said).

        The latter are kept, so that a user line that follows later is recognised as theirs.
        """
        due, self._due = max(self._due, 0), 0
        if self.is_empty:
            return [], []
        gone, self._waiting = self._waiting[:due], self._waiting[due:]
        said = [entry for entry in self._waiting if not entry.given_out]
        for entry in said:
            entry.given_out = True
        return gone, said

    def _take(self, text: str) -> QueuedPrompt | None:
        text = text.strip()
        found = next((e for e in self._waiting if e.text.strip() == text), None)
        if found is not None:
            self._waiting.remove(found)
        return found

    def _first(self) -> QueuedPrompt | None:
        return self._waiting.pop(0) if self._waiting else None
