"""Dot paths into a profile (SPEC P-10): a leaf is anything that is no object, an array as a whole. Pure.

A key may hold a dot of its own (`custom` holds anything), so a path is followed through the keys that are there. A path
may also lead to one element of an array, by its text or its number: other programs wrote such paths.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacitd_handlers.profile.fields import HEAD

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path leads."""

    keys: tuple[str, ...]
    element: int | None = None
    """The number of the array's element, where the path leads into one."""


def leaves(document: Mapping[str, Any]) -> dict[str, Any]:
    """Every leaf by its path, in the document's order; what says whose it is left out."""
    return {path: value for path, value in _leaves(document, "") if path not in HEAD}


def _leaves(part: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in part.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def find(document: Mapping[str, Any], path: str) -> Place | None:
    """Where the path leads in this document; None where nothing is there."""
    return _find(document, path.split("."), ())


def _find(part: Any, left: Sequence[str], done: tuple[str, ...]) -> Place | None:
    if not left:
        return Place(done)
    if isinstance(part, list):
        index = element_of(part, ".".join(left))
        return None if index is None else Place(done, index)
    if not isinstance(part, dict):
        return None
    for count in range(1, len(left) + 1):
        key = ".".join(left[:count])
        if key in part and (found := _find(part[key], left[count:], (*done, key))) is not None:
            return found
    return None


def element_of(array: Sequence[Any], named: str) -> int | None:
    """The element with this text, else with this number; None where there is none."""
    wanted = same(named)
    by_text = next((i for i, one in enumerate(array) if isinstance(one, str) and same(one) == wanted), None)
    if by_text is not None:
        return by_text
    return int(named) if named.isdecimal() and int(named) < len(array) else None


def get(document: Mapping[str, Any], path: str) -> Any:
    """The value that the path leads to; None where nothing is there."""
    place = find(document, path)
    if place is None:
        return None
    at: Any = document
    for key in place.keys:
        at = at[key]
    return at if place.element is None else at[place.element]


def put(document: Json, path: str, value: Any) -> Json:
    """A copy of the document with this value at the path; objects on the way are made. What is not on the way is shared.

    Raises ValueError where something that is no object is in the way.
    """
    place = find(document, path)
    keys = place.keys if place is not None and place.element is None else tuple(path.split("."))
    made = at = dict(document)
    for key in keys[:-1]:
        below = at.get(key, {})
        if not isinstance(below, dict):
            raise ValueError(f"{key} is no object")
        at[key] = at = dict(below)
    at[keys[-1]] = value
    return made


def drop(document: Json, path: str) -> Json:
    """A copy without what the path leads to; objects and arrays that become empty by it go with it."""
    place = find(document, path)
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


def nested(values: Mapping[str, Any]) -> Json:
    """Leaves by path as a document: what a changelog calls `changes`."""
    made: Json = {}
    for path, value in values.items():
        made = put(made, path, value)
    return made


def same(text: str) -> str:
    """What two spellings of one thing have in common (SPEC P-07)."""
    return " ".join(text.split()).casefold()
