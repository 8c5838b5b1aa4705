"""Validation of a finding, leaf by leaf (SPEC P-05, P-06, S-67). Pure.

A model's answer is untrusted data. A leaf is left out if it is not a field of the seed, not of the field's kind, too
long, a secret or not printable; the other leaves count. A finding without a usable leaf is empty and not an error.
Whether a value was mentioned by the person belongs to `profile_extension`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacitd.text.redact import has_secret
from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.profile import dot_paths
from tacitd_handlers.profile.dot_paths import fold_spelling
from tacitd_handlers.profile.fields import CHOICES, FIELDS, SAYABLE_FIELDS
from tacitd_handlers.profile.merge import PartialProfile

NO_LONGER = "noLonger"
"""The key in a finding whose partial profile names what is no longer true."""
LONGEST = 80
"""Characters of one value. A longer one is left out."""
MOST = 20
"""Elements of one array in one finding. Further ones are left out."""


def parse_finding(found: Any) -> PartialProfile:
    """Given a finding as JSON, return its usable part; an empty one if there is none. Raises nothing."""
    if not isinstance(found, Mapping):
        return PartialProfile()
    values: dict[str, str | tuple[str, ...]] = {}
    gone: dict[str, tuple[str, ...]] = {}
    for path in SAYABLE_FIELDS:
        if (value := _value(path, _at(found, path))) is not None:
            values[path] = value
    over = found.get(NO_LONGER)
    for path in SAYABLE_FIELDS:
        named = _at(over, path) if isinstance(over, Mapping) else None
        if named is True:
            gone[path] = ()
        elif elements := _elements(named if isinstance(named, list) else [named]):
            gone[path] = tuple(elements)
    return PartialProfile(values, gone)


def _at(found: Any, path: str) -> Any:
    """The value at a path; None if it is missing, or a value on the way is not an object."""
    for key in path.split("."):
        if not isinstance(found, Mapping):
            return None
        found = found.get(key)
    return found


def _value(path: str, value: Any) -> str | tuple[str, ...] | None:
    match FIELDS[path]:
        case "list":
            elements = _elements(value if isinstance(value, list) else [value])
            return tuple(elements) or None
        case "choice":
            wanted = fold_spelling(value) if isinstance(value, str) else ""
            return wanted if wanted in CHOICES[path] else None
        case "text":
            return next(iter(_elements([value])), None)


def _elements(values: list[Any]) -> list[str]:
    made = (_text(one) for one in values[:MOST])
    return [one for one in made if one]


def _text(value: Any) -> str:
    """A value as one line of printable text; "" if it is not a text, too long, or looks like a secret."""
    if not isinstance(value, str):
        return ""
    text = sanitize_line(value)
    return text if 0 < len(text) <= LONGEST and not has_secret(text) else ""


def as_partial(what: PartialProfile) -> dot_paths.Json:
    """Return a finding as JSON: the reverse of `parse_finding`."""
    made = dot_paths.nest_values(
        {path: value if isinstance(value, str) else list(value) for path, value in what.values.items()}
    )
    over = dot_paths.nest_values({path: list(values) or True for path, values in what.gone.items()})
    return made | ({NO_LONGER: over} if over else {})
