"""The changes that can be made to a profile, as data: they can be written down, done twice, and done on a fresh copy. Pure.

An operation is a JSON object: `{"op": "put", "path", "value"}`, `{"op": "union", "path", "values"}`,
`{"op": "take", "path", "values"}` (elements out of an array), `{"op": "drop", "path"}`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tacitd_handlers.profile import paths
from tacitd_handlers.profile.paths import Json, same

Op = Mapping[str, Any]


def apply(document: Json, ops: Iterable[Op]) -> Json:
    """A copy with the operations done in order. Doing them again changes nothing."""
    for op in ops:
        document = _apply(document, op)
    return document


def _apply(document: Json, op: Op) -> Json:
    path = str(op["path"])
    match op["op"]:
        case "put":
            return paths.put(document, path, op["value"])
        case "drop":
            return paths.drop(document, path)
        case "union":
            return paths.put(document, path, union(_array(document, path), op["values"]))
        case "take":
            left = without(_array(document, path), op["values"])
            return paths.put(document, path, left) if left else paths.drop(document, path)
        case other:
            raise ValueError(f"{other!r} is no operation")


def _array(document: Json, path: str) -> list[Any]:
    found = paths.get(document, path)
    return found if isinstance(found, list) else []


def union(have: Sequence[Any], more: Sequence[Any]) -> list[Any]:
    """First-seen order; the same but for case and spaces is one (SPEC P-07)."""
    made, known = list(have), {_key(one) for one in have}
    for one in more:
        if _key(one) not in known:
            known.add(_key(one))
            made.append(one)
    return made


def without(have: Sequence[Any], gone: Sequence[Any]) -> list[Any]:
    """What is left of an array."""
    out = {_key(one) for one in gone}
    return [one for one in have if _key(one) not in out]


def done(document: Json, op: Op) -> bool:
    """Whether the document says already what the operation would make it say."""
    return apply(document, [op]) == document


def _key(one: Any) -> str:
    return same(one) if isinstance(one, str) else repr(one)
