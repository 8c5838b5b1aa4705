"""What the calls cost, by day, project, purpose or model, from the budget's records. Pure.

`tacitd spend` prints it. The sums that the caps are checked against are in spend_totals.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

from msgspec import Struct
from msgspec.structs import asdict

from tacitd.clock import local_date
from tacitd.model.call_records import read_number
from tacitd.model.spend_totals import ASSUMED_USD

GroupBy = Literal["day", "project", "purpose", "model"]
GROUPS: tuple[str, ...] = get_args(GroupBy)
FOLDED = "(older, summed up)"
"""The name of the calls that a compaction of the log folded into one sum."""
NAMELESS = "(none)"


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


def report_spending(records: Iterable[Mapping[str, Any]], by: GroupBy, since: float = 0.0) -> list[SpendRow]:
    """Sum the calls that began at `since` (seconds since 1970, UTC) or later.

    `records`: the budget's log, oldest first. Days are local and in their order; other groups begin with the dearest.
    A call that began and did not end counts with an assumed cost. What a compaction summed up is one row, and only
    without `since`, because its days are not known.
    """
    begun: dict[str, Mapping[str, Any]] = {}
    ended: dict[str, Mapping[str, Any]] = {}
    rows: dict[str, SpendRow] = {}
    for record in records:
        id = str(record.get("id"))
        match record.get("state"):
            case "begun":
                begun[id] = record
            case "ended":
                ended[id] = record
            case "total" if not since:
                _add_total(rows.setdefault(FOLDED, SpendRow(FOLDED)), record)
            case _:
                pass
    for id, call in begun.items():
        if read_number(call.get("at")) >= since:
            end = ended.get(id)
            name = _name_group(call, end, by)
            _add_call(rows.setdefault(name, SpendRow(name)), call, end)
    if by == "day":
        return sorted(rows.values(), key=lambda row: (row.name != FOLDED, row.name))
    return sorted(rows.values(), key=lambda row: (row.name == FOLDED, -row.usd, row.name))


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


def _name_group(call: Mapping[str, Any], end: Mapping[str, Any] | None, by: GroupBy) -> str:
    match by:
        case "day":
            return local_date(read_number(call.get("at")))
        case "model":
            return str((end or {}).get("model") or f"({call.get('tier') or 'unknown'} tier)")
        case _:
            return str(call.get(by) or NAMELESS)


def _add_call(row: SpendRow, call: Mapping[str, Any], end: Mapping[str, Any] | None) -> None:
    row.calls += 1
    if end is None:
        assumed = ASSUMED_USD.get(str(call.get("tier")), max(ASSUMED_USD.values()))
        row.usd, row.assumed_usd, row.unanswered = (
            row.usd + assumed,
            row.assumed_usd + assumed,
            row.unanswered + 1,
        )
        return
    usd = read_number(end.get("usd"))
    row.usd += usd
    row.assumed_usd += usd if end.get("assumed") else 0.0
    row.unanswered += bool(end.get("why"))
    row.tokens_in += int(read_number(end.get("in")))
    row.tokens_out += int(read_number(end.get("out")))


def _add_total(row: SpendRow, record: Mapping[str, Any]) -> None:
    row.calls += int(read_number(record.get("calls")))
    row.usd += read_number(record.get("usd"))
    row.tokens_in += int(read_number(record.get("in")))
    row.tokens_out += int(read_number(record.get("out")))
