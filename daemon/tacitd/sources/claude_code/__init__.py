"""The transcripts of Claude Code: how its lines become records, typed prompts and sessions.

Requirements: CLAUDE_CODE sections 1, 2 and 6. A session's start needs the name below, so nothing that reads transcripts is
imported here.
"""

RULES = ".claude/rules"
"""The directory of instruction files of a project that are all loaded, relative to its root."""
