"""Learning (seed 003): what a person corrected or prefers becomes lines in LEARNED.md and in modules' AGENTS.md.

Two stages: prompts become facts (`extract.py`), facts become lines (`synthesize.py`). Pure rules stand beside them;
`handler.py` says which event leads to which.
"""

from tacitd.handler import Job, Plugin

__all__ = ["make_plugin"]


def make_plugin() -> Plugin:
    """The entry point."""
    from tacitd_handlers.learning.handler import INIT, RECOVER, RETRY, LearningHandler
    from tacitd_handlers.learning.learning_files import learning_footprint
    from tacitd_handlers.learning.settings import ExtractionSettings, SynthesisSettings
    from tacitd_handlers.learning.stage2.run import SYNTHESIZE

    return Plugin(
        "learning",
        LearningHandler,
        settings={"extraction": ExtractionSettings, "synthesis": SynthesisSettings},
        jobs=(Job(RECOVER, 600.0, at_start=True), Job(SYNTHESIZE), Job(INIT), Job(RETRY)),
        lanes=2,
        footprint=learning_footprint,
    )
