"""Rule 4: what becomes of messages that were typed while the model worked.

A state machine over the records of one transcript, in file order; no clock, no file. Claude Code writes
`enqueue` with the words, and later exactly one of: `remove` (delivered in the middle of the turn; up to
2.1.42 nothing else holds the words), `dequeue` (the same words follow as a user line), `popAll` (taken back
for editing). Only `remove` and `popAll` name the words, and not in every version. The queue is first in, first
out but for priorities, and task notifications stand in it too, so a `dequeue` waits for the user line that
follows before it decides which message it meant.
"""

from __future__ import annotations

from dataclasses import dataclass

from tacitd.transcripts.person import Verdict

_MOST = 1000
"""Messages that may wait; beyond it the oldest are taken as said."""


@dataclass(slots=True, eq=False)
class Entry:
    """A message in the queue: where it stands and what was judged of it when it was typed."""

    start: int
    end: int
    text: str
    verdict: Verdict
    session: str
    stamp: str
    context: str
    uuid: str = ""
    given: bool = False
    """Its words were given out already (`release`)."""


class Queue:
    """The messages that wait, oldest first."""

    def __init__(self) -> None:
        self._waiting: list[Entry] = []
        self._due = 0
        """Dequeues whose user line has not come; below 0: user lines whose dequeue has not come."""

    @property
    def empty(self) -> bool:
        """Whether nothing waits."""
        return not self._waiting

    def pin(self, start: int) -> int | None:
        """The offset of the oldest message, from `start` on, whose fate is open; None if there is none."""
        return next(
            (e.start for e in self._waiting if e.start >= start and e.verdict.words and not e.given), None
        )

    def enqueue(self, entry: Entry) -> list[Entry]:
        """A message was typed. Returns those that have waited too long to be still watched."""
        self._waiting.append(entry)
        late, self._waiting = self._waiting[:-_MOST], self._waiting[-_MOST:]
        return late

    def remove(self, text: str) -> Entry | None:
        """A message was delivered in mid-turn. Returns it, None where it does not stand in the queue."""
        return self._take(text) if text else self._first()

    def pop_all(self, text: str) -> list[Entry]:
        """Messages were taken back for editing: the one that is named (one record for each), else all."""
        named = self._take(text) if text else None
        if named is not None:
            return [named]
        taken, self._waiting = self._waiting, []
        self._due = 0
        return taken

    def dequeue(self, text: str) -> Entry | None:
        """A message is about to come as a user line. Returns it where it is named."""
        named = self._take(text) if text else None
        if named is None:
            self._due += 1
        return named

    def attached(self, text: str) -> Entry | None:
        """An attachment with this text was written. Returns the message, if it still waited."""
        return self._take(text)

    def delivered(self, text: str) -> list[Entry]:
        """A user line with this text was written. Returns what it delivered; nothing waits for it any more."""
        same = self._take(text)
        if same is not None:
            self._due = max(self._due - 1, -3)
            return [same]
        if self._due <= 0:
            return []
        merged = [e for e in self._waiting if e.text.strip() and e.text.strip() in text][: self._due]
        taken = merged or self._waiting[:1]
        self._waiting = [e for e in self._waiting if e not in taken]
        self._due -= max(1, len(taken))
        return taken

    def release(self) -> tuple[list[Entry], list[Entry]]:
        """Nothing more will come for now. Returns (those that were dequeued, those that count as said).

        The latter stay, so that a user line that comes after all is known to be theirs.
        """
        gone, self._waiting = self._waiting[: max(self._due, 0)], self._waiting[max(self._due, 0) :]
        self._due = 0
        said = [entry for entry in self._waiting if not entry.given]
        for entry in said:
            entry.given = True
        return gone, said

    def _take(self, text: str) -> Entry | None:
        text = text.strip()
        found = next((e for e in self._waiting if e.text.strip() == text), None)
        if found is not None:
            self._waiting.remove(found)
        return found

    def _first(self) -> Entry | None:
        return self._waiting.pop(0) if self._waiting else None
