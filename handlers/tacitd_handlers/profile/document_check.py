"""What the files of seed 001 may contain (SPEC P-05, P-09, P-18): strict, with unknown keys allowed.

A document is only checked. What is written is the document itself, so that nothing in it is lost or reordered. The models are
msgspec's and not pydantic's, because commands read the profile, and to import pydantic takes ten times as long as Python to start.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from tacitd.clock import parse_utc
from tacitd.files.json_document import NotUnderstoodError
from tacitd.text.converter import Converter
from tacitd_handlers.profile.fields import CHOICES, CUSTOM, FIELDS, PARTS


class Stamp:
    """An ISO 8601 time with or without milliseconds (SPEC P-21)."""


class DotPath:
    """The path of a value: a text that is not empty and can be written."""


def _define_preferences() -> list[tuple[str, Any, None]]:
    """The fields of a profile without its head, all of which may be missing."""
    parts: dict[str, list[tuple[str, Any, None]]] = {part: [] for part in ("", *PARTS)}
    for path, kind in FIELDS.items():
        part, _, key = path.rpartition(".")
        made: Any = {"text": str, "list": list[str]}.get(kind) or Literal[CHOICES[path]]
        parts[part].append((key, made | None, None))
    whole = [(part, msgspec.defstruct(part, parts[part]) | None, None) for part in PARTS]
    return [*parts[""], *whole, (CUSTOM, dict[str, Any] | None, None)]


Preferences = msgspec.defstruct("Preferences", _define_preferences())
"""A profile without its head. The changelog's `changes` have the same shape."""
UserProfile = msgspec.defstruct(
    "UserProfile", [("userId", str | None, None), ("lastUpdated", Stamp | None, None)], bases=(Preferences,)
)
"""profile.json. The head may be missing in a file that a person began; tacitd fills it in (SPEC P-02 to P-04)."""


class PreferenceMeta(Struct, rename="camel"):
    """One learned path of profile-meta.json (SPEC P-09)."""

    path: DotPath
    first_seen: Stamp
    last_seen: Stamp
    confidence: Annotated[float, Meta(ge=0.0, le=1.0)]
    seen_count: Annotated[int, Meta(ge=0)]


class ProfileMetadata(Struct, rename="camel"):
    """profile-meta.json."""

    user_id: str | None = None
    last_decay: Stamp | None = None
    preferences: list[PreferenceMeta] = []


def check_document(document: dict[str, Any], model: type[Struct], what: object) -> dict[str, Any]:
    """Return the document if the model accepts it. Raises NotUnderstoodError with the place in it and the reason.

    `what` is the file, for the message. A `schemaVersion` other than the integer 1 is refused (SPEC P-03).
    """
    nothing = _null(document)
    if nothing:
        raise NotUnderstoodError(f"{what}: {nothing} is null", "remove the key")
    version = document.get("schemaVersion")
    if "schemaVersion" in document and (
        isinstance(version, bool) or not isinstance(version, int) or version != 1
    ):
        why = f"{what}: schemaVersion is {version!r}; this version supports 1 and does not change the file"
        raise NotUnderstoodError(why, "update tacitd, or move the file away")
    try:
        _CONVERTERS[model].convert(document)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `$")
        place = place.replace("[", ".").replace("]", "").strip(".`")
        said = f"{place}: {reason}" if place else reason
        raise NotUnderstoodError(f"{what}: {said}", "correct it by hand; nothing was written") from None
    except UnicodeError:
        why = f"{what}: a key has half of a surrogate pair"
        raise NotUnderstoodError(why, "correct it by hand; nothing was written") from None
    return document


def _check_text(kind: type, value: Any) -> Any:
    """Check a text that has a meaning. Raises ValueError."""
    if not isinstance(value, str):
        raise ValueError(f"Expected `str`, got `{type(value).__name__}`")
    if kind is Stamp and parse_utc(value) is None:
        raise ValueError("not an ISO 8601 time")
    if kind is DotPath and not (value and value == value.encode("utf-8", "replace").decode()):
        raise ValueError("empty, or with half of a surrogate pair")
    return kind()


_CONVERTERS = {model: Converter(model, _check_text) for model in (Preferences, UserProfile, ProfileMetadata)}


def _null(document: dict[str, Any]) -> str:
    """The first of the seed's fields that is null; "" if none is. Unknown keys and values below `custom` may be null."""
    for path in (*PARTS, CUSTOM, *FIELDS):
        *above, key = path.split(".")
        holder: Any = document
        for part in above:
            holder = holder.get(part) if isinstance(holder, dict) else None
        if isinstance(holder, dict) and key in holder and holder[key] is None:
            return path
    return ""
