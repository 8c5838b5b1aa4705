"""Which gap tag an entry with a free label belongs to: by its stamps and its words (SPEC L-11).

Pure. The teaching skill and people choose labels freely (`**Right bound off by one**`), the ledger has tags
(`edge:off_by_one`). A stamp of the entry is evidence if a row of that stamp shows the tag; a word that both share is
evidence too. One stamp alone, or one word alone, is not enough. If the words fit more than one tag, or more than one
entry, nothing is guessed: the pairs are returned for a person to decide. A pair that was guessed is kept until later
stamps confirm it or contradict it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct, field

from tacitd_handlers.learner.rules.vocabulary import make_slug

COMMON = frozenset(
    "a an and are as at be by for from in is it of on or than that the to when with".split()  # noqa: SIM905
)
"""Words that are no evidence."""
CLOSE = 2
"""Words that a label from before the ledger must share with a tag."""
_ENDINGS = ("ing", "ies", "es", "ed", "s", "y", "e")


class LabelledEntry(Struct, frozen=True):
    """An entry whose label is not a tag. Stamps are "" if missing."""

    label: str
    description: str
    first: str
    failed: str
    clean: str = ""
    """The stamp of the last session, if it tested the weakness and did not observe it."""

    @property
    def stamps(self) -> frozenset[str]:
        """The stamps of sessions that observed the weakness."""
        return frozenset({self.first, self.failed} - {""})


class LabelEvidence(Struct, frozen=True):
    """What is known about one entry and one tag."""

    sessions: int
    """Sessions that observed both."""
    against: int
    """Sessions that observed only one of the two."""
    latest: str
    """The newest stamp of a session that observed both, "" if none did."""
    in_label: frozenset[str]
    """The words that the label shares with the tag."""
    in_text: frozenset[str]
    """The words that label and description share with the tag."""
    is_same_name: bool
    """Whether the label is the tag without its kind: `Off by one` for `edge:off_by_one`."""
    is_old: bool
    """Whether the ledger has no row of the entry's stamps."""

    @property
    def rank(self) -> tuple[int, int]:
        """Stamps decide before words."""
        return self.sessions, -self.against

    @property
    def is_any(self) -> bool:
        """Whether the entry may be the tag's at all. Without a stamp, words count only for an entry from before the ledger."""
        return self.sessions > 0 or self.is_same_name or (self.is_old and len(self.in_label) >= CLOSE)


class PairLimits(Struct, frozen=True):
    """What limits the pairs, besides the evidence."""

    forbidden: Collection[tuple[str, str]] = ()
    """Pairs of label and tag that cannot be, for example because a person declared them different."""
    removed: Collection[str] = ()
    """Tags whose entries a person removed. An entry that fits one of them is no other tag's, and stays as it is."""
    close: Collection[tuple[str, str]] = ()
    """Pairs of label and tag that need all words of the tag in the label: the tag has an entry already."""


