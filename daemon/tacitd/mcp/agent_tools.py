"""What plugins and the engine offer to agents: tools and resources. Data only.

A tool is a command of tacitd, so that what an agent does and what a person does has one implementation. The types, choices
and limits of its parameters are the command's own (`tools`); only the words for the model are written here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

__all__ = [
    "AgentInterface",
    "AgentResource",
    "AgentTool",
    "ToolParameter",
]


LARGEST_RESULT = 20_000
"""Characters of a tool's or resource's answer; about 5,000 tokens, a fifth of what Claude Code accepts."""


class ToolParameter(Struct, frozen=True):
    """A parameter of a tool, which fills a parameter of its command."""

    name: str
    """Its name for the model."""
    description: str = ""
    """For the model; "" for the command's own help."""
    of: str = ""
    """The name of the command's parameter if it differs, such as `cwd`."""
    required: bool = False
    """Whether the model must give it, although the command does not need it."""


class AgentTool(Struct, frozen=True):
    """A tool that an agent can call."""

    name: str
    """A verb and its object: `search_lessons`. Unique among all plugins."""
    description: str
    """For a model: what it does, when to use it, and what it must not be used for."""
    command: Sequence[str]
    """The command, with options that are always given: `("lesson", "search", "--json")`."""
    parameters: Sequence[ToolParameter] = ()
    """What the model may give. Every other parameter of the command keeps its default."""
    effect: Literal["reads", "adds", "removes"] = "reads"
    """`removes` also means what is not undone easily: such a tool gets a parameter `confirm`, and without it
    nothing is done."""
    typed: str = ""
    """The name of a parameter that is not the command's: its value is the command's standard input."""
    asks_model: bool = False
    """Whether it calls the model, which costs money."""
    is_rare: bool = False
    """Whether a client that can search for tools need not show it to the model at once: each tool that it shows costs some
    200 tokens of every request."""


class AgentResource(Struct, frozen=True):
    """A text that an agent can read."""

    name: str
    """One word; its address is `tacitd://NAME`."""
    title: str
    description: str
    read: str
    """Hook: `(cwd: Path, budget: int) -> str`, the text for a directory; "" if there is nothing to read."""


class AgentInterface(Struct, frozen=True):
    """What a plugin offers to agents; the hook `PluginSpec.mcp` names one."""

    tools: Sequence[AgentTool] = ()
    resources: Sequence[AgentResource] = ()


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
