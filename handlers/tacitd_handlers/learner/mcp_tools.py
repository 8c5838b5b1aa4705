"""What agents that teach can ask of and write to the learner's profile and ledger (seed 000)."""

from __future__ import annotations

from tacitd.mcp.agent_tools import AgentInterface, AgentTool, ToolParameter
from tacitd_handlers.learner.vocabulary import VERDICTS

LEARNER = AgentInterface(
    tools=(
        AgentTool(
            "record_practice",
            "Record one practised problem at the end of a teaching session: a row of the ledger, then the learner's "
            "profile. Never make up a verdict. The same problem recorded twice in one session counts once.",
            ("learner", "record", "--json"),
            (
                ToolParameter("problem", "The problem's name, such as two-sum.", required=True),
                ToolParameter("pattern", "The problem's pattern, such as hash_map.", required=True),
                ToolParameter("mode", "learning or recall.", required=True),
                ToolParameter(
                    "verdict",
                    "; ".join(f"{mode}: {', '.join(names)}" for mode, names in VERDICTS.items()),
                    required=True,
                ),
                ToolParameter("gaps", 'Tags of what went wrong: "edge:empty_input; edge:duplicates".'),
                ToolParameter("tested", "Tags that were tested, also those without a fault."),
                ToolParameter("observations", "Two to four sentences."),
                ToolParameter(
                    "describe", 'For each new gap "TAG=the input class or code pattern that was missed".'
                ),
                ToolParameter("session", "The session's id, from the session metadata."),
                ToolParameter("timestamp", "YYYY-MM-DDTHH:MM, from the session metadata."),
            ),
            effect="adds",
            is_rare=True,
        ),
        AgentTool(
            "list_due_reviews",
            "Problems whose review date has come, oldest first, with the reason.",
            ("learner", "due", "--json"),
            (ToolParameter("on", "YYYY-MM-DD; leave it out for today."),),
            is_rare=True,
        ),
        AgentTool(
            "list_retests",
            "Weaknesses that look resolved and were not tested for two weeks. Offer them, never force them.",
            ("learner", "retests", "--json"),
            is_rare=True,
        ),
        AgentTool(
            "review_progress",
            "The learner's progress from the ledger: totals, verdicts, patterns, weaknesses, next steps.",
            ("learner", "review", "--json"),
            is_rare=True,
        ),
    )
)
