"""Which entry of Session History belongs to which ledger row. Pure.

An entry's header has a stamp, a problem and a mode, but no session id. Two sessions can share all three: in the hour
that is repeated when summer time ends, and where two sessions run side by side. Then there are two rows, and each
has an entry of its own (SPEC L-32, L-47).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from msgspec import Struct

from tacitd_handlers.learner.formats.history_md import matches_row
from tacitd_handlers.learner.formats.ledger_md import LedgerRow
from tacitd_handlers.learner.formats.profile_md import PlacedSession
from tacitd_handlers.learner.state import SessionKey


class PairedSession(Struct, frozen=True):
    """An entry, and its row if there is one."""

    placed: PlacedSession
    row: LedgerRow | None

    @property
    def key(self) -> SessionKey:
        """The row's key; that of the entry, without a session id, if it has no row."""
        return self.placed.session.key if self.row is None else key_of_row(self.row)


def key_of_row(row: LedgerRow) -> SessionKey:
    """Stamp, problem, mode and session id."""
    return row.stamp, row.problem, row.mode, row.session


def is_among(key: SessionKey, keys: Collection[SessionKey]) -> bool:
    """Whether a key is among others. A key without a session id means every session of its three fields."""
    return key in keys or key[:3] in keys or (len(key) == 3 and any(other[:3] == key for other in keys))


def pair_sessions(
    sessions: Sequence[PlacedSession], rows_at: Callable[[str], Iterable[LedgerRow]]
) -> list[PairedSession]:
    """Pair entries with rows, in the order of the profile. `rows_at` returns the rows of a stamp, in ledger order.

    Of several entries of one header, those that equal a row are paired with it. The others are paired in order: the
    lowest entry is the oldest.
    """
    groups: dict[SessionKey, list[PlacedSession]] = {}
    for held in sessions:
        groups.setdefault(held.session.key, []).append(held)
    row_of: dict[int, LedgerRow] = {}
    for key, group in groups.items():
        rows = list(
            {row.key: row for row in rows_at(key[0]) if (row.stamp, row.problem, row.mode) == key}.values()
        )
        free = list(reversed(group))
        for row in [*rows]:
            same = next((held for held in free if matches_row(held.session, row)), None)
            if same is not None:
                row_of[same.span.start] = row
                free.remove(same)
                rows.remove(row)
        row_of |= {held.span.start: row for held, row in zip(free, rows, strict=False)}
    return [PairedSession(held, row_of.get(held.span.start)) for held in sessions]
