"""Pure rules that several plugins use: no clock, disk or model, and no import of a plugin.

Most of them decide whether a model's text is grounded (SPEC S-67): `grounding` is the entry, the others are its parts.
"""
