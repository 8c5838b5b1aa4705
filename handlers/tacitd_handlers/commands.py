"""The `tacitd` program: the commands of the engine and of the plugins in one static table.

This is the composition root of the command line, so it may name the plugins' folders. A command itself belongs in the
`cli` module of its plugin. A command's module is imported only when the command is called, because `status` and the
hooks must start fast.
"""

from __future__ import annotations

from tacitd.cli import CARE, COMMANDS, LOOK, WORK, CommandRow
from tacitd.cli import main as run

COMMANDS_OF_PLUGINS: dict[str, CommandRow] = {
    "demo": CommandRow(
        "tacitd_handlers.learning.cli:demo", "Run the whole pipeline in ten seconds, without Claude.", LOOK
    ),
    "scan": CommandRow(
        "tacitd_handlers.learning.scan:scan",
        "Learn from past transcripts, after an estimate of the cost.",
        WORK,
    ),
    "learned": CommandRow(
        "tacitd_handlers.learning.cli:learned", "Show what was learned in a project.", LOOK
    ),
    "why": CommandRow(
        "tacitd_handlers.why:why", "Show which of your words a line or a lesson came from.", LOOK
    ),
    "context": CommandRow("tacitd_handlers.context:context", "Print what a session gets at its start.", LOOK),
    "init": CommandRow(
        "tacitd_handlers.learning.cli:init", "Create LEARNED.md and the summary in a project.", WORK
    ),
    "synthesize": CommandRow(
        "tacitd_handlers.learning.cli:synthesize", "Make lines from the waiting facts now.", WORK
    ),
    "link": CommandRow(
        "tacitd_handlers.learning.link:link",
        "Offer the line by which agents find LEARNED.md, as a diff.",
        CARE,
    ),
    "share": CommandRow(
        "tacitd_handlers.learning.link:share", "Share LEARNED.md and AGENTS.md with a team through git.", CARE
    ),
    "exclude": CommandRow("tacitd_handlers.learning.link:exclude", "Stop writing in a project.", CARE),
    "learner": CommandRow(
        "tacitd_handlers.learner.cli:learner", "Show what you practised and when to review it.", LOOK
    ),
    "profile": CommandRow(
        "tacitd_handlers.profile.cli:profile", "Show, set and clear what tacitd knows about you.", LOOK
    ),
    "sessions": CommandRow(
        "tacitd_handlers.continuity.cli:sessions",
        "List sessions, resume one, record decisions and notes.",
        LOOK,
    ),
    "lesson": CommandRow(
        "tacitd_handlers.lessons.command_group:lesson",
        "Add, list and load WHEN -> DO -> BECAUSE rules for agents.",
        LOOK,
    ),
}


def main() -> None:
    """Run the program. `entry_point` calls this after signals are prepared."""
    run({**COMMANDS, **COMMANDS_OF_PLUGINS})


if __name__ == "__main__":
    main()
