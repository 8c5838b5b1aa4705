"""Rules that several plugins use, most of them pure. No module here imports a plugin.

Most of them decide whether a model's text says no more than what was typed (SPEC S-67): `words` is the entry.
"""
