"""The directory that profile and sessions share (seed 001): its location, its lock, and safe changes of its JSON files.

The meaning and the schema of each file belong to the plugins `profile` and `continuity`.
"""
