"""Which lines tacitd ever wrote: the transactions' effects, folded by line. Pure.

Reading the transactions is in transaction.py. What follows from a line that is missing now (a person removed it, or git
did) is decided by the handlers (S-28).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacitd.files.operations import Effect, Operation
from tacitd.text.markdown import clean_line


@dataclass(frozen=True, slots=True)
class LineHistory:
    """The last effects of tacitd on one bullet of one file. Times are seconds since 1970, UTC."""

    put_at: float | None
    """When tacitd added it; None: a person wrote it, and tacitd only removed it."""
    taken_at: float | None
    """When tacitd removed it; None: it did not, so if the bullet is missing, a person or another program removed it."""
    cause: Mapping[str, Any]
    """The cause of the later of the two."""


Step = tuple[float, Mapping[str, Any], Sequence[Operation], Sequence[Effect]]
"""One finished transaction: when it began (seconds since 1970, UTC), cause, operations, and their effects."""


def fold_lines(steps: Iterable[Step]) -> dict[tuple[Path, str], LineHistory]:
    """Given finished transactions, oldest first, return the history of every line by (file, text)."""
    lines: dict[tuple[Path, str], LineHistory] = {}
    for at, cause, operations, effects in steps:
        for operation, effect in zip(operations, effects, strict=True):
            changed = operation.find_changed_lines(effect)
            if changed.taken is not None:
                place = (operation.path, clean_line(changed.taken))
                before = lines.pop(place, None)
                lines[place] = LineHistory(before.put_at if before else None, at, cause)
            if changed.put is not None:
                lines[operation.path, clean_line(changed.put)] = LineHistory(at, None, cause)
    return lines
