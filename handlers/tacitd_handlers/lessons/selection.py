"""The selection of a load: scopes, topic, phase.

Pure, with few imports, because `lesson load` uses it. The text is made in `load_output.py`.
"""

from __future__ import annotations

from tacitd_handlers.lessons.scopes import GLOBAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tacitd_handlers.lessons.lesson_index import LessonIndex
    from tacitd_handlers.lessons.load_output import Rows


class LoadRequest:
    """The options of a load: scope besides global, path, query, phase, and maximum lines."""

    __slots__ = ("lines", "path", "phase", "query", "scope")

    def __init__(
        self, scope: str = "", path: str = "", query: str = "", phase: str = "", lines: int = 200
    ) -> None:
        self.scope = scope
        self.path = path
        self.query = query
        self.phase = phase
        self.lines = lines


def select_rows(index: LessonIndex, wanted: LoadRequest) -> dict[str, Rows]:
    """The selected rows by scope, global first and only once (SPEC E-18)."""
    if not (wanted.path or wanted.query):
        scopes = dict.fromkeys([GLOBAL, wanted.scope or GLOBAL])
        found = {scope: index.rows_of_scope(scope) for scope in scopes}
    else:
        found = _on_topic(index, wanted)
    if wanted.phase:
        from tacitd_handlers.lessons.relevance import for_phase

        found = {s: [row for row in rows if for_phase(wanted.phase, row[1])] for s, rows in found.items()}
    return found


def _on_topic(index: LessonIndex, wanted: LoadRequest) -> dict[str, Rows]:
    """The rows related to the path or the query. Scopes that these name are included."""
    from tacitd_handlers.lessons.relevance import on_topic, scopes_in, topic_of_path, topic_of_query

    topic = (topic_of_path(wanted.path) if wanted.path else frozenset()) | (
        topic_of_query(wanted.query) if wanted.query else frozenset()
    )
    named = scopes_in(topic, index.list_scopes())
    scopes = dict.fromkeys([GLOBAL, wanted.scope or GLOBAL, *sorted(named)])
    return {
        scope: [row for row in index.rows_of_scope(scope) if on_topic(topic, scope, row[1])]
        for scope in scopes
    }
