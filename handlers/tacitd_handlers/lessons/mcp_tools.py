"""What agents can do with lessons (seed 004). Promoting a lesson is a person's decision, so it is no tool (SPEC E-16)."""

from __future__ import annotations

from tacitd.mcp.agent_tools import AgentInterface, AgentTool, ToolParameter

SCOPE = ToolParameter(
    "scope", "A tool's, skill's or project's name, one word such as `tmux`; default `global`."
)

LESSONS = AgentInterface(
    tools=(
        AgentTool(
            "load_lessons",
            "The lessons to heed before you judge a plan or act: the global ones and those of a scope. Call it once "
            "before you work with a tool or skill for the first time in a session.",
            ("lesson", "load"),
            (SCOPE,),
        ),
        AgentTool(
            "search_lessons",
            "Find lessons in all scopes by words.",
            ("lesson", "search", "--json"),
            (
                ToolParameter("query", "Words; all of them must occur."),
                ToolParameter("scope", "Only of this scope."),
                ToolParameter("every", "Deleted and promoted ones too."),
            ),
            is_rare=True,
        ),
        AgentTool(
            "add_lesson",
            "Add a lesson after a mistake: the person corrected how you work, or you found out what prevents a failure. "
            "It is a rule of behaviour for next time, not a fact. It is active at once, unless it runs a command, names an "
            "address or weakens a check: then it waits for the person. Search first.",
            ("lesson", "add", "--json"),
            (
                ToolParameter("when", "The case, such as `editing tmux.conf`.", required=True),
                ToolParameter("do", "What to do. Either this or `dont`."),
                ToolParameter("dont", "What not to do."),
                ToolParameter("because", "The reason.", required=True),
                SCOPE,
            ),
            effect="adds",
        ),
        AgentTool(
            "mark_lesson_wrong",
            "Delete a lesson because the person says that it is wrong. It is not learned again.",
            ("lesson", "wrong", "--json"),
            (
                ToolParameter("id", "The lesson's id, such as 002."),
                ToolParameter("reason", "Why it is wrong."),
            ),
            effect="removes",
            is_rare=True,
        ),
    )
)
