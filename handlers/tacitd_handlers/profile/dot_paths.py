"""Dot paths into a profile (SPEC P-10): a leaf is anything that is not an object; an array is one leaf. Pure.

A key may contain a dot itself (`custom` takes any keys), so a path is resolved through the existing keys. A path may
also lead to one element of an array, by its text or its number, because other programs wrote such paths.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from tacitd_handlers.profile.fields import HEAD_FIELDS

Json = dict[str, Any]


class PathTarget(Struct, frozen=True):
    """The location that a path leads to."""

    keys: tuple[str, ...]
    element: int | None = None
    """The index in the array, if the path leads to an element; otherwise None."""


def list_leaves(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return every leaf by its path, in the document's order, without the head (`fields.HEAD`)."""
    return {path: value for path, value in _leaves(document, "") if path not in HEAD_FIELDS}


def _leaves(part: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in part.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def find_target(document: Mapping[str, Any], path: str) -> PathTarget | None:
    """Return where the path leads in this document; None if nothing is there."""
    return _find(document, path.split("."), ())


def _find(part: Any, left: Sequence[str], done: tuple[str, ...]) -> PathTarget | None:
    if not left:
        return PathTarget(done)
    if isinstance(part, list):
        index = element_of(part, ".".join(left))
        return None if index is None else PathTarget(done, index)
    if not isinstance(part, dict):
        return None
    # A key may contain dots, so try the next part, then the next two, and so on.
    for count in range(1, len(left) + 1):
        key = ".".join(left[:count])
        if key in part and (found := _find(part[key], left[count:], (*done, key))) is not None:
            return found
    return None


def element_of(array: Sequence[Any], named: str) -> int | None:
    """Return the index of the element with this text, otherwise the text as an index; None if there is neither."""
    wanted = fold_spelling(named)
    by_text = next(
        (i for i, one in enumerate(array) if isinstance(one, str) and fold_spelling(one) == wanted), None
    )
    if by_text is not None:
        return by_text
    return int(named) if named.isdecimal() and int(named) < len(array) else None


def get_value(document: Mapping[str, Any], path: str) -> Any:
    """Return the value at the path; None if nothing is there."""
    place = find_target(document, path)
    if place is None:
        return None
    at: Any = document
    for key in place.keys:
        at = at[key]
    return at if place.element is None else at[place.element]


def put_value(document: Json, path: str, value: Any) -> Json:
    """Return a copy with this value at the path. Missing objects on the way are created; other parts are shared.

    Raises ValueError if a value on the way is not an object.
    """
    place = find_target(document, path)
    keys = place.keys if place is not None and place.element is None else tuple(path.split("."))
    made = at = dict(document)
    for key in keys[:-1]:
        below = at.get(key, {})
        if not isinstance(below, dict):
            raise ValueError(f"{key} is not an object")
        at[key] = at = dict(below)
    at[keys[-1]] = value
    return made


def drop_value(document: Json, path: str) -> Json:
    """Return a copy without the value at the path. Objects and arrays that become empty are removed too (SPEC P-10)."""
    place = find_target(document, path)
    return document if place is None else _without(document, place.keys, place.element)


def _without(part: Json, keys: tuple[str, ...], element: int | None) -> Json:
    key, *rest = keys
    made = dict(part)
    left: Json | list[Any] | None = None
    if rest:
        left = _without(part[key], tuple(rest), element)
    elif element is not None:
        left = [one for i, one in enumerate(part[key]) if i != element]
    if left:
        made[key] = left
    else:
        del made[key]
    return made


def nest_values(values: Mapping[str, Any]) -> Json:
    """Return leaves by path as a nested document: the changelog's `changes`."""
    made: Json = {}
    for path, value in values.items():
        made = put_value(made, path, value)
    return made


def fold_spelling(text: str) -> str:
    """Return a text folded for comparison: case and runs of white space do not count (SPEC P-07)."""
    return " ".join(text.split()).casefold()
