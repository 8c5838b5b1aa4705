"""Decide what is done with placed lines: put, replace another line, drop or withhold.

The functions are pure: everything that matters is an argument, and the result is data, from which `run` builds the
transaction. Lines are texts of bullets without `- `. If a decision is carried out and the same plan is decided again,
the second decision has no operations (SPEC S-29).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from msgspec import Struct

from tacitd_handlers.learning.stage2.line_conflicts import Conflict, find_conflicts
from tacitd_handlers.learning.stage2.place import PlacedLine
from tacitd_handlers.learning.stage2.project_view import LEARNED, ROOT_FILES
from tacitd_handlers.shared.answer_screening import strip_marks
from tacitd_handlers.shared.fact_index import FactIndex

FORGOTTEN = "forgotten by the user"
LINES_LIMIT = 20
"""Default maximum number of lines that one synthesis writes."""


class PlannedPut(Struct, frozen=True):
    """Put the line under the heading in the file. Missing file and heading are created."""

    path: str
    heading: str
    line: str
    source: PlacedLine


class PlannedSwap(Struct, frozen=True):
    """Replace an old line of ours in place (SPEC S-26). The history keeps the old line."""

    path: str
    old: str
    """The old line exactly as it is in the file."""
    line: str
    heading: str
    source: PlacedLine
    old_path: str = ""
    """The file of the old line if it is another one: the old line is taken there, and the new one is put here."""


class MergedLine(Struct, frozen=True):
    """A line of ours that a written line takes the place of, besides the one that it replaces."""

    path: str
    line: str
    into: str
    """The written line."""


PlannedOperation = PlannedPut | PlannedSwap


class Dropped(Struct, frozen=True):
    """A line that is not written, and why."""

    placed: PlacedLine
    reason: str


class Withheld(Struct, frozen=True):
    """A line that is not written because the user removed it (SPEC S-28). `tacitd learned --withheld` lists it."""

    placed: PlacedLine
    removed: str


class Decision(Struct, frozen=True):
    """The decision on all lines of one plan."""

    operations: tuple[PlannedOperation, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    withheld: tuple[Withheld, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    merged: tuple[MergedLine, ...] = ()


def decide_operations(
    placed: Sequence[PlacedLine],
    files: Mapping[str, Sequence[str]],
    removed: Mapping[str, AbstractSet[str]] | None = None,
    ours: Mapping[str, AbstractSet[str]] | None = None,
    limit: int = LINES_LIMIT,
    reword: AbstractSet[str] = frozenset(),
    is_forgotten: Callable[[str], bool] = lambda line: False,
    documents: Mapping[str, Sequence[str]] | None = None,
    before: Mapping[str, Sequence[str]] | None = None,
) -> Decision:
    """Return what is to be written of placed lines. The mappings are by path relative to the project.

    `files`: the lines in each file now. `removed`: the lines that the user removed from it. `ours`: the lines in it that
    tacitd wrote and that were not changed since. Only those are replaced; an update of a line of the user's is put in
    addition to it. `limit`: the maximum number of operations. `reword`: lines whose words may change although they say
    the same. `is_forgotten`: whether
    the user said that a line is never to be learned again. `documents`, `before`: see `find_conflicts`.
    """
    replaceable = _replaceable(placed, files, ours or {}, reword)
    state = _PlanState(files, removed or {}, replaceable, reword)
    operations: list[PlannedOperation] = []
    dropped: list[Dropped] = []
    withheld: list[Withheld] = []
    merged: list[MergedLine] = []
    for one in placed:
        match state.judge_line(one) if not is_forgotten(one.line) else Dropped(one, FORGOTTEN):
            case Dropped() as drop:
                dropped.append(drop)
            case Withheld() as kept_back:
                withheld.append(kept_back)
            case operation if len(operations) >= limit:
                dropped.append(Dropped(operation.source, f"over the limit of {limit} lines"))
            case operation:
                state.carry_out(operation)
                operations.append(operation)
                merged += state.take_merged(operation)
    sources = [one.source for one in operations]
    conflicts = find_conflicts(sources, files, ours or {}, documents or {}, before or {})
    return Decision(tuple(operations), tuple(dropped), tuple(withheld), conflicts, tuple(merged))


def _replaceable(
    placed: Sequence[PlacedLine],
    files: Mapping[str, Sequence[str]],
    ours: Mapping[str, AbstractSet[str]],
    reword: AbstractSet[str],
) -> dict[str, frozenset[str]]:
    """The lines of ours in the files, without those that the plan itself repeats and that are not to be reworded.

    If a plan contains both a line and its contrary, replacing repeated lines would swap the two on every run.
    """
    texts = FactIndex(one.line for one in placed)
    mine = {path: {strip_marks(line) for line in lines} for path, lines in ours.items()}
    return {
        path: frozenset(
            line
            for line in lines
            if strip_marks(line) in mine.get(path, ()) and (line in reword or texts.find_equal(line) is None)
        )
        for path, lines in files.items()
    }


class _PlanState:
    """The files' lines while a plan is decided, with the operations so far applied."""

    def __init__(
        self,
        files: Mapping[str, Sequence[str]],
        removed: Mapping[str, AbstractSet[str]],
        replaceable: Mapping[str, AbstractSet[str]],
        reword: AbstractSet[str],
    ) -> None:
        self._lines = {path: FactIndex(lines) for path, lines in files.items()}
        self._candidates = {
            path: FactIndex(line for line in lines if line in replaceable.get(path, ()))
            for path, lines in files.items()
        }
        self._removed = removed
        self._indexed_removed: dict[str, FactIndex] = {}
        self._reword = reword

    def judge_line(self, placed: PlacedLine) -> PlannedOperation | Dropped | Withheld:
        """Decide on one line, given the operations so far.

        The order matters: a line that is in the file already is known, even if the user removed it once.
        """
        path, old = self._find_old_line(placed)
        is_reworded = old in self._reword and placed.line != old
        already = self._find_visible(placed, without=old if is_reworded else None)
        if already is not None:
            return Dropped(placed, f"known: {already}")
        gone = self._removed_lines(placed.path).find_equal(placed.line)
        if gone is not None:
            return Withheld(placed, gone)
        if old is None:
            return PlannedPut(placed.path, placed.heading, placed.line, placed)
        old_path = "" if path == placed.path else path
        return PlannedSwap(placed.path, old, placed.line, placed.heading, placed, old_path)

    def carry_out(self, operation: PlannedOperation) -> None:
        """Apply an operation to the lines. A line that it puts cannot be replaced by the same plan."""
        lines = self._lines.setdefault(operation.path, FactIndex())
        if isinstance(operation, PlannedSwap):
            old_path = operation.old_path or operation.path
            self._candidates[old_path].replace(operation.old, None)
            self._lines[old_path].replace(operation.old, None if operation.old_path else operation.line)
        if not isinstance(operation, PlannedSwap) or operation.old_path:
            lines.add(operation.line)

    def take_merged(self, operation: PlannedOperation) -> list[MergedLine]:
        """Take the further lines of ours that a written line names in REPLACES, and return them."""
        found: list[MergedLine] = []
        for name in map(strip_marks, operation.source.item.merges):
            path, line = self._find_candidate(operation.source, name)
            if line is not None:
                self._candidates[path].replace(line, None)
                self._lines[path].replace(line, None)
                found.append(MergedLine(path, line, operation.line))
        return found

    def _find_visible(self, placed: PlacedLine, without: str | None) -> str | None:
        """The first line that says it and applies in the file's folder: in the file itself, or in one of ROOT_FILES."""
        for path in dict.fromkeys((placed.path, *ROOT_FILES)):
            line = self._lines[path].find_equal(placed.line, without) if path in self._lines else None
            if line is not None:
                return line
        return None

    def _removed_lines(self, path: str) -> FactIndex:
        """The removed lines that must not be put into this file.

        LEARNED.md applies in every folder. A line that was removed from any file is therefore not put into LEARNED.md,
        and a line that was removed from LEARNED.md is not put into a folder's file.
        """
        if path not in self._indexed_removed:
            apart = (self._removed.get(path, ()), self._removed.get(LEARNED, ()))
            sources = self._removed.values() if path == LEARNED else apart
            self._indexed_removed[path] = FactIndex(sorted({line for lines in sources for line in lines}))
        return self._indexed_removed[path]

    def _find_old_line(self, placed: PlacedLine) -> tuple[str, str | None]:
        """The line of ours that this one updates, with its file: the one that REPLACES names, otherwise its contrary.

        REPLACES reaches the line's own file first, then the folders' files. A contrary counts only in the same file. A folder's
        line never replaces one of LEARNED.md.
        """
        path, line = self._find_candidate(placed, strip_marks(placed.item.replaces))
        if line is not None:
            return path, line
        own = self._candidates.get(placed.path)
        return placed.path, own.find_reversal(placed.line) if own is not None else None

    def _find_candidate(self, placed: PlacedLine, named: str) -> tuple[str, str | None]:
        """The line of ours with this text that the placed one may replace, with its file."""
        others = [path for path in self._lines if path not in (placed.path, LEARNED)]
        for path in (placed.path, *others) if named else ():
            line = self._candidates[path].find_equal(named) if path in self._candidates else None
            if line is not None:
                return path, line
        return placed.path, None
