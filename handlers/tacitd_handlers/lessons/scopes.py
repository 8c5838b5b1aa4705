"""Valid scopes, and the scope of a project. Pure.

A scope is `global`, or the name of a tool, a skill or a project: one word in lower case. Upper case is folded (`Tmux`
is `tmux`), so that a lesson is found however its scope is typed. Spaces are refused, because `lesson list` prints
columns.
"""

from __future__ import annotations

import unicodedata

GLOBAL = "global"
LONGEST = 64
SIGNS = frozenset("._-+:/@#")


def normalise_scope(scope: str) -> str | None:
    """The normalised scope, or None if the text is not a valid scope."""
    name = scope.strip()
    if not name.isascii():
        name = unicodedata.normalize("NFC", name)
    name = name.lower()
    if not name or len(name) > LONGEST or not name[0].isalnum():
        return None
    # Marks are letters to a reader (Devanagari, a decomposed accent); isalnum does not count them.
    return name if all(char in SIGNS or char.isalnum() or _mark(char) for char in name) else None


def scope_of_name(name: str) -> str:
    """The scope for a project whose folder has this name: `my-app` for `My App`; "" if nothing remains."""
    if valid := normalise_scope(name):
        return valid
    kept = "".join(char if char.isalnum() or char in "._-+" else "-" for char in name.strip().lower())
    while "--" in kept:
        kept = kept.replace("--", "-")
    return normalise_scope(kept.strip("-._+")[:LONGEST].rstrip("-._+")) or ""


def _mark(char: str) -> bool:
    if char.isascii():
        return False
    return unicodedata.category(char).startswith("M")
