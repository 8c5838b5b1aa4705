"""The selection of a load: scopes, topic, phase.

Pure, with few imports, because `lesson load` uses it. The text is made in `load_output.py`.
"""

from __future__ import annotations

from tacitd_handlers.lessons.scopes import GLOBAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

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


def select_rows(
    index: LessonIndex, wanted: LoadRequest, rows_of: Callable[[str], Rows] | None = None
) -> dict[str, Rows]:
    """The selected rows by scope, global first and only once (SPEC E-18).

    `rows_of`: the rows of a scope or of a project's name; None: those of the index.
    """
    rows_of = rows_of or index.rows_of_scope
    if not (wanted.path or wanted.query):
        scopes = dict.fromkeys([GLOBAL, wanted.scope or GLOBAL])
        found = {scope: rows_of(scope) for scope in scopes}
    else:
        found = _on_topic(index, wanted, rows_of)
    if wanted.phase:
        from tacitd_handlers.lessons.relevance import for_phase

        found = {s: [row for row in rows if for_phase(wanted.phase, row[1])] for s, rows in found.items()}
    return found


def _on_topic(index: LessonIndex, wanted: LoadRequest, rows_of: Callable[[str], Rows]) -> dict[str, Rows]:
    """The rows related to the path or the query. Scopes that these name are included."""
    from tacitd_handlers.lessons.relevance import on_topic, scopes_in, topic_of_path, topic_of_query

    topic = (topic_of_path(wanted.path) if wanted.path else frozenset()) | (
        topic_of_query(wanted.query) if wanted.query else frozenset()
    )
    named = scopes_in(topic, index.list_scopes())
    scopes = dict.fromkeys([GLOBAL, wanted.scope or GLOBAL, *sorted(named)])
    return {scope: [row for row in rows_of(scope) if on_topic(topic, scope, row[1])] for scope in scopes}
