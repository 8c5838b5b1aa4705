"""The fields of a profile by dot path (SPEC P-05): kind, label, choices, which of them may be learned; and the check of the files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypedDict

import msgspec

from tacitd.clock import parse_utc
from tacitd.files.json_document import NotUnderstoodError
from tacitd.text.converter import Converter, describe_mismatch

Kind = Literal["text", "list", "choice"]
Json = dict[str, Any]

_TABLE: dict[str, tuple[Kind, str]] = {
    "bio": ("text", "About"),
    "work.role": ("text", "Role"),
    "work.focusAreas": ("list", "Works on"),
    "work.languages": ("list", "Languages"),
    "codePreferences.tone": ("choice", "Tone"),
    "codePreferences.detailLevel": ("choice", "Level of detail"),
    "codePreferences.avoidExamples": ("list", "Avoid"),
    "codePreferences.preferredStacks": ("list", "Stacks"),
    "tools.editor": ("text", "Editor"),
    "tools.infra": ("list", "Infrastructure"),
    "interests": ("list", "Interests"),
}
"""The seed's fields with kind and label, in the order of the output."""
FIELDS = {path: kind for path, (kind, _) in _TABLE.items()}
LABELS = {path: label for path, (_, label) in _TABLE.items()}
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
    """A text for comparison: case and runs of white space do not count (SPEC P-07)."""
    return " ".join(text.split()).casefold()


# --- the check of the files (SPEC P-05, P-06, P-09): strict, with unknown keys allowed


def _make_checker() -> Converter:
    """The form of profile.json. Every key may be absent, and none may be null."""
    kinds: dict[str, Any] = {"text": str, "list": list[str]}
    parts: dict[str, list[tuple[str, Any, None]]] = {}
    for path, kind in FIELDS.items():
        part, _, key = path.rpartition(".")
        parts.setdefault(part, []).append((key, kinds.get(kind) or Literal[CHOICES[path]], None))
    head = [("userId", str, None), ("lastUpdated", str, None), (CUSTOM, dict[str, Any], None), *parts.pop("")]
    nested = [(part, msgspec.defstruct(part, fields), None) for part, fields in parts.items()]
    return Converter(msgspec.defstruct("profile", [*head, *nested]))


class _Entry(TypedDict):
    path: Annotated[str, msgspec.Meta(min_length=1)]
    firstSeen: Annotated[str, msgspec.Meta(min_length=1)]
    lastSeen: Annotated[str, msgspec.Meta(min_length=1)]
    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)]
    seenCount: Annotated[int, msgspec.Meta(ge=0)]


class _Metadata(msgspec.Struct, rename="camel"):
    user_id: str = ""
    last_decay: str = ""
    preferences: list[_Entry] = []


_PROFILE, _METADATA = _make_checker(), Converter(_Metadata)


def check_profile(document: Json, what: object) -> Json:
    """Return profile.json if it is one; its head may be missing. Raises NotUnderstoodError with the place in it and the reason.

    `what` is the file, for the message. A `schemaVersion` other than the integer 1 is refused (SPEC P-03).
    """
    _convert(document, what, _PROFILE)
    return _check_times(document, what, {"lastUpdated": document.get("lastUpdated", "")})


def check_metadata(document: Json, what: object) -> Json:
    """The same for profile-meta.json."""
    found: _Metadata = _convert(document, what, _METADATA)
    times = {"lastDecay": found.last_decay}
    for number, one in enumerate(found.preferences):
        times |= {f"preferences[{number}].{key}": one[key] for key in ("firstSeen", "lastSeen")}
    return _check_times(document, what, times)


def _convert(document: Json, what: object, form: Converter) -> Any:
    version = document.get("schemaVersion", 1)
    if isinstance(version, bool) or not isinstance(version, int) or version != 1:
        why = f"{what}: schemaVersion is {version!r}; this version supports 1 and does not change the file"
        raise NotUnderstoodError(why, "update tacitd, or move the file away")
    try:
        return form.convert(document)
    except msgspec.ValidationError as error:
        raise NotUnderstoodError(f"{what}: {describe_mismatch(error)}", HINT) from None


def _check_times(document: Json, what: object, times: Mapping[str, str]) -> Json:
    wrong = next((place for place, time in times.items() if time and parse_utc(time) is None), "")
    if wrong:
        raise NotUnderstoodError(f"{what}: {wrong}: not an ISO 8601 time", HINT)
    return document


HINT = "correct it by hand; nothing was written"
