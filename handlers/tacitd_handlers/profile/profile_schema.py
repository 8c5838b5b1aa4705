"""What the files of seed 001 may contain (SPEC P-05, P-09, P-18): strict, with unknown keys allowed.

A document is only checked. What is written is the document itself, so that nothing in it is lost or reordered. Without pydantic,
because commands read the profile, and its import takes ten times as long as Python takes to start.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from tacitd.clock import parse_utc
from tacitd.files.json_document import NotUnderstoodError
from tacitd_handlers.profile.fields import CHOICES, CUSTOM, FIELDS, PARTS

Wrong = tuple[tuple[str, ...], str]
"""What is wrong with a value: the place in it, from the outside in, and the reason."""
Check = Callable[[Any], Wrong | None]
_HALF = "has half of a surrogate pair"


def _check_text(value: Any) -> Wrong | None:
    return None if isinstance(value, str) else ((), "Input should be a valid string")


def _is_whole(text: str) -> bool:
    """Whether no half of a surrogate pair stands alone in it."""
    return text.isascii() or text == text.encode("utf-8", "replace").decode()


def _check_path(value: Any) -> Wrong | None:
    if value == "":
        return (), "String should have at least 1 character"
    if isinstance(value, str) and not _is_whole(value):
        return (), f"the text {_HALF}"
    return _check_text(value)


def _check_time(value: Any) -> Wrong | None:
    """An ISO 8601 time with or without milliseconds (SPEC P-21)."""
    wrong = _check_text(value)
    return wrong if wrong or parse_utc(value) is not None else ((), "not an ISO 8601 time")


def _check_count(value: Any) -> Wrong | None:
    if not isinstance(value, int) or isinstance(value, bool):
        return (), "Input should be a valid integer"
    return None if value >= 0 else ((), "Input should be greater than or equal to 0")


def _check_share(value: Any) -> Wrong | None:
    """A number from 0 to 1."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return (), "Input should be a valid number"
    if not value >= 0:
        return (), "Input should be greater than or equal to 0"
    return None if value <= 1 else ((), "Input should be less than or equal to 1")


def _one_of(*texts: str) -> Check:
    *first, last = map(repr, texts)
    reason = f"Input should be {', '.join(first)} or {last}"
    return lambda value: None if isinstance(value, str) and value in texts else ((), reason)


def _optional(check: Check) -> Check:
    return lambda value: None if value is None else check(value)


def _list_of(check: Check) -> Check:
    def check_list(value: Any) -> Wrong | None:
        if not isinstance(value, list):
            return (), "Input should be a valid list"
        for number, one in enumerate(value):
            if wrong := check(one):
                return (str(number), *wrong[0]), wrong[1]
        return None

    return check_list


def _object_of(checks: Mapping[str, Check], required: Collection[str] = ()) -> Check:
    """An object with these keys, and with others that are text."""

    def check_object(value: Any) -> Wrong | None:
        if not isinstance(value, dict):
            return (), "Input should be a valid dictionary"
        if not all(map(_is_whole, value)):
            return (), f"a key {_HALF}"
        for key, check in checks.items():
            if key not in value and key in required:
                return (key,), "Field required"
            if key in value and (wrong := check(value[key])):
                return (key, *wrong[0]), wrong[1]
        return None

    return check_object


def _check_custom(value: Any) -> Wrong | None:
    return None if isinstance(value, dict) else ((), "Input should be a valid dictionary")


def _describe_preferences() -> dict[str, Check]:
    """The fields of a profile without its head, and its part `custom`."""
    kinds: dict[str, Check] = {"text": _check_text, "list": _list_of(_check_text)}
    parts: dict[str, dict[str, Check]] = {part: {} for part in PARTS}
    made: dict[str, Check] = {}
    for path, kind in FIELDS.items():
        part, _, key = path.rpartition(".")
        check = _optional(_one_of(*CHOICES[path]) if kind == "choice" else kinds[kind])
        if part:
            parts[part][key] = check
            made.setdefault(part, _optional(_object_of(parts[part])))
        else:
            made[key] = check
    return made | {CUSTOM: _optional(_check_custom)}


PREFERENCES = _object_of(_describe_preferences())
"""A profile without its head. The changelog's `changes` have the same shape."""
USER_PROFILE = _object_of(
    _describe_preferences() | {"userId": _optional(_check_text), "lastUpdated": _optional(_check_time)}
)
"""profile.json. The head may be missing in a file that a person began; tacitd fills it in (SPEC P-02 to P-04)."""
_LEARNED_PATH: Mapping[str, Check] = {
    "path": _check_path,
    "firstSeen": _check_time,
    "lastSeen": _check_time,
    "confidence": _check_share,
    "seenCount": _check_count,
}
"""One learned path of profile-meta.json (SPEC P-09)."""
PROFILE_METADATA = _object_of(
    {
        "userId": _optional(_check_text),
        "lastDecay": _optional(_check_time),
        "preferences": _list_of(_object_of(_LEARNED_PATH, required=_LEARNED_PATH)),
    }
)
"""profile-meta.json."""


def check_document(document: dict[str, Any], check: Check, what: object) -> dict[str, Any]:
    """Return the document if it passes the check. Raises NotUnderstoodError with the place in it and the reason.

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
    if wrong := check(document):
        place, reason = ".".join(wrong[0]), wrong[1]
        said = f"{place}: {reason}" if place else reason
        raise NotUnderstoodError(f"{what}: {said}", "correct it by hand; nothing was written")
    return document


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
