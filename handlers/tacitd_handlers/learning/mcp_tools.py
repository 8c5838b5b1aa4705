"""What agents can ask about learned lines."""

from __future__ import annotations

from pathlib import Path

from tacitd.mcp.agent_tools import AgentInterface, AgentResource, AgentTool, ToolParameter

HERE = "tacitd_handlers.learning.mcp_tools"

LEARNING = AgentInterface(
    tools=(
        AgentTool(
            "list_learned",
            "The rules that were learned in a project from what the person typed, each with its file, when it was said, "
            "how often, and whether it is broken again or stale. A session loads most of them by itself; `explain_line` tells why one exists.",
            ("learned", "--json"),
            (ToolParameter("project", "A directory in the project; leave it out for the session's own."),),
        ),
        AgentTool(
            "search_learned",
            "Find learned rules in all of the person's projects by words, each with its file. Use it when they ask what they "
            "said elsewhere, or how they do something in other projects.",
            ("learned", "--all", "--json"),
            (ToolParameter("words", "All of them must occur; case does not matter.", required=True),),
            is_rare=True,
        ),
    ),
    resources=(
        AgentResource(
            "learned",
            "LEARNED.md",
            "The learned lines of this project, and the AGENTS.md files on the way to this directory.",
            read=f"{HERE}:read_learned",
        ),
    ),
)


def read_learned(cwd: Path, budget: int) -> str:
    """The text of LEARNED.md, and of the AGENTS.md files from the root to the directory, at most `budget` characters."""
    from tacitd_handlers.learning.learned_text import read_context_files

    parts = [f"=== {path} ===\n{text.rstrip()}\n" for path, text in read_context_files(cwd)]
    return "\n".join(parts)[:budget]
