"""The language model: one port, the adapter to Claude Code's command line, its budget and its guards.

Nothing here knows transcripts, projects or handlers.
"""
