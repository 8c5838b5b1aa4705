"""Which lines tacitd ever wrote: the transactions' effects, folded by line. Pure.

Reading the transactions is in transaction.py. What follows from a line that is missing now (a person removed it, or git
did) is decided by the handlers (S-28).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacitd.files.transaction_records import Transaction
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


def fold_transaction(lines: dict[tuple[Path, str], LineHistory], done: Transaction) -> None:
    """Add a finished transaction to the history of its project's lines, which is by (file, text)."""
    for operation, effect in zip(done.operations, done.effects, strict=True):
        changed = operation.find_changed_lines(effect)
        if changed.taken is not None:
            place = (operation.path, clean_line(changed.taken))
            before = lines.pop(place, None)
            lines[place] = LineHistory(before.put_at if before else None, done.at, done.cause)
        if changed.put is not None:
            lines[operation.path, clean_line(changed.put)] = LineHistory(done.at, None, done.cause)
