"""Which rows a load is made of: scopes, topic, phase. Pure, and light: between the index and the printed text."""

from __future__ import annotations

from tacitd_handlers.lessons.scopes import GLOBAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tacitd_handlers.lessons.index import Index
    from tacitd_handlers.lessons.loading import Rows


class Wanted:
    """What was asked for: scopes beside global, a path, a query, a phase, and how many lines."""

    __slots__ = ("lines", "path", "phase", "query", "scope")

    def __init__(
        self, scope: str = "", path: str = "", query: str = "", phase: str = "", lines: int = 200
    ) -> None:
        self.scope = scope
        self.path = path
        self.query = query
        self.phase = phase
        self.lines = lines


def groups(index: Index, wanted: Wanted) -> dict[str, Rows]:
    """The rows by scope, global first (SPEC E-18); `scope=global` is not said twice."""
    if not (wanted.path or wanted.query):
        scopes = dict.fromkeys([GLOBAL, wanted.scope or GLOBAL])
        found = {scope: index.rows(scope) for scope in scopes}
    else:
        found = _on_topic(index, wanted)
    if wanted.phase:
        from tacitd_handlers.lessons.relevance import for_phase

        found = {s: [row for row in rows if for_phase(wanted.phase, row[1])] for s, rows in found.items()}
    return found


def _on_topic(index: Index, wanted: Wanted) -> dict[str, Rows]:
    """Only what bears on the path or the query; the scopes that they name count as asked for."""
    from tacitd_handlers.lessons.relevance import of_path, of_query, on_topic, scopes_in

    topic = (of_path(wanted.path) if wanted.path else frozenset()) | (
        of_query(wanted.query) if wanted.query else frozenset()
    )
    named = scopes_in(topic, index.scopes())
    scopes = dict.fromkeys([GLOBAL, wanted.scope or GLOBAL, *sorted(named)])
    return {scope: [row for row in index.rows(scope) if on_topic(topic, scope, row[1])] for scope in scopes}
