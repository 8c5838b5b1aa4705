"""What is done with the lines that have a place: put, put instead of another, or left out, and why.

Everything that decides stands in the arguments, and the answer is data: the handler makes the transaction of it.
Lines are texts of bullets, without their `- `. Deciding twice, with the first decision carried out between,
decides nothing the second time (SPEC S-29).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from tacitd_handlers.learning.stage2.place import LEARNED, PlacedLine
from tacitd_handlers.shared.answer_screening import strip_marks
from tacitd_handlers.shared.equality import find_equal, is_reversal

LINES_LIMIT = 20
"""Lines that one synthesis may write."""


@dataclass(frozen=True, slots=True)
class PlannedPut:
    """Put the line under the heading of the file, both made where they are missing."""

    path: str
    heading: str
    line: str
    source: PlacedLine


@dataclass(frozen=True, slots=True)
class PlannedSwap:
    """Put the line where the old one, which was ours, stands (SPEC S-26). The old one goes to the history."""

    path: str
    old: str
    """As it stands in the file."""
    line: str
    heading: str
    source: PlacedLine


PlannedOperation = PlannedPut | PlannedSwap


@dataclass(frozen=True, slots=True)
class Dropped:
    """Not written, and why."""

    placed: PlacedLine
    reason: str


@dataclass(frozen=True, slots=True)
class Withheld:
    """Not written, because a person removed that line once; offered in `tacitd review` (SPEC S-28)."""

    placed: PlacedLine
    removed: str


@dataclass(frozen=True, slots=True)
class Decision:
    """All that is to be done with one plan."""

    operations: tuple[PlannedOperation, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    withheld: tuple[Withheld, ...] = ()


def decide_operations(
    placed: Sequence[PlacedLine],
    files: Mapping[str, Sequence[str]],
    removed: Mapping[str, AbstractSet[str]] | None = None,
    ours: Mapping[str, AbstractSet[str]] | None = None,
    limit: int = LINES_LIMIT,
) -> Decision:
    """Given lines with their places, return what is to be written.

    `files`: the lines that stand in each file now. `removed`: the lines that a person took out of it. `ours`:
    the lines in it that tacitd wrote and nobody changed; only those are ever replaced, a person's own line is
    not, and what updates it is put beside it.
    """
    desk = _PlanState(files, removed or {}, _replaceable(placed, files, ours or {}))
    operations: list[PlannedOperation] = []
    dropped: list[Dropped] = []
    withheld: list[Withheld] = []
    for one in placed:
        match desk.judge_line(one):
            case Dropped() as drop:
                dropped.append(drop)
            case Withheld() as kept_back:
                withheld.append(kept_back)
            case operation if len(operations) >= limit:
                dropped.append(Dropped(operation.source, f"over the limit of {limit} lines"))
            case operation:
                desk.carry_out(operation)
                operations.append(operation)
    return Decision(tuple(operations), tuple(dropped), tuple(withheld))


def _replaceable(
    placed: Sequence[PlacedLine],
    files: Mapping[str, Sequence[str]],
    ours: Mapping[str, AbstractSet[str]],
) -> dict[str, frozenset[str]]:
    """The lines that stand now, are ours, and that the plan does not itself say again.

    Without the last, a plan that holds a thing and its contrary would swap them on every run.
    """
    texts = [one.line for one in placed]
    mine = {path: {strip_marks(line) for line in lines} for path, lines in ours.items()}
    return {
        path: frozenset(
            line
            for line in lines
            if strip_marks(line) in mine.get(path, ()) and find_equal(line, texts) is None
        )
        for path, lines in files.items()
    }


class _PlanState:
    """The files' lines while a plan is being decided, as they will stand after the operations so far."""

    def __init__(
        self,
        files: Mapping[str, Sequence[str]],
        removed: Mapping[str, AbstractSet[str]],
        replaceable: Mapping[str, AbstractSet[str]],
    ) -> None:
        self._lines = {path: list(lines) for path, lines in files.items()}
        self._removed = removed
        self._replaceable = replaceable

    def judge_line(self, placed: PlacedLine) -> PlannedOperation | Dropped | Withheld:
        """What becomes of this line, as things stand on the desk."""
        already = find_equal(placed.line, self._visible_lines(placed.path))
        if already is not None:
            return Dropped(placed, f"known: {already}")
        gone = find_equal(placed.line, self._removed_lines(placed.path))
        if gone is not None:
            return Withheld(placed, gone)
        old = self._line_to_replace(placed)
        if old is None:
            return PlannedPut(placed.path, placed.heading, placed.line, placed)
        return PlannedSwap(placed.path, old, placed.line, placed.heading, placed)

    def carry_out(self, operation: PlannedOperation) -> None:
        """Let the desk look as if this were done. What was put is not up for replacing by the same plan."""
        lines = self._lines.setdefault(operation.path, [])
        if isinstance(operation, PlannedSwap):
            lines[lines.index(operation.old)] = operation.line
        else:
            lines.append(operation.line)

    def _visible_lines(self, path: str) -> Iterable[str]:
        """A line in LEARNED.md holds for every folder, so it counts for a folder's file too."""
        yield from self._lines.get(path, ())
        if path != LEARNED:
            yield from self._lines.get(LEARNED, ())

    def _removed_lines(self, path: str) -> Iterable[str]:
        """LEARNED.md holds for every folder: a line that was taken out of one file does not come back through it."""
        if path == LEARNED:
            yield from sorted({line for lines in self._removed.values() for line in lines})
        else:
            yield from sorted({*self._removed.get(path, ()), *self._removed.get(LEARNED, ())})

    def _line_to_replace(self, placed: PlacedLine) -> str | None:
        """The line of ours that this one updates: the one that REPLACES names, else its own contrary.

        Only in the same file: a folder's exception does not replace what holds for the whole project.
        """
        candidates = [
            line for line in self._lines.get(placed.path, ()) if self._is_replaceable(placed.path, line)
        ]
        named = strip_marks(placed.item.replaces)
        line = find_equal(named, candidates) if named else None
        if line is not None:
            return line
        return next((line for line in candidates if is_reversal(placed.line, line)), None)

    def _is_replaceable(self, path: str, line: str) -> bool:
        return line in self._replaceable.get(path, ())
