"""What agents can ask and change of sessions: tasks, decisions, notes, the summary."""

from __future__ import annotations

from tacitd.mcp.agent_tools import AgentInterface, AgentResource, AgentTool, ToolParameter

SESSION = ToolParameter(
    "session", "A session's id or its beginning; leave it out for the newest one of this project.", of="id"
)
LAST_SESSION = AgentResource(
    "session",
    "Last session",
    "Where the last session of this project ended: summary, open tasks, decisions.",
    read="tacitd_handlers.continuity.last_session:read_last_session",
)

CONTINUITY = AgentInterface(
    tools=(
        AgentTool(
            "list_sessions",
            "The person's sessions in all projects, the newest first: summary, directory, times, number of open tasks.",
            ("sessions", "list", "--json"),
            (ToolParameter("project", "Only sessions of this directory's project."),),
            is_rare=True,
        ),
        AgentTool(
            "get_session",
            "One session whole: its summary, tasks and what blocks them, decisions with reasons, notes.",
            ("sessions", "show", "--json"),
            (SESSION,),
        ),
        AgentTool(
            "save_task",
            "Create a task of this session, or change one by its id. Use it for work that outlives the session. "
            "Returns the task's id.",
            ("sessions", "task"),
            (
                ToolParameter("title", "What is to be done; needed for a new task."),
                ToolParameter("id", "The id of the task to change.", of="task"),
                ToolParameter("status"),
                ToolParameter("blocked_by", "What it waits for; makes it blocked."),
                ToolParameter("notes", "What the next session must know to go on."),
                ToolParameter("parent", "The id of the task that this one is a part of."),
                SESSION,
            ),
            effect="adds",
        ),
        AgentTool(
            "record_decision",
            "Record a decision that was made with the person in this session, with its reason.",
            ("sessions", "decide"),
            (
                ToolParameter("decision", "What was decided."),
                ToolParameter("because", "The reason."),
                ToolParameter("instead", "Alternatives that were considered."),
                SESSION,
            ),
            effect="adds",
        ),
        AgentTool(
            "record_note",
            "Record what the next session in this project must know: state, traps, next steps.",
            ("sessions", "note"),
            (ToolParameter("text", "One note, of a few sentences at most."), SESSION),
            effect="adds",
        ),
        AgentTool(
            "set_summary",
            "Set the summary of this session, at a hand-off: what was done, what is left, what is in the way. It replaces "
            "the one that is there, and tacitd writes none over it.",
            ("sessions", "summary"),
            (ToolParameter("text", "At most three sentences."), SESSION),
            effect="adds",
            is_rare=True,
        ),
    ),
    resources=(LAST_SESSION,),
)
