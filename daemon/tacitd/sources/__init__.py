"""From bytes to lines, records, sessions and projects, for every source of transcripts.

The format of one client is in a folder of its own (`claude_code/`). What is done with records belongs to the handlers.
"""
