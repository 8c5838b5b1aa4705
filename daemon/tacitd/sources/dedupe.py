"""Which prompts were seen before, in this transcript or any other. No disk, no clock.

Claude Code writes the same text more than once. A fork copies a whole session with the same uuids and a new session id.
A message typed while the model worked is in the queue, in an attachment, and sometimes in a user line (CLAUDE_CODE
section 0 facts 13 and 16, section 6). So a prompt counts as seen

- if its id was seen, in any file;
- otherwise, if its (session, normalised text) was seen within ten minutes and one of the two has no uuid or came through
  the queue. Two typed lines with different uuids are two prompts, even if both are "yes".
"""

from __future__ import annotations

from unicodedata import normalize

from tacitd.events import Prompt
from tacitd.text.hashes import blake2b

WINDOW = 600.0
"""Seconds within which the same text in one session is the same prompt."""

_ROOM = 30_000
"""How many characters of a transcript's typed lines are kept before their digests are computed; 100 for each besides its text."""

_SAME_AS = {"bare": ("bare", "queue", "line"), "queue": ("bare", "line"), "line": ("bare", "queue")}
"""For each class, those that it can repeat. `bare` has no uuid, `queue` came through the queue, `line` is a record."""


def normalise_text(text: str) -> str:
    """Given text, return it as it is compared: NFKC, case folded, white space folded. Idempotent."""
    folded = text.lower() if text.isascii() else normalize("NFKC", text).casefold()
    return " ".join(folded.split())


def _digest(text: str, more: str = "") -> bytes:
    return blake2b(f"{text}\0{more}".encode(errors="replace"), digest_size=16).digest()


class SeenPrompts:
    """The prompts that were seen. Keeps digests, never text."""

    def __init__(self) -> None:
        self._ids = set[bytes]()
        self._said: dict[str, dict[bytes, float | None]] = {kind: {} for kind in _SAME_AS}
        """For each class the texts, with their times."""

    def has_prompt(self, prompt: Prompt) -> bool:
        """Whether this prompt was added before, with the same id or as the same text."""
        if _digest(prompt.id) in self._ids:
            return True
        return self._said_once(prompt, _digest(prompt.session, normalise_text(prompt.text)))

    def add_if_new(self, prompt: Prompt) -> bool:
        """Whether this prompt is new; it is added then. Called for every typed line, so each digest is computed once."""
        id = _digest(prompt.id)
        if id in self._ids:
            return False
        key = _digest(prompt.session, normalise_text(prompt.text))
        if self._said_once(prompt, key):
            return False
        self._ids.add(id)
        self._said[_class(prompt)][key] = prompt.time
        return True

    def add_prompt(self, prompt: Prompt) -> None:
        """Add this prompt."""
        self._ids.add(_digest(prompt.id))
        key = _digest(prompt.session, normalise_text(prompt.text))
        self._said[_class(prompt)][key] = prompt.time

    def _said_once(self, prompt: Prompt, key: bytes) -> bool:
        for kind in _SAME_AS[_class(prompt)]:
            said = self._said[kind]
            if key in said and _near(said[key], prompt.time):
                return True
        return False


class TranscriptPrompts:
    """The prompts of one transcript so far. Used by one thread.

    Nearly all are typed lines with an id each, in which no text is compared, and most transcripts end before there is any
    other prompt. So texts are compared only then, and digests are computed only when the prompts need more memory than these.
    """

    def __init__(self) -> None:
        self._prompts: dict[str, Prompt] = {}
        """By their ids, until `_seen` is made of them."""
        self._said: dict[str, dict[tuple[str, str], float | None]] | None = None
        """For each class the texts, as (session, normalised text), with their times, from the first prompt that is no line on."""
        self._room = _ROOM
        self._seen: SeenPrompts | None = None

    def add_if_new(self, prompt: Prompt) -> bool:
        """Whether this prompt is new; it is added then."""
        if self._seen is not None:
            return self._seen.add_if_new(prompt)
        self._room -= len(prompt.text) + 100
        if self._room <= 0:
            self._seen = SeenPrompts()
            for one in self._prompts.values():
                self._seen.add_prompt(one)
            self._prompts, self._said = {}, None
            return self._seen.add_if_new(prompt)
        id, kind = prompt.id, _class(prompt)
        is_compared = self._said is not None or kind != "line"
        if id in self._prompts or (is_compared and self._was_said(prompt, kind)):
            return False
        self._prompts[id] = prompt
        return True

    def _was_said(self, prompt: Prompt, kind: str) -> bool:
        """Whether a text of another class is this one's; this one is added if not."""
        if self._said is None:
            lines = self._prompts.values()
            self._said = {"bare": {}, "queue": {}, "line": {_words(one): one.time for one in lines}}
        words = _words(prompt)
        for other in _SAME_AS[kind]:
            said = self._said[other]
            if words in said and _near(said[words], prompt.time):
                return True
        self._said[kind][words] = prompt.time
        return False


def _words(prompt: Prompt) -> tuple[str, str]:
    return prompt.session, normalise_text(prompt.text)


def _near(said: float | None, time: float | None) -> bool:
    return said is None or time is None or abs(said - time) <= WINDOW


def _class(prompt: Prompt) -> str:
    if not prompt.uuid:
        return "bare"
    return "queue" if prompt.kind == "queued" else "line"
