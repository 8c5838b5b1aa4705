"""The labels of the sessions, and how the lines that a run left behind compare with them. Pure.

`learning_set/labels.txt` describes its own form. A line is compared by its words, because a model words it in its own way,
and by its origin: the messages that it was made from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

LabelKind = Literal[
    "durable", "one-off", "nothing", "known", "again", "supersedes", "keeps", "profile", "may"
]
_LABEL = re.compile(r"(?P<id>[\w-]+\.\d+) (?P<kind>[a-z-]+)(?P<rest>[^:]*)(?:: (?P<words>.+))?")

Words = tuple[tuple[str, ...], ...]
"""Groups of alternatives: of each group one must be there."""


@dataclass(frozen=True, slots=True)
class Label:
    """What one message should become, or one of several such things."""

    id: str
    kind: LabelKind
    words: Words = ()
    files: tuple[str, ...] = ()
    """The files in which a durable line may be."""
    other: str = ""
    """The message that `again`, `supersedes` and `keeps` name."""

    @property
    def project(self) -> str:
        """The name before the session's number: `gate` of `gate-2.3`."""
        return self.id.rpartition("-")[0]

    def has_words(self, text: str) -> bool:
        """Whether a text has the words; False if the label has none."""
        return bool(self.words) and all(any(_contains(text, one) for one in group) for group in self.words)


@dataclass(frozen=True, slots=True)
class FoundLine:
    """A line that was learned."""

    project: str
    file: str
    text: str
    messages: tuple[str, ...]
    """The ids of the messages that it was made from; () if that is not known."""


@dataclass(frozen=True, slots=True)
class LabelScore:
    """How a run compares with the labels. The lists name what is wrong, one string each."""

    durable: int
    recalled: int
    """Durable labels for which there is a line, in whatever file."""
    one_offs: int
    """Messages that must not become a line."""
    lines: int
    lost: tuple[str, ...] = ()
    promoted: tuple[str, ...] = ()
    misplaced: tuple[str, ...] = ()
    duplicates: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    """Lines that should have been replaced."""
    profile_missed: tuple[str, ...] = ()
    profile: int = 0
    unlabelled: tuple[str, ...] = field(default=())
    """Lines that no label covers. A person has to judge them."""

    @property
    def recall(self) -> float:
        """The share of durable labels with a line, 0 to 1."""
        return self.recalled / self.durable if self.durable else 1.0


def parse_labels(text: str) -> list[Label]:
    """Parse the labels. Raises ValueError for a line that is not of the form."""
    return [_parse_label(line) for line in text.splitlines() if line.strip() and not line.startswith("#")]


def _parse_label(line: str) -> Label:
    found = _LABEL.fullmatch(line.rstrip())
    kind = next((one for one in get_args(LabelKind) if found and one == found["kind"]), None)
    if found is None or kind is None:
        raise ValueError(f"not a label: {line!r}")
    words = tuple(
        tuple(group.casefold().split("|")) for group in (found["words"] or "").split(" + ") if group
    )
    rest = found["rest"].strip()
    if kind == "durable":
        return Label(found["id"], kind, words, files=tuple(rest.split("|")))
    return Label(found["id"], kind, words, other=rest)


def score_lines(
    labels: Sequence[Label], lines: Sequence[FoundLine], profiles: Mapping[str, str]
) -> LabelScore:
    """Compare what was learned with the labels. `profiles`: the text of each person's profile, by project."""
    durable = [one for one in labels if one.kind == "durable"]
    silent = {one.id for one in labels if one.kind in ("one-off", "nothing", "known")}
    matching = {one: _match_lines(one, lines) for one in durable}
    explained = {line for found in matching.values() for line in found}
    explained |= {line for one in labels if one.kind == "may" for line in _match_lines(one, lines)}
    promoted = [line for line in lines if _is_promoted(line, labels, silent, explained)]
    expected = [one for one in labels if one.kind == "profile"]
    stale = [
        f"{one.id}: {line.text}"
        for one in labels
        if one.kind == "supersedes"
        for line in _match_lines(one, lines)
    ]
    kept = [one for one in labels if one.kind == "keeps"]
    lost_by_exception = [
        f"{one.other}: lost by {one.id}"
        for one in kept
        if not any(matching[label] for label in durable if label.id == one.other)
    ]
    return LabelScore(
        durable=len(durable),
        recalled=sum(bool(found) for found in matching.values()),
        one_offs=len(silent),
        lines=len(lines),
        lost=tuple([_describe(one) for one, found in matching.items() if not found] + lost_by_exception),
        promoted=tuple(f"{line.file}: {line.text}" for line in promoted),
        misplaced=tuple(_list_misplaced(matching)),
        duplicates=tuple(_list_duplicates(labels, matching, lines)),
        stale=tuple(stale),
        profile=len(expected),
        profile_missed=tuple(
            _describe(one) for one in expected if not one.has_words(profiles.get(one.project, ""))
        ),
        unlabelled=tuple(
            f"{line.project} {line.file}: {line.text}"
            for line in lines
            if line not in explained and line not in promoted
        ),
    )


def _match_lines(label: Label, lines: Iterable[FoundLine]) -> list[FoundLine]:
    """The lines of the label's project with its words; of those only the ones in a right file, if there are any."""
    found = [line for line in lines if line.project == label.project and label.has_words(line.text)]
    return [line for line in found if line.file in label.files] or found


def _is_promoted(
    line: FoundLine, labels: Sequence[Label], silent: set[str], explained: set[FoundLine]
) -> bool:
    """Whether a line was made of messages that must not become one, or has their words."""
    if line.messages and set(line.messages) <= silent:
        return True
    quiet = (one for one in labels if one.kind in ("one-off", "nothing") and one.project == line.project)
    return line not in explained and any(one.has_words(line.text) for one in quiet)


def _list_misplaced(matching: Mapping[Label, Sequence[FoundLine]]) -> list[str]:
    return [
        f"{label.id} in {found[0].file} instead of {' or '.join(label.files)}: {found[0].text}"
        for label, found in matching.items()
        if found and found[0].file not in label.files
    ]


def _list_duplicates(
    labels: Sequence[Label], matching: Mapping[Label, Sequence[FoundLine]], lines: Sequence[FoundLine]
) -> list[str]:
    """Lines for which another one has the same durable labels, and lines that a document contains already."""
    seen: dict[frozenset[Label], FoundLine] = {}
    found: list[str] = []
    for line in lines:
        own = frozenset(label for label, matched in matching.items() if line in matched)
        if own and own in seen:
            found.append(f"{line.file}: {line.text} / {seen[own].text}")
        seen.setdefault(own, line)
    known = [one for one in labels if one.kind == "known"]
    return found + [f"{line.file}: {line.text}" for one in known for line in _match_lines(one, lines)]


def _describe(label: Label) -> str:
    return f"{label.id}: {' + '.join('|'.join(group) for group in label.words)}"


def _contains(text: str, word: str) -> bool:
    """Whether a text has a word or its beginning. Words in scripts without spaces match anywhere."""
    bound = r"(?<![A-Za-z0-9])" if word[:1].isascii() and word[:1].isalnum() else ""
    return re.search(bound + re.escape(word), text.casefold()) is not None
