"""Where Claude Code looks for instructions in a project."""

from __future__ import annotations

from tacitd.sources.instruction_files import ContextFiles

CONTEXT_FILES = ContextFiles(
    instructions=("CLAUDE.md", ".claude/CLAUDE.md"),
    others=("CLAUDE.local.md",),
    rules=".claude/rules",
)
