"""What a scope may be called, and which scope a project has. Pure, and light: `lesson load` imports it.

A scope is `global`, or the name of a tool, a skill or a project: one word in small letters. Capitals are folded
(`Tmux` is `tmux`), so that a lesson is found again however it was typed; a space is refused, because the lists have
columns.
"""

from __future__ import annotations

GLOBAL = "global"
LONGEST = 64
SIGNS = frozenset("._-+:/@#")


def folded(scope: str) -> str | None:
    """Given a scope as it was typed, return it as it is kept; None where it cannot be one."""
    name = scope.strip()
    if not name.isascii():
        import unicodedata

        name = unicodedata.normalize("NFC", name)
    name = name.lower()
    if not name or len(name) > LONGEST or not name[0].isalnum():
        return None
    # Marks are letters to a reader (Devanagari, a decomposed accent); isalnum does not count them.
    return name if all(char in SIGNS or char.isalnum() or _mark(char) for char in name) else None


def of_name(name: str) -> str:
    """The scope of a project whose folder has this name: `My App` has `my-app`; "" where nothing is left of it."""
    kept = "".join(char if char.isalnum() or char in "._-+" else "-" for char in name.strip().lower())
    while "--" in kept:
        kept = kept.replace("--", "-")
    return folded(kept.strip("-._+")[:LONGEST]) or ""


def _mark(char: str) -> bool:
    if char.isascii():
        return False
    import unicodedata

    return unicodedata.category(char).startswith("M")
