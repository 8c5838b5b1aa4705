"""The transcripts of Claude Code: how its lines become records, typed prompts and sessions.

Requirements: CLAUDE_CODE sections 1, 2 and 6. A session's start needs the files below, so nothing that reads transcripts is
imported here.
"""

from msgspec import Struct


class ContextFiles(Struct, frozen=True):
    """Where the client looks for instructions in a project. Paths are relative to the project's root."""

    instructions: tuple[str, ...]
    """Files for instructions that a person writes, the preferred one first."""
    others: tuple[str, ...]
    """Further files of this kind, which nothing is written to."""
    rules: str
    """The directory of instruction files that are all loaded."""


CONTEXT_FILES = ContextFiles(("CLAUDE.md", ".claude/CLAUDE.md"), ("CLAUDE.local.md",), ".claude/rules")
