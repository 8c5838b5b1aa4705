"""Which prompts were seen before, in this transcript or any other. No disk, no clock.

Claude Code writes the same text more than once. A fork copies a whole session with the same uuids and a new session id.
A message typed while the model worked is in the queue, in an attachment, and sometimes in a user line (CLAUDE_CODE
section 0 facts 13 and 16, section 6). So a prompt counts as seen

- if its id was seen, in any file;
- otherwise, if its (session, normalised text) was seen within ten minutes and one of the two has no uuid or came through
  the queue. Two typed lines with different uuids are two prompts, even if both are "yes".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isnan, nan
from struct import Struct
from unicodedata import normalize

from tacitd.events import Prompt
from tacitd.sources.digest_table import DigestTable
from tacitd.text.hashes import blake2b

WINDOW = 600.0
"""Seconds within which the same text in one session is the same prompt."""

_KEPT = 20_000
"""How many texts of each class are kept when they are packed, the newest. Ids are kept without limit, 16 bytes each."""

_ROOM = 30_000
"""How many characters of a transcript's typed lines are kept before their digests are computed; 100 for each besides its text."""

_TIME = Struct(">d")
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
        self._ids = DigestTable()
        self._said = {kind: DigestTable(_TIME.size, _keep_newest) for kind in _SAME_AS}

    def load_keys(self, ids: Iterable[str]) -> None:
        """Add what `dump_keys` returned before, or plain `Prompt.id`s."""
        for item in ids:
            if item.startswith("="):
                self._ids.put(bytes.fromhex(item[1:]))
            elif item.startswith("~"):
                kind, key, time = item[1:].split("~")
                self._remember(kind, bytes.fromhex(key), float(time) if time else None)
            else:
                self._ids.put(_digest(item))

    @classmethod
    def encode_prompts(cls, prompts: Iterable[Prompt]) -> list[str]:
        """Given prompts, return what a log must keep so that `load_keys` restores them."""
        some = cls()
        for prompt in prompts:
            some.add_prompt(prompt)
        return list(some.dump_keys())

    @staticmethod
    def encode_id(id: str) -> str:
        """What a log must keep so that `load_keys` restores this id, whatever characters it has."""
        return "=" + _digest(id).hex()

    def dump_keys(self) -> Iterator[str]:
        """Everything as short strings for a log: `=<hex>` for an id, `~<class>~<hex>~<seconds since 1970>` for a text."""
        for digest, _ in self._ids:
            yield "=" + digest.hex()
        for kind, said in self._said.items():
            for digest, value in said:
                time = _decode_time(value)
                yield f"~{kind}~{digest.hex()}~" + ("" if time is None else repr(time))

    @property
    def tables(self) -> dict[str, DigestTable]:
        """The digests by what they are of: `id`, and each class of texts with the time (8 bytes) at which it was said."""
        return {"id": self._ids, **self._said}

    def has_id(self, id: str) -> bool:
        """Whether a prompt with this id was added before."""
        return self._ids.find_value(_digest(id)) is not None

    def has_prompt(self, prompt: Prompt) -> bool:
        """Whether this prompt was added before, with the same id or as the same text."""
        if self.has_id(prompt.id):
            return True
        if not any(self._said[kind] for kind in _SAME_AS[_class(prompt)]):
            return False
        return self._said_once(prompt, _digest(prompt.session, normalise_text(prompt.text)))

    def add_if_new(self, prompt: Prompt) -> bool:
        """Whether this prompt is new; it is added then. Called for every typed line, so each digest is computed once."""
        id = _digest(prompt.id)
        if self._ids.find_value(id) is not None:
            return False
        key = _digest(prompt.session, normalise_text(prompt.text))
        if self._said_once(prompt, key):
            return False
        self._ids.put(id)
        self._remember(_class(prompt), key, prompt.time)
        return True

    def _said_once(self, prompt: Prompt, key: bytes) -> bool:
        for kind in _SAME_AS[_class(prompt)]:
            said = self._said[kind]
            value = said.find_value(key) if said else None
            if value is not None and _near(_decode_time(value), prompt.time):
                return True
        return False

    def add_prompt(self, prompt: Prompt) -> None:
        """Add this prompt."""
        self._ids.put(_digest(prompt.id))
        self._remember(_class(prompt), _digest(prompt.session, normalise_text(prompt.text)), prompt.time)

    def _remember(self, kind: str, key: bytes, time: float | None) -> None:
        self._said[kind].put(key, _TIME.pack(nan if time is None else time))


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


def _keep_newest(said: dict[bytes, bytes]) -> dict[bytes, bytes]:
    if len(said) <= _KEPT:
        return said
    newest = sorted(said.items(), key=lambda one: _decode_time(one[1]) or 0.0)
    return dict(newest[-_KEPT:])


def _decode_time(value: bytes) -> float | None:
    (time,) = _TIME.unpack(value)
    return None if isnan(time) else time


def _near(said: float | None, time: float | None) -> bool:
    return said is None or time is None or abs(said - time) <= WINDOW


def _class(prompt: Prompt) -> str:
    if not prompt.uuid:
        return "bare"
    return "queue" if prompt.kind == "queued" else "line"
