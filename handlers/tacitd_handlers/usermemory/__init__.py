"""The directory that profile and sessions share (seed 001): where it is, its lock, and how a JSON file in it is changed.

What stands in the files belongs to the systems' own folders.
"""
