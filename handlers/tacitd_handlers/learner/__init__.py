"""The learner profile and ledger (seed 000): what was practised, what went wrong, and when to repeat it.

This module only declares the plugin, because a session start waits for `tacitd learner context`. `ledger_file`, `profile_text` and
`entry_texts` are the files' formats. `weakness_rules` says what follows from the ledger, `practice_sync` what that changes in a
profile, `practice_tasks` reads the files and plans what the engine writes, and `learner_commands` is the command line.
"""

from __future__ import annotations

TYPE_CHECKING = False  # not imported from typing, which would slow down `tacitd learner context`
if TYPE_CHECKING:
    from tacitd.plugin import PluginSpec

__all__ = ["SCHEMA", "make_plugin"]

SCHEMA = ("tacitd_handlers.learner:schema.sql",)
"""The steps of its tables; the number of steps is their version."""


def make_plugin() -> PluginSpec:
    """Return the plugin; the entry point `tacitd.handlers` calls it."""
    from tacitd.plugin import PluginSpec, TimedJob

    here = "tacitd_handlers.learner"
    about = "Show what you practised and when to review it."
    return PluginSpec(
        "learner",
        order=80,  # after those with short texts for a session, which are the same in every session
        settings={"learner": f"{here}.practice_tasks:LearnerSettings"},
        schema=SCHEMA,
        one_lane=True,
        observe=f"{here}.practice_tasks:observe",
        run=f"{here}.practice_tasks:run",
        events=frozenset({"compaction"}),
        jobs=(TimedJob("check", 60.0),),
        commands={"learner": (f"{here}.learner_commands:learner", about, "More")},
        session_text=f"{here}.session_start:make_text",
        session_budget=5_000,
        status=f"{here}.session_start:report_status",
        mcp=f"{here}.learner_commands:LEARNER",
        footprint=f"{here}.learner_state:learner_footprint",
    )
