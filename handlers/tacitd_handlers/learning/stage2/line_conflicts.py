"""Which lines of the person's a new line contradicts. They are never replaced; the person decides (SPEC S-26, S-28). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from msgspec import Struct

from tacitd_handlers.learning.stage2.place import PlacedLine
from tacitd_handlers.learning.stage2.project_view import LEARNED
from tacitd_handlers.shared.answer_screening import strip_marks
from tacitd_handlers.shared.equality import find_equal, normalise_text
from tacitd_handlers.shared.fact_index import FactIndex

_KEPT_WORDS = 0.5
"""The share of a line's words that a person's new line must repeat to count as that line, edited."""


class Conflict(Struct, frozen=True):
    """A line that contradicts a line of the person's."""

    placed: PlacedLine
    path: str
    line: str


def find_conflicts(
    placed: Iterable[PlacedLine],
    files: Mapping[str, Sequence[str]],
    ours: Mapping[str, AbstractSet[str]],
    documents: Mapping[str, Sequence[str]],
    before: Mapping[str, Sequence[str]],
) -> tuple[Conflict, ...]:
    """Return the lines of the person's that REPLACES names, that took the place of one that it names, or that are contraries.

    The mappings are by path relative to the project. `files`, `ours`: see `decide_operations`. `documents`: files of the
    person's that apply in the whole project. `before`: the lines in the files when the model was asked.
    """
    # A line that the person edited meanwhile still counts as ours in the history.
    mine = {
        path: {strip_marks(line) for line in lines} & set(map(strip_marks, files.get(path, ())))
        for path, lines in ours.items()
    }
    theirs = {
        path: [line for line in lines if strip_marks(line) not in mine.get(path, ())]
        for path, lines in files.items()
    }
    # A document can be a link to LEARNED.md, or import it.
    learned = FactIndex(line for lines in mine.values() for line in lines)
    theirs |= {
        path: [line for line in lines if learned.find_equal(line) is None]
        for path, lines in documents.items()
        if path not in files
    }
    indexes = {path: FactIndex(lines) for path, lines in theirs.items()}
    found: list[Conflict] = []
    for one in placed:
        for named in filter(None, map(strip_marks, (one.item.replaces, *one.item.merges))):
            where = [
                Conflict(one, path, line)
                for path, index in indexes.items()
                if (line := index.find_equal(named)) is not None
                and find_equal(named, mine.get(path, ())) is None
            ]
            found += where[:1] if where else _find_edited(one, named, theirs, mine, before)
        for path in dict.fromkeys((one.path, LEARNED, *documents)):
            line = indexes[path].find_reversal(one.line) if path in indexes else None
            if line is not None:
                found.append(Conflict(one, path, line))
    return tuple(dict.fromkeys(found))


def _find_edited(
    placed: PlacedLine,
    named: str,
    theirs: Mapping[str, Sequence[str]],
    mine: Mapping[str, AbstractSet[str]],
    before: Mapping[str, Sequence[str]],
) -> Iterator[Conflict]:
    """The person's line that is where a line was that REPLACES names: they edited it while the model answered."""
    if any(find_equal(named, lines) is not None for lines in mine.values()):
        return
    words = set(normalise_text(named).split())
    for path, lines in before.items():
        if find_equal(named, lines) is None:
            continue
        known = set(lines)
        shared = {
            line: len(words & set(normalise_text(line).split()))
            for line in theirs.get(path, ())
            if line not in known
        }
        best = max(shared, key=lambda line: shared[line], default=None)
        if best is not None and shared[best] >= len(words) * _KEPT_WORDS:
            yield Conflict(placed, path, best)
