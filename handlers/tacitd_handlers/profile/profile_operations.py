"""Changes of a profile as data: they can be stored, and applying them twice, or to a newer copy, does no harm. Pure.

An operation is a JSON object:
- `{"op": "put", "path", "value"}` sets a value;
- `{"op": "union", "path", "values"}` adds values to an array;
- `{"op": "take", "path", "values"}` removes values from an array, and the path if the array is empty then;
- `{"op": "drop", "path"}` removes a path.

Which operations a change needs belongs to `merge` and `profile_changes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tacitd_handlers.profile import dot_paths
from tacitd_handlers.profile.dot_paths import Json, fold_spelling

Op = Mapping[str, Any]


def apply_ops(document: Json, ops: Iterable[Op]) -> Json:
    """Return a copy with the operations applied in order. Applying them again changes nothing.

    Raises ValueError for an unknown operation, or if a path leads below a leaf.
    """
    for op in ops:
        document = _apply(document, op)
    return document


def _apply(document: Json, op: Op) -> Json:
    path = str(op["path"])
    match op["op"]:
        case "put":
            return dot_paths.put_value(document, path, op["value"])
        case "drop":
            return dot_paths.drop_value(document, path)
        case "union":
            return dot_paths.put_value(document, path, union_values(_array(document, path), op["values"]))
        case "take":
            left = subtract_values(_array(document, path), op["values"])
            return dot_paths.put_value(document, path, left) if left else dot_paths.drop_value(document, path)
        case other:
            raise ValueError(f"{other!r} is not an operation")


def _array(document: Json, path: str) -> list[Any]:
    found = dot_paths.get_value(document, path)
    return found if isinstance(found, list) else []


def union_values(have: Sequence[Any], more: Sequence[Any]) -> list[Any]:
    """Return both arrays as one, in first-seen order. Texts that differ only in case and spaces are one (SPEC P-07)."""
    made, known = list(have), {_key(one) for one in have}
    for one in more:
        if _key(one) not in known:
            known.add(_key(one))
            made.append(one)
    return made


def subtract_values(have: Sequence[Any], gone: Sequence[Any]) -> list[Any]:
    """Return an array without these values. Case and spaces do not count."""
    out = {_key(one) for one in gone}
    return [one for one in have if _key(one) not in out]


def _key(one: Any) -> str:
    return fold_spelling(one) if isinstance(one, str) else repr(one)