class PairedLabels(Struct, frozen=True):
    """The result of `pair_labels`."""

    aliases: Mapping[str, str] = field(default_factory=dict)
    """By tag, the label of its entry, as far as it was not known."""
    unclear: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By tag, the labels of entries that may be its entry, the likeliest first."""
    undone: Sequence[str] = ()
    """The tags whose guessed entry is not theirs."""
    confirmed: Sequence[str] = ()
    """The tags whose entry, guessed before or now, was observed together with them in a second session."""


Seen = Mapping[str, Collection[str] | None]
"""By stamp, the tags that its rows show; None if there is no row."""
Pairs = Mapping[tuple[LabelledEntry, str], LabelEvidence]


def pair_labels(
    entries: Sequence[LabelledEntry],
    tags: Sequence[str],
    shown: Callable[[str], Collection[str] | None],
    guessed: Mapping[str, LabelledEntry] | None = None,
    limits: PairLimits | None = None,
) -> PairedLabels:
    """Pair entries with tags, each at most once. The order of neither matters.

    `tags` are those that need an entry. `shown` returns the tags that the rows of a stamp show, None if there is no
    row. `guessed` are the entries of pairs that were guessed before, by tag.
    """
    limits, kept, free = limits or PairLimits(), dict(guessed or {}), list(entries)
    stamps = {stamp for one in (*free, *kept.values()) for stamp in (*one.stamps, one.clean) if stamp}
    seen = {stamp: shown(stamp) for stamp in stamps}
    refused = {tag for tag, entry in kept.items() if (entry.label, tag) in limits.forbidden}
    while wrong := [t for t, e in kept.items() if t in refused or _is_contradicted(e, t, free, seen)]:
        free += [kept.pop(tag) for tag in wrong]
    if kept:
        all_pairs, _ = _list_pairs((*free, *kept.values()), (*tags, *(guessed or {})), limits, seen)
        for entry, tag in _list_crowding([(entry, tag) for tag, entry in kept.items()], all_pairs):
            kept.pop(tag)
            free.append(entry)
    undone = [tag for tag in guessed or {} if tag not in kept]
    pairs, doubtful = _list_pairs(free, (*tags, *undone), limits, seen)
    found: dict[str, LabelledEntry] = {}
    while sure := _find_sure(pairs):
        found |= {tag: entry for entry, tag in sure}
        used = {entry for entry, _ in sure}
        pairs = {pair: known for pair, known in pairs.items() if pair[0] not in used and pair[1] not in found}
    unclear: dict[str, list[str]] = {}
    for entry, tag in sorted(pairs, key=lambda pair: _likelihood(pairs[pair]), reverse=True):
        is_best = pairs[entry, tag].rank == max(known.rank for (e, _), known in pairs.items() if e == entry)
        if is_best and tag not in limits.removed:
            unclear.setdefault(tag, []).append(entry.label)
    for entry, tag in doubtful:
        if entry not in found.values():
            unclear.setdefault(tag, []).append(entry.label)
    return PairedLabels(
        {tag: entry.label for tag, entry in found.items() if tag not in limits.removed},
        unclear,
        undone,
        [tag for tag, entry in (kept | found).items() if _is_confirmed(entry, tag, seen)],
    )


def _list_pairs(
    entries: Sequence[LabelledEntry], tags: Sequence[str], limits: PairLimits, seen: Seen
) -> tuple[Pairs, list[tuple[LabelledEntry, str]]]:
    """The pairs that may be, with their evidence, and those that a person can be asked about only."""
    pairs: dict[tuple[LabelledEntry, str], LabelEvidence] = {}
    doubtful: list[tuple[LabelledEntry, str]] = []
    for entry in entries:
        for tag in dict.fromkeys((*tags, *limits.removed)):
            known = weigh_pair(entry, tag, seen)
            if not known.is_any or (entry.label, tag) in limits.forbidden:
                continue
            if (entry.label, tag) in limits.close and known.in_label < _words_of(tag):
                doubtful.append((entry, tag))
            else:
                pairs[entry, tag] = known
    return pairs, doubtful


def weigh_pair(entry: LabelledEntry, tag: str, seen: Seen) -> LabelEvidence:
    """The evidence for one pair."""
    both = [stamp for stamp in entry.stamps if tag in (seen[stamp] or ())]
    alone = [stamp for stamp in entry.stamps if seen[stamp] is not None and stamp not in both]
    clean_but_shown = entry.clean not in both and tag in (seen.get(entry.clean) or ())
    wanted = _words_of(tag)
    return LabelEvidence(
        len(both),
        len(alone) + clean_but_shown,
        max(both, default=""),
        wanted & split_words(entry.label),
        wanted & split_words(f"{entry.label} {entry.description}"),
        make_slug(entry.label) == make_slug(tag.rpartition(":")[2]) != "",
        not any(seen[stamp] for stamp in entry.stamps),
    )


def _is_contradicted(entry: LabelledEntry, tag: str, others: Iterable[LabelledEntry], seen: Seen) -> bool:
    """Whether stamps speak against a guess: its own, or those of another entry that was observed with the tag since."""
    known = weigh_pair(entry, tag, seen)
    if known.against:
        return True
    for other in others:
        theirs = weigh_pair(other, tag, seen)
        newer = theirs.latest > known.latest and bool(theirs.in_label)
        if not theirs.against and (theirs.sessions > known.sessions or newer):
            return True
    return False


def _find_sure(pairs: Pairs) -> list[tuple[LabelledEntry, str]]:
    """The pairs that the evidence joins, and that crowd out no other entry."""
    sure = [pair for pair in pairs if _is_enough(*pair, pairs)]
    crowding = _list_crowding(sure, pairs)
    return [pair for pair in sure if pair not in crowding]


def _list_crowding(
    chosen: Sequence[tuple[LabelledEntry, str]], pairs: Pairs
) -> list[tuple[LabelledEntry, str]]:
    """Those of the chosen pairs that leave fewer tags that fit best to the other entries than these could have.

    Two entries that fit the same two tags by their stamps need both, whatever word a third one shares with one of them.
    """
    best: dict[LabelledEntry, tuple[int, int]] = {}
    for (entry, _), known in pairs.items():
        best[entry] = max(best.get(entry, known.rank), known.rank)
    fitting: dict[LabelledEntry, list[str]] = {entry: [] for entry in best}
    for (entry, tag), known in pairs.items():
        if known.rank == best[entry]:
            fitting[entry].append(tag)
    most = _count_placed(fitting)
    return [pair for pair in chosen if _count_placed(_without(fitting, *pair)) < most - 1]


def _without(
    fitting: Mapping[LabelledEntry, Sequence[str]], entry: LabelledEntry, tag: str
) -> dict[LabelledEntry, list[str]]:
    return {one: [other for other in tags if other != tag] for one, tags in fitting.items() if one != entry}


def _count_placed(fitting: Mapping[LabelledEntry, Sequence[str]]) -> int:
    """How many entries can have a tag of their own: the size of a maximum matching, by augmenting paths."""
    tag_of: dict[LabelledEntry, str] = {}
    holders: dict[str, LabelledEntry] = {}
    for entry in fitting:
        reached: dict[str, LabelledEntry] = {}
        waiting, free = [entry], ""
        while waiting and not free:
            one = waiting.pop()
            for tag in (tag for tag in fitting[one] if tag not in reached):
                reached[tag] = one
                if tag not in holders:
                    free = tag
                    break
                waiting.append(holders[tag])
        while free:  # each holder on the way moves to the tag that was found for it
            one = reached[free]
            before = tag_of.get(one, "")
            tag_of[one], holders[free], free = free, one, before
    return len(tag_of)


def _is_enough(entry: LabelledEntry, tag: str, pairs: Pairs) -> bool:
    """Whether the evidence joins the two: two sessions, or a stamp and a word, and nothing else is as likely."""
    known = pairs[entry, tag]
    rivals = [pair for pair in pairs if (pair[0] == entry) != (pair[1] == tag)]
    if (known.sessions and known.against) or any(pairs[pair].rank > known.rank for pair in rivals):
        return False
    rivals = [pair for pair in rivals if pairs[pair].rank == known.rank]
    if known.sessions >= 2 and not rivals:
        return True
    if not known.in_label:
        # A description does not choose between tags, nor between entries that share a word.
        return bool(known.in_text) and all(pair[1] == tag and not pairs[pair].in_text for pair in rivals)
    return all(
        pairs[pair].in_label < known.in_label and _has_better(pair, (entry, tag), pairs)
        for pair in rivals
        if pairs[pair].in_label
    )


def _has_better(rival: tuple[LabelledEntry, str], pair: tuple[LabelledEntry, str], pairs: Pairs) -> bool:
    """Whether the entry or the tag that the rival has and the pair has not fits something else better."""
    at = 0 if rival[0] != pair[0] else 1
    known = pairs[rival]
    return any(
        theirs.rank >= known.rank and theirs.in_label > known.in_label
        for other, theirs in pairs.items()
        if other[at] == rival[at] and other != rival
    )


def _is_confirmed(entry: LabelledEntry, tag: str, seen: Seen) -> bool:
    """Whether no session can change the pair: two observed both and no other tag as often, or only the name decided."""
    known = weigh_pair(entry, tag, seen)
    others = {other for stamp in entry.stamps for other in seen[stamp] or () if other != tag}
    if known.sessions >= 2:
        return all(weigh_pair(entry, other, seen).sessions < known.sessions for other in others)
    return known.is_same_name and not known.sessions


def _likelihood(known: LabelEvidence) -> tuple[tuple[int, int], int, int]:
    return known.rank, len(known.in_label), len(known.in_text)


def _words_of(tag: str) -> frozenset[str]:
    return split_words(tag.rpartition(":")[2])


@lru_cache(maxsize=4096)
def split_words(text: str) -> frozenset[str]:
    """The significant words of a text, without endings, in lower case: `Empty arrays` and `empty_array` have the same."""
    found = re.findall(r"[^\W_]+", text.lower())
    return frozenset(_stem(word) for word in found if word not in COMMON)


def _stem(word: str) -> str:
    ending = next((one for one in _ENDINGS if word.endswith(one) and len(word) - len(one) >= 3), "")
    return word.removesuffix(ending)
