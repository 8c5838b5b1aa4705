"""Sessions that can be resumed (seed 001, SPEC P-22 to P-26): tasks, what blocks them, decisions, notes, a summary.

`session_fold` folds a transcript's records into rows, with `client_tasks`; `handler` writes what changed into the session's file
(`session_document`) and asks the model for a summary (`summaries`); `resume_text` makes the text of `resume_text`.
Only the summary and the decisions need the model. Nothing heavy is imported here, because a session's start waits for
`resume_text`.
"""

from __future__ import annotations

TYPE_CHECKING = False  # not from typing: see above
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tacitd.contract import Rows
    from tacitd.plugin import PluginSpec

__all__ = ["make_plugin", "report_status"]


def make_plugin() -> PluginSpec:
    """Return the plugin; the entry point `tacitd.handlers` calls it."""
    from tacitd.plugin import PluginSpec, TimedJob

    here = "tacitd_handlers.continuity"
    about = "List sessions, resume one, record decisions and notes."
    return PluginSpec(
        "continuity",
        order=40,
        settings={"continuity": f"{here}.summaries:ContinuitySettings"},
        schema=(f"{here}:schema.sql",),
        observe=f"{here}.session_fold:observe",
        run=f"{here}.handler:run",
        events=frozenset({"session-ended", "compaction", "purge"}),
        jobs=(TimedJob("sessions", 86_400.0),),
        commands={"sessions": (f"{here}.cli:sessions", about, "More")},
        session_text=f"{here}.resume_text:make_text",
        status=f"{here}:report_status",
        mcp=f"{here}.cli:CONTINUITY",
        footprint="tacitd_handlers.shared.places:sessions_footprint",
    )


def report_status(rows: Rows, now: float) -> Mapping[str, Any]:
    """The number of sessions. Which tasks are open is in their files, which `tacitd sessions` reads."""
    from tacitd.text.wording import count_noun

    ((count,),) = rows("SELECT count(*) FROM continuity_session")
    return {"lines": [count_noun(count, "session")] if count else []}
