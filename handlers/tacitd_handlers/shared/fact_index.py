"""Many lines that are known, indexed by their words: which of them says a given fact, or its contrary?

The answers are those of `equality.find_equal` and `equality.is_reversal` over the lines in order. Both compare a fact with
every line; this looks up the few lines that can qualify, and lets those functions decide. With thousands of facts and
thousands of lines that is the difference between minutes and a second.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from tacitd_handlers.shared.equality import (
    content_words,
    is_reversal,
    may_be_misspelt,
    normalise_text,
    same_fact,
)


class FactIndex:
    """Lines in their order. Not thread-safe."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts: list[str | None] = []
        """None: the line at this place was removed."""
        self._same: dict[int, list[int]] = {}
        """Places by the hashes of keys, which take a fraction of the keys' memory. Equal hashes of other keys do no harm:
        what is found is compared."""
        self._contrary: dict[int, list[int]] | None = None
        """None until a contrary is first asked for."""
        self._places: dict[str, list[int]] = {}
        for text in texts:
            self.add(text)

    def __iter__(self) -> Iterator[str]:
        return (text for text in self._texts if text is not None)

    def add(self, text: str) -> None:
        """Add a line after the others."""
        self._texts.append(text)
        self._note(text, len(self._texts) - 1)

    def replace(self, old: str, new: str | None) -> None:
        """Put `new` in the place of the first line `old`, or nothing (None). Raises ValueError if there is no such line."""
        at = min((at for at in self._places.get(old, ()) if self._texts[at] == old), default=None)
        if at is None:
            raise ValueError(f"no line {old!r}")
        self._texts[at] = new
        if new is not None:
            self._note(new, at)

    def find_equal(self, fact: str, without: str | None = None) -> str | None:
        """The first line that says this fact already. The line `without` does not count."""
        found = self._lookup(self._same, _same_keys(fact))
        return next((text for text in found if text != without and same_fact(fact, text)), None)

    def find_reversal(self, fact: str) -> str | None:
        """The first line that is this fact with its negation or its two sides changed (SPEC S-26)."""
        if self._contrary is None:
            self._contrary = {}
            for at, text in enumerate(self._texts):
                if text is not None:
                    _note_keys(self._contrary, _contrary_keys(text), at)
        found = self._lookup(self._contrary, _contrary_keys(fact))
        return next((text for text in found if is_reversal(fact, text)), None)

    def _note(self, text: str, at: int) -> None:
        self._places.setdefault(text, []).append(at)
        _note_keys(self._same, _same_keys(text), at)
        if self._contrary is not None:
            _note_keys(self._contrary, _contrary_keys(text), at)

    def _lookup(self, index: dict[int, list[int]], keys: Iterable[Hashable]) -> Iterator[str]:
        places = sorted({at for key in keys for at in index.get(hash(key), ())})
        return (text for at in places if (text := self._texts[at]) is not None)


def _note_keys(index: dict[int, list[int]], keys: Iterable[Hashable], at: int) -> None:
    for key in set(map(hash, keys)):
        index.setdefault(key, []).append(at)


def _same_keys(text: str) -> Iterator[Hashable]:
    """Lines that say the same share one of these keys."""
    words = tuple(normalise_text(text).split(" "))
    yield words
    for at, word in enumerate(words):
        if may_be_misspelt(word):
            # A doubled letter and two transposed ones keep the set of letters, and the first two letters count.
            yield at, word[:2], frozenset(word), words[:at], words[at + 1 :]


def _contrary_keys(text: str) -> Iterator[Hashable]:
    """Lines that are each other's contrary share one of these keys."""
    words = normalise_text(text).split(" ")
    content = content_words(words)
    if content:
        yield "content", tuple(content)
        yield "sorted", tuple(sorted(words))
