"""What the status says of sessions. `tacitd status` imports it, so it imports little."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tacitd.text.wording import count_noun

if TYPE_CHECKING:
    from tacitd.contract import Rows


def report_status(rows: Rows, now: float) -> Mapping[str, Any]:
    """The number of `sessions`, and `open`: of those in which the client has unfinished tasks."""
    ((count, left),) = rows(
        "SELECT count(*), count(CASE WHEN EXISTS(SELECT 1 FROM json_each(tasks) "
        "WHERE json_extract(value, '$.status') <> 'completed') THEN 1 END) FROM continuity_session"
    )
    if not count:
        return {}
    return {
        "sessions": count,
        "open": left,
        "lines": [f"{count_noun(count, 'session')}, {left} with open tasks"],
    }
