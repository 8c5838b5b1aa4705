"""A handler as a consumer of the transcripts: its log with positions and data, dead letters, and rescued prompts.

When a handler is called is decided in `dispatch/`.
"""
