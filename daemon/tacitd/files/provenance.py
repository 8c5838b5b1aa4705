"""Which lines tacitd ever wrote: the transactions' effects, folded by line. Pure.

Reading the transactions is in transaction.py. What follows from a line that is missing now (a person removed it, or git
did) is decided by the handlers (S-28).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tacitd.files.transaction_records import UNDONE, Transaction
from tacitd.text.markdown import clean_line


class LineHistory(Struct, frozen=True):
    """The last effects of tacitd on one bullet of one file. Times are seconds since 1970, UTC."""

    put_at: float | None
    """When tacitd added it; None: a person wrote it, and tacitd only removed it."""
    taken_at: float | None
    """When tacitd removed it; None: it did not, so if the bullet is missing, a person or another program removed it."""
    cause: Mapping[str, Any]
    """The cause of the later of the two."""
    first_at: float | None
    """When it was added for its own sake; earlier than `put_at` if undoing a removal restored it."""
    origin: Mapping[str, Any]
    """The cause of that addition; that of the removal if a person wrote the line."""

    @property
    def is_restored(self) -> bool:
        """Whether it was removed, and undoing that brought it back."""
        return self.taken_at is None and self.cause is not self.origin


def fold_transaction(lines: dict[tuple[Path, str], LineHistory], done: Transaction) -> None:
    """Add a finished transaction to the history of its project's lines, which is by (file, text)."""
    for operation, effect in zip(done.operations, done.effects, strict=True):
        changed = operation.find_changed_lines(effect)
        if changed.taken is not None:
            place = (operation.path, clean_line(changed.taken))
            before = lines.pop(place, None)
            if before is None or before.taken_at is not None:  # a person wrote it, or wrote it again
                before = LineHistory(None, None, done.cause, None, done.cause)
            lines[place] = replace(before, taken_at=done.at, cause=done.cause)
        if changed.put is not None:
            place = (operation.path, clean_line(changed.put))
            restored = lines.get(place) if UNDONE in done.cause else None
            if restored is None:
                lines[place] = LineHistory(done.at, None, done.cause, done.at, done.cause)
            elif restored.put_at is None:
                # Trigger: tacitd removed a person's line, and that was undone. Outcome: it is the person's again.
                del lines[place]
            else:
                lines[place] = replace(restored, put_at=done.at, taken_at=None, cause=done.cause)
