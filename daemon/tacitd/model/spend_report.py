"""What the calls cost, by day, project, purpose or model, from the rows of calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, get_args

from msgspec import Struct
from msgspec.structs import asdict

if TYPE_CHECKING:
    from tacitd.model.call_caps import CallRows

GroupBy = Literal["day", "project", "purpose", "model"]
GROUPS: tuple[str, ...] = get_args(GroupBy)
NAMELESS = "(none)"
_NAMES: dict[GroupBy, str] = {
    "day": "day",
    "project": f"coalesce(p.root, '{NAMELESS}')",
    "purpose": f"coalesce(nullif(c.purpose, ''), '{NAMELESS}')",
    "model": "coalesce(nullif(c.model, ''), '(' || c.tier || ' tier)')",
}
"""By group, its name in SQL."""


class SpendRow(Struct):
    """The calls of one day, project, purpose or model."""

    name: str
    calls: int = 0
    unanswered: int = 0
    """How many of the calls had no answer that could be used."""
    usd: float = 0.0
    """US dollars, as the client reported them, or assumed."""
    assumed_usd: float = 0.0
    """The part of `usd` that is assumed, because the client reported no cost."""
    tokens_in: int = 0
    tokens_out: int = 0

    def as_data(self) -> dict[str, Any]:
        """Return JSON: the fields by name, dollars rounded to six digits."""
        rounded = {"usd": round(self.usd, 6), "assumed_usd": round(self.assumed_usd, 6)}
        return asdict(self) | rounded


def report_spending(store: CallRows, by: GroupBy, since: float = 0.0, root: str = "") -> list[SpendRow]:
    """Sum the calls that began at `since` (seconds since 1970, UTC) or later, of all projects or of the one with this root.

    Days are local and in their order; other groups begin with the dearest. A call that began and did not end counts with an
    assumed cost.
    """
    order = "1" if by == "day" else "usd DESC, 1"
    rows = store.rows(
        f"SELECT {_NAMES[by]}, count(*), total(c.outcome IS NOT 'answered'), total(c.usd) AS usd, total(c.usd * c.assumed),"
        " total(c.tokens_in), total(c.tokens_out) FROM call c LEFT JOIN project p ON p.number = c.project"
        f" WHERE c.begun >= ? AND (? = '' OR p.root = ?) GROUP BY 1 ORDER BY {order}",
        since,
        root,
        root,
    )
    return [
        SpendRow(name, calls, int(unanswered), usd, assumed, int(tokens_in), int(tokens_out))
        for name, calls, unanswered, usd, assumed, tokens_in, tokens_out in rows
    ]


def sum_rows(rows: Iterable[SpendRow]) -> SpendRow:
    """Return the sum of all rows, named `total`."""
    total = SpendRow("total")
    for row in rows:
        total.calls += row.calls
        total.unanswered += row.unanswered
        total.usd += row.usd
        total.assumed_usd += row.assumed_usd
        total.tokens_in += row.tokens_in
        total.tokens_out += row.tokens_out
    return total
