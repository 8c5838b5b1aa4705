"""What agents can ask and change of the profile. What is set is in the changelog as `mcp/hook` (seed 001)."""

from __future__ import annotations

import os
from pathlib import Path

from tacitd.mcp.agent_tools import AgentInterface, AgentResource, AgentTool, ToolParameter
from tacitd_handlers.profile.fields import CUSTOM, FIELDS
from tacitd_handlers.profile.profile_files import list_leaves, list_values, read_profile
from tacitd_handlers.profile.profile_texts import format_values
from tacitd_handlers.shared.user_memory import memory_dir

PATHS = f"One of {', '.join(FIELDS)}, or {CUSTOM}.NAME for anything else."

PROFILE = AgentInterface(
    tools=(
        AgentTool(
            "get_profile",
            "Who the person is and how they like to work: role, languages, tone, tools, interests.",
            ("profile", "show", "--json"),
        ),
        AgentTool(
            "update_profile",
            "Set one value of the profile, because the person asked for it or corrected it. It counts as learned: it fades "
            "unless it is said again, and never replaces what the person set. A list is added to the one that is there. An "
            "order, a command or an address waits for the person.",
            ("profile", "set"),
            (
                ToolParameter("path", PATHS),
                ToolParameter("value", 'A text; for a list a JSON array such as ["Python", "Rust"].'),
            ),
            effect="adds",
        ),
        AgentTool(
            "remember_preference",
            "Remember one more preference of the person, because they asked you to remember it. For rules of a project "
            "none is needed: tacitd learns those from what they type. For what to do in a situation add a lesson.",
            ("profile", "add"),
            (
                ToolParameter("path", f"A list of the profile: {PATHS} If none fits: {CUSTOM}.preferences."),
                ToolParameter("value", "The preference, in a few words.", of="element"),
            ),
            effect="adds",
        ),
        AgentTool(
            "forget_preference",
            "Remove a value of the profile, or one element of a list, because the person asked you to forget it.",
            ("profile", "remove"),
            (
                ToolParameter("path", "A path as in `get_profile`."),
                ToolParameter(
                    "value", "The element of the list; leave it out to remove the whole path.", of="element"
                ),
            ),
            effect="removes",
            is_rare=True,
        ),
    ),
    resources=(
        AgentResource(
            "profile",
            "Profile",
            "Who the person is and how they like to work.",
            read="tacitd_handlers.profile.mcp_tools:show_profile",
        ),
    ),
)


def show_profile(cwd: Path, budget: int) -> str:
    """The profile as lines, at most `budget` characters. It is the same in every directory."""
    profile = read_profile(memory_dir(os.environ)) or {}
    return "\n".join(format_values(list_values(list_leaves(profile))).values())[:budget]
