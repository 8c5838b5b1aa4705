"""The learner profile and ledger (seed 000): what was practised, what went wrong, and when to repeat it.

This module only declares the plugin. It imports nothing heavy, because a session start waits for `tacitd learner
context`. The rules (`lifecycle`, `intervals`, `resolution`, `caps`, `fold`) and the file formats (`ledger_md`,
`profile_md`, `history_md`, `weakness_md`) are pure. `reconcile` combines them, `store` does the I/O, and `handler`
and `cli` are the entry points. docs/learner.md maps every rule to its test.
"""

from __future__ import annotations

TYPE_CHECKING = False  # not imported from typing, which would slow down `tacitd learner context`
if TYPE_CHECKING:
    from tacitd.handler import Plugin

__all__ = ["make_plugin"]


def make_plugin() -> Plugin:
    """Return the plugin's declaration, for the entry point."""
    from tacitd.handler import Job, Plugin
    from tacitd_handlers.learner.handler import LOOK, RETESTS, LearnerHandler
    from tacitd_handlers.learner.learner_files import learner_footprint
    from tacitd_handlers.learner.settings import LearnerSettings

    return Plugin(
        "learner",
        LearnerHandler,
        settings={"learner": LearnerSettings},
        jobs=(Job(LOOK, 60.0, at_start=True), Job(RETESTS, 86400.0, at_start=True)),
        uses_model=False,
        footprint=learner_footprint,
    )
