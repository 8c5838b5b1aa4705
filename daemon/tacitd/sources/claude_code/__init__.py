"""The transcripts of Claude Code: how its lines become records, typed prompts and sessions.

Requirements: CLAUDE_CODE sections 1, 2 and 6.
"""
