"""Sessions that can be resumed (seed 001, SPEC P-22 to P-26): tasks, what blocks them, decisions, notes, a summary.

Pure rules (`tasks`, `progress`, `render`, `answer`, `resuming`) -> `results`, `store`, `material` -> `handler` -> `cli`.
Only the summary and the decisions need the model; the rest comes from the transcript. Nothing heavy is imported here,
because a session's start waits for `context`.
"""

from __future__ import annotations

TYPE_CHECKING = False  # not from typing: see above
if TYPE_CHECKING:
    from tacitd.handler import Plugin

__all__ = ["make_plugin"]


def make_plugin() -> Plugin:
    """Return the plugin; the entry point `tacitd.handlers` calls it."""
    from tacitd.handler import Job, Plugin
    from tacitd_handlers.continuity.handler import PRUNE, ContinuityHandler
    from tacitd_handlers.continuity.settings import ContinuitySettings
    from tacitd_handlers.shared.memory_files import sessions_footprint

    return Plugin(
        "continuity",
        ContinuityHandler,
        settings={"continuity": ContinuitySettings},
        jobs=(Job(PRUNE, 86400.0, at_start=True),),
        uses_model=False,
        lanes=2,
        footprint=sessions_footprint,
    )
