"""What a profile holds, by dot path: the seed's fields, and which of them a conversation may fill. Light."""

from __future__ import annotations

from typing import Literal

Kind = Literal["text", "list", "choice"]

TONES = ("direct", "neutral", "friendly")
DETAILS = ("high", "medium", "low")

_TREE: dict[str, dict[str, tuple[Kind, str]]] = {
    "": {"bio": ("text", "About")},
    "work": {
        "role": ("text", "Role"),
        "focusAreas": ("list", "Works on"),
        "languages": ("list", "Languages"),
    },
    "codePreferences": {
        "tone": ("choice", "Tone"),
        "detailLevel": ("choice", "Level of detail"),
        "avoidExamples": ("list", "Avoid"),
        "preferredStacks": ("list", "Stacks"),
    },
    "tools": {"editor": ("text", "Editor"), "infra": ("list", "Infrastructure")},
    " ": {"interests": ("list", "Interests")},
}
"""The seed's fields in its order; those under no part are at the top."""


def _path(part: str, key: str) -> str:
    return f"{part}.{key}" if part.strip() else key


FIELDS: dict[str, Kind] = {
    _path(part, key): kind for part, keys in _TREE.items() for key, (kind, _) in keys.items()
}
LABELS: dict[str, str] = {
    _path(part, key): label for part, keys in _TREE.items() for key, (_, label) in keys.items()
}
PARTS = tuple(part for part in _TREE if part.strip())
CHOICES: dict[str, tuple[str, ...]] = {
    path: TONES if path.endswith("tone") else DETAILS for path, kind in FIELDS.items() if kind == "choice"
}
SAID = tuple(path for path in FIELDS if path != "bio")
"""What a person may say about themselves in passing. A biography is written, not overheard."""
CUSTOM = "custom"
"""Below it everything is allowed."""
HEAD = ("userId", "schemaVersion", "lastUpdated")
"""What says whose profile it is, and is no preference."""
