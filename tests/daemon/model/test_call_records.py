"""Single calls in the budget's records."""

from __future__ import annotations

from typing import Any

from tacitd.model.call_records import find_calls


def test_the_calls_behind_a_line_are_found_by_their_keys() -> None:
    """Also those of several parts; a call that did not end, another key and a torn record are left out."""
    records: list[dict[str, Any]] = [
        {"id": "1", "at": 5, "key": "synthesis:a", "tier": "smart", "purpose": "synthesis", "state": "begun"},
        {"id": "1", "at": 6, "state": "ended", "usd": 0.02, "assumed": True, "in": 10, "out": 2, "why": ""},
        {
            "id": "2",
            "at": 7,
            "key": "synthesis:a:1",
            "tier": "smart",
            "purpose": "synthesis",
            "state": "begun",
        },
        {"id": "2", "at": 8, "state": "ended", "usd": "?", "model": "m", "why": ""},
        {"id": "3", "at": 9, "key": "synthesis:b", "tier": "smart", "state": "begun"},
        {"id": "3", "at": 9, "state": "ended", "usd": 1.0},
        {"id": "4", "at": 9, "key": "synthesis:a", "state": "begun"},
        {"state": "ended"},
    ]
    found = find_calls(records, {"synthesis:a"})
    assert [key for key, _ in found] == ["synthesis:a", "synthesis:a:1"]
    assert [call for _, call in found] == [
        {
            "purpose": "synthesis",
            "model": "smart",
            "at": 5.0,
            "usd": 0.02,
            "assumed": True,
            "in": 10,
            "out": 2,
        },
        {"purpose": "synthesis", "model": "m", "at": 7.0, "usd": 0.0, "assumed": False, "in": 0, "out": 0},
    ]
