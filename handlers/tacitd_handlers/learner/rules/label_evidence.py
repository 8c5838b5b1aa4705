"""Which gap tag an entry with a free label belongs to: by its stamps and its words (SPEC L-11).

Pure. The teaching skill and people choose labels freely (`**Right bound off by one**`), the ledger has tags
(`edge:off_by_one`). Two kinds of evidence join them. A stamp of the entry is evidence if a row of that stamp shows the
tag; a shared word is evidence too. One stamp alone, or a word alone, is not enough. What is left unclear is returned
for a person to decide, and nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from tacitd_handlers.learner.rules.vocabulary import make_slug

A = TypeVar("A")
B = TypeVar("B")
COMMON = frozenset(
    "a an and are as at be by for from in is it of on or than that the to when with".split()  # noqa: SIM905
)
"""Words that are no evidence."""
CLOSE = 2
"""Words that a label from before the ledger must share with a tag."""
_ENDINGS = ("ing", "ies", "es", "ed", "s", "y", "e")


@dataclass(frozen=True, slots=True)
class LabelledEntry:
    """An entry whose label is not a tag. Stamps are "" if missing."""

    label: str
    description: str
    first: str
    failed: str

    @property
    def stamps(self) -> frozenset[str]:
        """The stamps of sessions that observed the weakness."""
        return frozenset({self.first, self.failed} - {""})


@dataclass(frozen=True, slots=True)
class PairedLabels:
    """The result of `pair_labels`."""

    aliases: Mapping[str, str] = field(default_factory=dict)
    """By tag, the label of its entry."""
    unclear: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By tag, the labels of entries that may be its entry, the likeliest first."""


Score = tuple[int, int, int]
"""Stamps, words shared with the label, words shared with label and description."""
NOTHING: Score = (0, 0, 0)


def pair_labels(
    entries: Sequence[LabelledEntry],
    tags: Sequence[str],
    shown: Callable[[str], Collection[str] | None],
    forbidden: Collection[tuple[str, str]] = (),
) -> PairedLabels:
    """Pair entries with tags, each at most once.

    `tags` are those that need an entry. `shown` returns the tags that the rows of a stamp show, None if there is no
    row. `forbidden` are pairs of label and tag that a person declared different. A pair is made only if each is the
    other's single best choice, so the order of neither matters.
    """
    seen = {stamp: shown(stamp) for entry in entries for stamp in entry.stamps}
    scores = {
        (entry, tag): score
        for entry in entries
        for tag in tags
        if (entry.label, tag) not in forbidden and (score := _rate(entry, tag, seen)) != NOTHING
    }
    aliases: dict[str, str] = {}
    while pairs := _mutual_best(scores):
        for entry, tag in pairs:
            aliases[tag] = entry.label
            scores = {pair: score for pair, score in scores.items() if entry != pair[0] and tag != pair[1]}
    unclear: dict[str, list[str]] = {}
    for entry, tag in sorted(scores, key=lambda pair: [-each for each in scores[pair]]):
        unclear.setdefault(tag, []).append(entry.label)
    return PairedLabels(aliases, unclear)


def _rate(entry: LabelledEntry, tag: str, seen: Mapping[str, Collection[str] | None]) -> Score:
    """The evidence that an entry is a tag's; NOTHING if there is none."""
    stamps = sum(tag in (seen[stamp] or ()) for stamp in entry.stamps)
    wanted = split_words(tag.rpartition(":")[2])
    in_label = len(wanted & split_words(entry.label))
    score = (stamps, in_label, len(wanted & split_words(f"{entry.label} {entry.description}")))
    if stamps:
        return score
    # Without a stamp, words count only for an entry from before the ledger: a row of its stamps would show the tag.
    old = not any(seen[stamp] for stamp in entry.stamps)
    return score if old and (in_label >= CLOSE or make_slug(entry.label) == make_slug(tag)) else NOTHING


def _is_enough(score: Score) -> bool:
    """Whether the evidence joins the two: a stamp and a word, two sessions, or words of an entry without rows."""
    stamps, _, words = score
    return stamps >= 2 or words >= 1


def _mutual_best(scores: Mapping[tuple[LabelledEntry, str], Score]) -> list[tuple[LabelledEntry, str]]:
    enough = {pair: score for pair, score in scores.items() if _is_enough(score)}
    of_entry = _single_best((entry, tag, score) for (entry, tag), score in scores.items())
    of_tag = _single_best((tag, entry, score) for (entry, tag), score in scores.items())
    return [(entry, tag) for entry, tag in enough if of_entry.get(entry) == tag and of_tag.get(tag) == entry]


def _single_best(rated: Iterable[tuple[A, B, Score]]) -> dict[A, B | None]:
    """By the first, the second with the highest score; None if several have it."""
    best: dict[A, B | None] = {}
    highest: dict[A, Score] = {}
    for one, other, score in rated:
        before = highest.get(one, NOTHING)
        if score > before:
            best[one], highest[one] = other, score
        elif score == before:
            best[one] = None
    return best


def split_words(text: str) -> frozenset[str]:
    """The telling words of a text, without endings, in lower case: `Empty arrays` and `empty_array` have the same."""
    found = re.findall(r"[^\W_]+", text.lower())
    return frozenset(_stem(word) for word in found if word not in COMMON)


def _stem(word: str) -> str:
    ending = next((one for one in _ENDINGS if word.endswith(one) and len(word) - len(one) >= 3), "")
    return word.removesuffix(ending)
