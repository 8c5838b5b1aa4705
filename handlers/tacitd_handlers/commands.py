"""The `tacitd` program: the engine's commands and those of the slices, in one static table.

This is the composition root of the command line, so it may name folders. Nothing is imported before it is asked for.
"""

from __future__ import annotations

from tacitd.cli import CARE, COMMANDS, LOOK, WORK, Row
from tacitd.cli import main as run

COMMANDS_OF_SLICES: dict[str, Row] = {
    "demo": Row(
        "tacitd_handlers.learning.cli:demo", "See the whole way in ten seconds, without Claude.", LOOK
    ),
    "scan": Row(
        "tacitd_handlers.learning.scan:scan", "Learn from the past, after saying what it may cost.", WORK
    ),
    "learned": Row("tacitd_handlers.learning.cli:learned", "What was learned in a project.", LOOK),
    "why": Row("tacitd_handlers.why:why", "From which of your words something came.", LOOK),
    "context": Row("tacitd_handlers.context:context", "What is said at the start of a session.", LOOK),
    "init": Row("tacitd_handlers.learning.cli:init", "Begin in a project: LEARNED.md and the summary.", WORK),
    "synthesize": Row("tacitd_handlers.learning.cli:synthesize", "Make lines of waiting facts now.", WORK),
    "link": Row(
        "tacitd_handlers.learning.link:link", "Offer the line by which agents find LEARNED.md.", CARE
    ),
    "share": Row(
        "tacitd_handlers.learning.link:share", "Let a team have LEARNED.md and AGENTS.md through git.", CARE
    ),
    "exclude": Row("tacitd_handlers.learning.link:exclude", "Stop writing in a project.", CARE),
    "learner": Row(
        "tacitd_handlers.learner.cli:learner", "What you practised, and when to see it again.", LOOK
    ),
    "profile": Row(
        "tacitd_handlers.profile.cli:profile", "What tacitd knows of you; set it, clear it.", LOOK
    ),
    "sessions": Row("tacitd_handlers.continuity.cli:sessions", "Sessions, to be picked up again.", LOOK),
    "lesson": Row("tacitd_handlers.lessons.commands:lesson", "WHEN -> DO -> BECAUSE rules for agents.", LOOK),
}


def main() -> None:
    """Run the program."""
    run({**COMMANDS, **COMMANDS_OF_SLICES})


if __name__ == "__main__":
    main()
