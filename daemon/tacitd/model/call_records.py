"""What single calls cost, from the budget's records. Pure.

Sums of them are in spend_report.py and spend_totals.py.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping
from typing import Any


def find_calls(
    records: Iterable[Mapping[str, Any]], keys: Container[str]
) -> list[tuple[str, dict[str, Any]]]:
    """The calls with these keys, oldest first, each after its own key (see `is_call_of`): `purpose`, `model`, `at` (seconds since
    1970, UTC), `usd` and whether that is `assumed`, tokens `in` and `out`.
    """
    begun: dict[str, Mapping[str, Any]] = {}
    found: list[tuple[str, dict[str, Any]]] = []
    for record in records:
        id, key = str(record.get("id")), str(record.get("key", ""))
        if record.get("state") == "begun" and is_call_of(key, keys):
            begun[id] = record
        elif record.get("state") == "ended" and id in begun:
            call = begun[id]
            made = {
                "purpose": str(call.get("purpose", "")),
                "model": str(record.get("model", "")) or str(call.get("tier", "")),
                "at": read_number(call.get("at")),
                "usd": read_number(record.get("usd")),
                "assumed": bool(record.get("assumed")),
            }
            made |= {name: int(read_number(record.get(name))) for name in ("in", "out")}
            found.append((str(call.get("key", "")), made))
    return found


def is_call_of(key: str, keys: Container[str]) -> bool:
    """Whether the key of a call is one of these. A call of several parts has the key with `:1` and so on."""
    return key in keys or key.rpartition(":")[0] in keys


def read_number(value: object) -> float:
    """The value if it is a finite number from 0 to 1e12, otherwise 0: a damaged record must not spoil a sum."""
    if (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and 0 <= value < 1e12
        and math.isfinite(value)
    ):
        return float(value)
    return 0.0
