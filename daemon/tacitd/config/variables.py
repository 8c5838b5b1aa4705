"""Settings from environment variables: `TACITD_SESSION__IDLE=10m` becomes what `[session]` `idle = "10m"` is in config.toml.

Names are case-insensitive. A value is text, and the settings' models convert it; a list, a table or a whole section may be
JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

LEVEL = "__"
"""What is between the names of two levels."""


def read_variables(environ: Mapping[str, str], prefix: str, model: type[BaseModel]) -> dict[str, Any]:
    """Given the environment, return the values of a model's fields as a table. Variables of other names are left out.

    `prefix` is in capitals. A variable of a single setting counts more than one of its whole section.
    """
    named = {
        name[len(prefix) :].lower(): value
        for name, value in environ.items()
        if name.upper().startswith(prefix)
    }
    found: dict[str, Any] = {}
    for name in sorted(named, key=lambda name: name.count(LEVEL)):
        *levels, last = name.split(LEVEL)
        if (levels or [last])[0] not in model.model_fields:
            continue
        table, kind = found, model
        for level in levels:
            kind = _kind_below(kind, level)
            table = table.setdefault(level, {})
            if not isinstance(table, dict):  # it is a value of its own, which the model refuses
                break
        else:
            value = _decode_value(named[name], _kind_below(kind, last))
            if levels or value is not None:  # a section that is `null` is not given
                table[last] = value
    return found


def merge_tables(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Both tables in one; where both have a value that is not a table, `over` counts."""
    merged = dict(under)
    for name, value in over.items():
        below = merged.get(name)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            value = merge_tables(below, value)
        merged[name] = value
    return merged


def _kind_below(kind: Any, name: str) -> Any:
    """Given an annotation, return that of its field or key with this name; None if it has none."""
    for each in _alternatives(kind):
        origin = get_origin(each) or each
        if not isinstance(origin, type):  # such as a Literal
            continue
        if issubclass(origin, BaseModel):
            if name in origin.model_fields:
                return origin.model_fields[name].annotation
        elif issubclass(origin, Mapping) and get_args(each):
            return get_args(each)[-1]
    return None


def _decode_value(text: str, kind: Any) -> Any:
    """The value of JSON if the setting may be a list, a table or a section; otherwise, and if it is no JSON, the text."""
    wanted = (BaseModel, Mapping, Sequence, Set)
    for each in _alternatives(kind):
        origin = get_origin(each) or each
        if isinstance(origin, type) and issubclass(origin, wanted) and not issubclass(origin, str | bytes):
            try:
                return json.loads(text)
            except (ValueError, RecursionError):
                return text
    return text


def _alternatives(kind: Any) -> list[Any]:
    if get_origin(kind) is Annotated:
        return _alternatives(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return [each for one in get_args(kind) for each in _alternatives(one)]
    return [kind]
