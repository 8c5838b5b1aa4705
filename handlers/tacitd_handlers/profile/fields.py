"""The fields of a profile by dot path (SPEC P-05): kind, label, choices, and which of them may be learned. A session's start reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

Kind = Literal["text", "list", "choice"]
Json = dict[str, Any]

_TABLE: dict[str, tuple[tuple[str, Kind, str], ...]] = {
    "": (("bio", "text", "About"),),
    "work.": (
        ("role", "text", "Role"),
        ("focusAreas", "list", "Works on"),
        ("languages", "list", "Languages"),
    ),
    "codePreferences.": (
        ("tone", "choice", "Tone"),
        ("detailLevel", "choice", "Level of detail"),
        ("avoidExamples", "list", "Avoid"),
        ("preferredStacks", "list", "Stacks"),
    ),
    "tools.": (("editor", "text", "Editor"), ("infra", "list", "Infrastructure")),
}
"""The seed's fields by part, with kind and label, in the order of the output; `interests` comes last."""
FIELDS: dict[str, Kind] = {part + key: kind for part, keys in _TABLE.items() for key, kind, _ in keys}
FIELDS["interests"] = "list"
LABELS = {part + key: label for part, keys in _TABLE.items() for key, _, label in keys}
LABELS["interests"] = "Interests"
NAMES = frozenset(
    path for path in FIELDS if path.endswith(("languages", "preferredStacks", "editor", "infra"))
)
"""Fields whose values are names of tools and languages: each word in them is concrete (SPEC S-67)."""
CHOICES = {
    "codePreferences.tone": ("direct", "neutral", "friendly"),
    "codePreferences.detailLevel": ("high", "medium", "low"),
}
SAYABLE_FIELDS = tuple(path for path in FIELDS if path != "bio")
"""The fields that are learned from conversations. `bio` is not: a person writes it."""
CUSTOM = "custom"
"""The part that takes any keys and values."""
HEAD_FIELDS = ("userId", "schemaVersion", "lastUpdated")
"""The keys that describe the document and are not preferences."""


def get_value(document: Any, path: str) -> Any:
    """The value at a path; None if it is missing, or a value on the way is not an object."""
    for key in path.split("."):
        if not isinstance(document, Mapping):
            return None
        document = document.get(key)
    return document


def nest_values(values: Mapping[str, Any]) -> Json:
    """Values by path as a document."""
    made: Json = {}
    for path, value in values.items():
        *above, key = path.split(".")
        holder = made
        for part in above:
            holder = holder.setdefault(part, {})
        holder[key] = value
    return made


def fold_spelling(text: str) -> str:
    """Return a text folded for comparison: case and runs of white space do not count (SPEC P-07)."""
    return " ".join(text.split()).casefold()
