"""The tutor's sessions, step by step, for an agent between the tutor and the learner (seed 002)."""

from __future__ import annotations

from tacitd.mcp.agent_tools import AgentInterface, AgentTool, ToolParameter

PROJECT = ToolParameter("project", "A project with graphs in `tutor/`; leave it out for the session's own.")

TUTOR = AgentInterface(
    tools=(
        AgentTool(
            "list_topics",
            "What can be learned with the tutor: the nodes of all graphs with the learner's mastery.",
            ("tutor", "map", "--json"),
            (PROJECT,),
            is_rare=True,
        ),
        AgentTool(
            "suggest_topics",
            "What to learn or to repeat next, and why.",
            ("tutor", "suggest"),
            (PROJECT,),
            is_rare=True,
        ),
        AgentTool(
            "start_lesson",
            "Start a tutor's session on a topic, if the learner agreed: it lasts half an hour. Returns the first question, "
            "which you show to the learner as it is. Costs model calls, within the tutor's limit.",
            ("tutor", "start"),
            (ToolParameter("node", "The id of a node, or GRAPH/ID, from `list_topics`."), PROJECT),
            effect="adds",
            asks_model=True,
            is_rare=True,
        ),
        AgentTool(
            "answer_tutor",
            "Hand in the learner's own answer to the tutor's pending question, word for word, and get the next one. "
            "Never answer for the learner. Without an answer the pending question is shown again.",
            ("tutor", "resume"),
            (
                ToolParameter(
                    "answer", "In one line. `/skip` leaves a question out, `/end` ends with the test."
                ),
                ToolParameter("session", "Leave it out for the session that was used last."),
            ),
            effect="adds",
            typed="answer",
            asks_model=True,
            is_rare=True,
        ),
    )
)
