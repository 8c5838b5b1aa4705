"""The fields of a profile by dot path (SPEC P-05): kind, label, choices, and which of them may be learned.

Data only, without imports of its own: a session's start reads it.
"""

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
"""The seed's fields by part, with kind and label. The order is that of the output. A blank part is the top level."""


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
SAYABLE_FIELDS = tuple(path for path in FIELDS if path != "bio")
"""The fields that are learned from conversations. `bio` is not: a person writes it."""
CUSTOM = "custom"
"""The part that takes any keys and values."""
HEAD_FIELDS = ("userId", "schemaVersion", "lastUpdated")
"""The keys that describe the document and are not preferences."""
