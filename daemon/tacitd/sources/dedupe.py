"""Which prompts were seen before, in this transcript or any other. No disk, no clock.

Claude Code writes the same text more than once. A fork copies a whole session with the same uuids and a new session id.
A message typed while the model worked is in the queue, in an attachment, and sometimes in a user line (CLAUDE_CODE
section 0 facts 13 and 16, section 6). So a prompt counts as seen

- if its id was seen, in any file;
- otherwise, if its (session, normalised text) was seen within ten minutes and one of the two has no uuid or came through
  the queue. Two typed lines with different uuids are two prompts, even if both are "yes".
"""

from __future__ import annotations

from hashlib import blake2b
from unicodedata import normalize

from tacitd.events import Prompt

WINDOW = 600.0
"""Seconds within which the same text in one session is the same prompt."""

_SAME_AS = {"bare": ("bare", "queue", "line"), "queue": ("bare", "line"), "line": ("bare", "queue")}
"""For each class, those that it can repeat. `bare` has no uuid, `queue` came through the queue, `line` is a record."""


def normalise_text(text: str) -> str:
    """Given text, return it as it is compared: NFKC, case folded, white space folded. Idempotent."""
    folded = text.lower() if text.isascii() else normalize("NFKC", text).casefold()
    return " ".join(folded.split())


class SeenPrompts:
    """The prompts that were seen. Keeps digests, never text."""

    def __init__(self) -> None:
        self._ids = set[bytes]()
        self._said: dict[str, dict[bytes, float | None]] = {kind: {} for kind in _SAME_AS}
        """For each class the texts, with their times."""

    def has_prompt(self, prompt: Prompt) -> bool:
        """Whether this prompt was added before, with the same id or as the same text."""
        return self._is_known(prompt, _digest(prompt.id), _digest_words(prompt))

    def add_if_new(self, prompt: Prompt) -> bool:
        """Whether this prompt is new; it is added then."""
        id, words = _digest(prompt.id), _digest_words(prompt)
        if self._is_known(prompt, id, words):
            return False
        self._ids.add(id)
        self._said[_class(prompt)][words] = prompt.time
        return True

    def add_prompt(self, prompt: Prompt) -> None:
        """Add this prompt."""
        self._ids.add(_digest(prompt.id))
        self._said[_class(prompt)][_digest_words(prompt)] = prompt.time

    def _is_known(self, prompt: Prompt, id: bytes, words: bytes) -> bool:
        groups = (self._said[kind] for kind in _SAME_AS[_class(prompt)])
        return id in self._ids or any(words in group and _near(group[words], prompt.time) for group in groups)


def _digest(text: str) -> bytes:
    return blake2b(text.encode(errors="replace"), digest_size=16).digest()


def _digest_words(prompt: Prompt) -> bytes:
    return _digest(f"{prompt.session}\0{normalise_text(prompt.text)}")


def _near(said: float | None, time: float | None) -> bool:
    return said is None or time is None or abs(said - time) <= WINDOW


def _class(prompt: Prompt) -> str:
    if not prompt.uuid:
        return "bare"
    return "queue" if prompt.kind == "queued" else "line"
