"""The learner's profile and ledger (seed 000): what was practised, what went wrong, and when to see it again.

Pure rules (`lifecycle`, `intervals`, `resolution`, `caps`, `fold`) and documents (`ledger_md`, `profile_md`) stand on
their own; `reconcile` joins them, `store` reads and writes, `handler` and `cli` say when. docs/learner.md maps every
rule to its test. Nothing heavy is imported here: a session waits for `tacitd learner context`.
"""

from __future__ import annotations

TYPE_CHECKING = False  # not from typing: see above
if TYPE_CHECKING:
    from tacitd.handler import Slice

__all__ = ["slice"]


def slice() -> Slice:
    """The entry point."""
    from tacitd.handler import Job, Slice
    from tacitd_handlers.learner.handler import LOOK, RETESTS, Learner
    from tacitd_handlers.learner.learner_files import learner_footprint
    from tacitd_handlers.learner.settings import LearnerSettings

    return Slice(
        "learner",
        Learner,
        settings={"learner": LearnerSettings},
        jobs=(Job(LOOK, 60.0, at_start=True), Job(RETESTS, 86400.0, at_start=True)),
        pays=False,
        footprint=learner_footprint,
    )
