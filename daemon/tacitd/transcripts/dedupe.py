"""Which prompts were seen before, in this file or any other. No disk, no clock.

Claude Code writes the same words more than once: a fork copies a whole session with the same uuids and a new
session id; a message typed while the model worked stands in the queue, in an attachment, and maybe as a user
line (CLAUDE_CODE section 0 facts 13 and 16, section 6). So a prompt is known again

- by its id, across all files;
- else by (session, normalised text) within ten minutes, where one of the two has no uuid or came through the
  queue. Two typed lines with different uuids are two prompts, also when both say "yes".

Clients up to 1.0.83 copied the history of a resumed session with new uuids, new times and a new session id.
Nothing in such a record tells it from new words, so with `copies` a prompt is known by (working directory,
normalised text) alone: a repetition in transcripts that old is not counted as said anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from unicodedata import normalize

from tacitd.events import Prompt

WINDOW = 600.0
"""Seconds in which the same words of one session are the same prompt."""

_KEPT = 20_000
"""Texts of each class that are remembered; ids are remembered for good, 16 bytes each."""

_SAME_AS = {"bare": ("bare", "queue", "line"), "queue": ("bare", "line"), "line": ("bare", "queue")}
"""`bare` has no uuid, `queue` came through the queue, `line` is a record of its own: what each may repeat."""


def normalised(text: str) -> str:
    """Given words, return them as they are compared: NFKC, case folded, white space folded."""
    folded = text.lower() if text.isascii() else normalize("NFKC", text).casefold()
    return " ".join(folded.split())


def _digest(text: str, more: str = "") -> bytes:
    return blake2b(f"{text}\0{more}".encode(errors="replace"), digest_size=16).digest()


class Seen:
    """The prompts that were seen. Remembers digests, never words."""

    def __init__(self) -> None:
        self._ids: set[bytes] = set()
        self._said: dict[str, dict[bytes, float | None]] = {kind: {} for kind in (*_SAME_AS, "copy")}

    @classmethod
    def restore(cls, ids: Iterable[str]) -> Seen:
        """Given what `ids` returned before, or plain `Prompt.id`s out of a log, return what knows them."""
        seen = cls()
        seen.load(ids)
        return seen

    def load(self, ids: Iterable[str]) -> None:
        """The same, into what is known already."""
        for item in ids:
            if item.startswith("="):
                self._ids.add(bytes.fromhex(item[1:]))
            elif item.startswith("~"):
                kind, key, time = item[1:].split("~")
                self._remember(kind, bytes.fromhex(key), float(time) if time else None)
            else:
                self._ids.add(_digest(item))

    @classmethod
    def keys(cls, prompts: Iterable[Prompt], copies: bool = False) -> list[str]:
        """Given prompts, return what a log must keep so that `load` knows them again."""
        some = cls()
        for prompt in prompts:
            some.add(prompt, copies)
        return list(some.ids())

    @staticmethod
    def key(id: str) -> str:
        """What a log must keep so that `load` knows this id again, whatever it looks like."""
        return "=" + _digest(id).hex()

    def ids(self) -> Iterator[str]:
        """All that is known, as short strings for a log: `=<hex>` an id, `~<class>~<hex>~<seconds>` a text."""
        for digest in self._ids:
            yield "=" + digest.hex()
        for kind, said in self._said.items():
            for digest, time in said.items():
                yield f"~{kind}~{digest.hex()}~" + ("" if time is None else repr(time))

    def knows(self, id: str) -> bool:
        """Whether a prompt with this id was added before."""
        return _digest(id) in self._ids

    def has(self, prompt: Prompt, copies: bool = False) -> bool:
        """Whether this prompt was added before, under its id or as the same words said once."""
        if self.knows(prompt.id):
            return True
        if not copies and not any(self._said[kind] for kind in _SAME_AS[_class(prompt)]):
            return False
        words = normalised(prompt.text)
        if copies and _digest(prompt.cwd, words) in self._said["copy"]:
            return True
        return self._said_once(prompt, _digest(prompt.session, words))

    def first(self, prompt: Prompt) -> bool:
        """Whether this prompt is new; then it is remembered. For every typed line: each digest is made once."""
        id, key = _digest(prompt.id), _digest(prompt.session, normalised(prompt.text))
        if id in self._ids or self._said_once(prompt, key):
            return False
        self._ids.add(id)
        self._remember(_class(prompt), key, prompt.time)
        return True

    def _said_once(self, prompt: Prompt, key: bytes) -> bool:
        for kind in _SAME_AS[_class(prompt)]:
            said = self._said[kind]
            if key in said and _near(said[key], prompt.time):
                return True
        return False

    def add(self, prompt: Prompt, copies: bool = False) -> None:
        """Remember this prompt."""
        self._ids.add(_digest(prompt.id))
        words = normalised(prompt.text)
        self._remember(_class(prompt), _digest(prompt.session, words), prompt.time)
        if copies:
            self._remember("copy", _digest(prompt.cwd, words), prompt.time)

    def _remember(self, kind: str, key: bytes, time: float | None) -> None:
        said = self._said[kind]
        said.pop(key, None)
        said[key] = time
        if len(said) > _KEPT:
            del said[next(iter(said))]


def _near(said: float | None, time: float | None) -> bool:
    return said is None or time is None or abs(said - time) <= WINDOW


def _class(prompt: Prompt) -> str:
    if not prompt.uuid:
        return "bare"
    return "queue" if prompt.kind == "queued" else "line"
