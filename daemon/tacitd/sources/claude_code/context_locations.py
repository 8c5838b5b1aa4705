"""Where Claude Code looks for instructions in a project. A session's start needs it, so nothing that reads transcripts is imported."""

from __future__ import annotations

from msgspec import Struct


class ContextFiles(Struct, frozen=True):
    """The files of a project that the client loads into a session. Paths are relative to the project's root."""

    instructions: tuple[str, ...]
    """Files for instructions that a person writes, the preferred one first."""
    others: tuple[str, ...]
    """Further files of this kind, which nothing is written to."""
    rules: str
    """The directory of instruction files that are all loaded."""


CONTEXT_FILES = ContextFiles(("CLAUDE.md", ".claude/CLAUDE.md"), ("CLAUDE.local.md",), ".claude/rules")
