"""The fields of a profile by dot path (SPEC P-05): kind, label, choices, which of them may be learned; and the check of the files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from tacitd.clock import parse_utc
from tacitd.files.json_document import NotUnderstoodError

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


# --- the check of the files (SPEC P-05, P-06, P-09): strict, with unknown keys allowed

PARTS = (*dict.fromkeys(path.split(".")[0] for path in FIELDS if "." in path), CUSTOM)
"""The keys that have objects."""
HINT = "correct it by hand; nothing was written"


def check_profile(document: Json, what: object) -> Json:
    """Return profile.json if it is one; its head may be missing. Raises NotUnderstoodError with the place in it and the reason.

    `what` is the file, for the message. A `schemaVersion` other than the integer 1 is refused (SPEC P-03).
    """
    return _check(document, what, [*_check_head(document, "userId", "lastUpdated"), *_find_faults(document)])


def check_metadata(document: Json, what: object) -> Json:
    """The same for profile-meta.json."""
    faults = list(_check_head(document, "userId", "lastDecay"))
    entries = document.get("preferences", [])
    if not isinstance(entries, list):
        faults.append("preferences: not a list")
        entries = []
    for number, one in enumerate(entries):
        faults += [f"preferences.{number}.{fault}" for fault in _check_entry(one)]
    return _check(document, what, faults)


def _find_faults(document: Json) -> Iterator[str]:
    for part in PARTS:
        if part in document and not isinstance(document[part], dict):
            yield f"{part} is null" if document[part] is None else f"{part}: not an object"
    for path, kind in FIELDS.items():
        above, _, key = path.rpartition(".")
        holder = get_value(document, above) if above else document
        if not isinstance(holder, dict) or key not in holder:
            continue
        value = holder[key]
        texts = value if kind == "list" and isinstance(value, list) else [value]
        if value is None:
            yield f"{path} is null"
        elif not all(isinstance(one, str) for one in texts) or (kind == "list" and texts is not value):
            yield f"{path}: not a {'list of texts' if kind == 'list' else 'text'}"
        elif kind == "choice" and value not in CHOICES[path]:
            yield f"{path}: not one of {', '.join(CHOICES[path])}"


def _check(document: Json, what: object, faults: list[str]) -> Json:
    version = document.get("schemaVersion", 1)
    if isinstance(version, bool) or not isinstance(version, int) or version != 1:
        why = f"{what}: schemaVersion is {version!r}; this version supports 1 and does not change the file"
        raise NotUnderstoodError(why, "update tacitd, or move the file away")
    if faults:
        raise NotUnderstoodError(f"{what}: {faults[0]}", HINT)
    return document


def _check_head(document: Json, user: str, stamp: str) -> Iterator[str]:
    if not isinstance(document.get(user, ""), str):
        yield f"{user}: not a text"
    if stamp in document and parse_utc(document[stamp]) is None:
        yield f"{stamp}: not an ISO 8601 time"


def _check_entry(one: Any) -> Iterator[str]:
    if not isinstance(one, dict):
        yield "path: missing"
        return
    if (
        not isinstance(path := one.get("path"), str)
        or not path
        or path != path.encode(errors="replace").decode()
    ):
        yield "path: not a text that can be written"
    yield from (
        f"{key}: not an ISO 8601 time" for key in ("firstSeen", "lastSeen") if parse_utc(one.get(key)) is None
    )
    numbers: dict[str, Any] = {key: one.get(key) for key in ("confidence", "seenCount")}
    for key, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int if key == "seenCount" else int | float):
            yield f"{key}: not a number"
        elif not 0 <= value <= (1 if key == "confidence" else value):
            yield f"{key}: out of range"
