"""The overview of all sessions and nodes: what `tacitd status` and `tacitd context` show. Pure.

    {"v": 1, "sessions": 4, "open": […], "ungraded": […], "nodes": […], "faults": […]}

It has times and no ages, because it is read later than it is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacitd_handlers.tutor.graph_library import GraphFile
    from tacitd_handlers.tutor.mastery import MasteryBook
    from tacitd_handlers.tutor.session_records import ReplayedSession

VERSION = 1
WARNED = 5
"""Faults of graph files that are listed."""


def build_overview(
    sessions: Sequence[ReplayedSession],
    book: MasteryBook,
    graphs: Sequence[GraphFile],
    faults: Sequence[str] = (),
) -> dict[str, Any]:
    """The document. The rules of mastery are imported here, because a session's start waits for this module."""
    from tacitd_handlers.tutor.mastery import measure_node

    nodes = []
    for file in graphs:
        for node in file.parsed.graph.nodes if file.parsed.graph is not None else ():
            one = measure_node(book, file.key, node)
            if one.graded:
                weakest = one.weakest.text if one.weakest is not None else ""
                nodes.append(
                    {
                        "project": file.project,
                        "node": node.id,
                        "title": node.title,
                        "mean": round(one.mean, 4),
                    }
                    | {"mastered": one.is_mastered, "weakest": weakest, "last": one.last}
                )
    rows = [(one, _describe(one)) for one in sessions]
    return {
        "v": VERSION,
        "sessions": len(rows),
        "open": [row for one, row in rows if one.state.is_open and not one.state.needs_grading],
        "ungraded": [row for one, row in rows if one.state.needs_grading],
        "nodes": nodes,
        "faults": [*faults, *_list_faults(graphs)],
    }


def _describe(found: ReplayedSession) -> dict[str, Any]:
    plan = found.state.plan
    return {
        "session": plan.session,
        "project": plan.project,
        "node": plan.node_id,
        "title": plan.title,
        "step": str(found.state.step),
        "last": found.last,
    }


def _list_faults(graphs: Iterable[GraphFile]) -> list[str]:
    found = [
        f"{file.path}:{file.parsed.errors[0].line}: {file.parsed.errors[0].what}"
        for file in graphs
        if file.parsed.graph is None and file.parsed.errors
    ]
    return found[:WARNED]


def list_retests(
    overview: Mapping[str, Any], now: float, after: float = 28 * 86400.0
) -> list[dict[str, Any]]:
    """The mastered nodes that were not tested for four weeks. `now`: seconds since 1970, UTC."""
    rows = [row for row in overview.get("nodes", ()) if isinstance(row, dict) and row.get("mastered")]
    return [row for row in rows if isinstance(row.get("last"), int | float) and now - row["last"] >= after]
