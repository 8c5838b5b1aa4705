"""The learner profile and ledger (seed 000): what was practised, what went wrong, and when to repeat it.

This module only declares the plugin, because a session start waits for `tacitd learner context`. The files' formats are
`ledger_file`, `profile_text`, `weakness_text` and `history_text`. `ledger_replay` says what follows from the ledger,
`practice_sync` what that changes in a profile, `learner_store` reads and writes, and `practice_record` is what is done.
"""

from __future__ import annotations

TYPE_CHECKING = False  # not imported from typing, which would slow down `tacitd learner context`
if TYPE_CHECKING:
    from tacitd.handler import Plugin

__all__ = ["make_plugin"]


def make_plugin() -> Plugin:
    """Return the plugin's declaration, for the entry point."""
    from tacitd.handler import COMPACTION, Job, Plugin

    here = "tacitd_handlers.learner"
    return Plugin(
        "learner",
        f"{here}.handler:LearnerHandler",
        settings={"learner": f"{here}.settings:LearnerSettings"},
        jobs=(Job("check", 60.0, at_start=True), Job("retests", 86400.0, at_start=True), Job(COMPACTION)),
        uses_model=False,
        single_store=True,
        footprint=f"{here}.learner_paths:learner_footprint",
        order=20,
        commands={
            "learner": (
                f"{here}.learner_commands:learner",
                "Show what you practised and when to review it.",
                "More",
            )
        },
        context=f"{here}.context_section:build_section",
        context_order=80,  # after the short sections, whose texts are the same in every session
        context_budget=5_000,
        status_lines=f"{here}.notices:format_status_lines",
        mcp=f"{here}.mcp_tools:LEARNER",
    )
