"""The engine's own tools: where a stored item comes from, forgetting one, and the status."""

from __future__ import annotations

from tacitd.mcp.agent_tools import AgentInterface, AgentTool, ToolParameter

PROJECT = "A directory in the project; leave it out for the session's own."

ENGINE = AgentInterface(
    tools=(
        AgentTool(
            "explain_line",
            "Why a learned line or a lesson exists: the person's words that it came from, the session, and when. "
            "Use it when the person asks why you follow a rule, or doubts one.",
            ("why", "--json"),
            (
                ToolParameter("text", "A part of the line, or a lesson's id.", of="asked"),
                ToolParameter("project", PROJECT, of="cwd"),
            ),
        ),
        AgentTool(
            "forget_item",
            "Forget a learned line, a lesson or a value of the profile, because the person asked for it, and never learn it "
            "again. Show them exactly what it is before: `explain_line` and `list_learned` have the ids.",
            ("forget", "--yes", "--json"),
            (
                ToolParameter("id", "Its id, or a part of its text that only it has.", of="asked"),
                ToolParameter("project", PROJECT, of="cwd"),
            ),
            effect="removes",
            is_rare=True,
        ),
        AgentTool(
            "get_status",
            "What tacitd does now: whether it runs, what waits to be learned, problems with their cure, what it cost. "
            "Use it when something that the person said has not been learned.",
            ("status",),
            is_rare=True,
        ),
    )
)
