"""Which lines we ever wrote: what happened in transactions, folded by line. Pure.

Asking the history for its transactions is transaction.py's; what to conclude from a line that is missing now
(a person removed it, or git did) is the handlers'.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacitd.files.markdown import clean
from tacitd.files.operations import Effect, Operation, PutLine, SwapLine, TakeLine


@dataclass(frozen=True, slots=True)
class LineHistory:
    """One bullet of one file, as we dealt with it last. Times are seconds since 1970, UTC."""

    put_at: float | None
    """When we put it; None: it was a person's, and we only took it."""
    taken_at: float | None
    """When we took it out; None: we left it there, so if it is missing, somebody else removed it."""
    cause: Mapping[str, Any]
    """Why we did the last of the two."""


Step = tuple[float, Mapping[str, Any], Sequence[Operation], Sequence[Effect]]
"""One transaction that was done: when, why, what was asked for, and what it really did."""


def fold(steps: Iterable[Step]) -> dict[tuple[Path, str], LineHistory]:
    """Given what was done, oldest first, return the last word on every line by (file, text)."""
    lines: dict[tuple[Path, str], LineHistory] = {}
    for at, cause, operations, effects in steps:
        for operation, effect in zip(operations, effects, strict=True):
            put, taken = _moved(operation, effect)
            if taken is not None:
                place = (operation.path, clean(taken))
                before = lines.pop(place, None)
                lines[place] = LineHistory(before.put_at if before else None, at, cause)
            if put is not None:
                lines[operation.path, clean(put)] = LineHistory(at, None, cause)
    return lines


def _moved(operation: Operation, effect: Effect) -> tuple[str | None, str | None]:
    """The line that was put in and the line that was taken out."""
    match operation, effect.did:
        case PutLine(line=line), "put":
            return line, None
        case TakeLine(line=line), "taken":
            return None, line
        case SwapLine(new=new), "put":
            return new, None
        case SwapLine(old=old, new=new), "swapped":
            return new, old
        case _:
            return None, None
