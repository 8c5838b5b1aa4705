"""A finding: what the person said of themselves, leaf by leaf (SPEC P-05, P-06, P-07, S-67). Pure.

A model's answer is untrusted data. A leaf is left out if it is not a field of the seed, not of the field's kind, too long, a
secret or not printable; the other leaves count. A finding without a usable leaf is empty and not an error. Whether the person
mentioned a value belongs to `prompt_part`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from tacitd.text.redact import has_secret
from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.profile import dot_paths
from tacitd_handlers.profile.dot_paths import fold_spelling
from tacitd_handlers.profile.fields import CHOICES, FIELDS, SAYABLE_FIELDS

NO_LONGER = "noLonger"
"""The key in a finding whose partial profile names what is no longer true."""
LONGEST = 80
"""Characters of one value. A longer one is left out."""
MOST = 20
"""Elements of one array in one finding. Further ones are left out."""


class Finding(Struct, frozen=True):
    """A partial profile by path."""

    values: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    """Values by path: a string for a scalar, a sequence for an array."""
    gone: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What is no longer true: for each path the values to remove. An empty sequence removes whatever is there."""

    def __bool__(self) -> bool:
        return bool(self.values or self.gone)


def parse_finding(found: Any) -> Finding:
    """Given a finding as JSON, return its usable part; an empty one if there is none. Raises nothing."""
    if not isinstance(found, Mapping):
        return Finding()
    values: dict[str, str | tuple[str, ...]] = {}
    gone: dict[str, tuple[str, ...]] = {}
    over = found.get(NO_LONGER)
    for path in SAYABLE_FIELDS:
        if (value := _parse_value(path, _find_value(found, path))) is not None:
            values[path] = value
        named = _find_value(over, path)
        if named is True:
            gone[path] = ()
        elif elements := _parse_elements(named if isinstance(named, list) else [named]):
            gone[path] = tuple(elements)
    return Finding(values, gone)


def _find_value(found: Any, path: str) -> Any:
    """The value at a path; None if it is missing, or a value on the way is not an object."""
    for key in path.split("."):
        if not isinstance(found, Mapping):
            return None
        found = found.get(key)
    return found


def _parse_value(path: str, value: Any) -> str | tuple[str, ...] | None:
    match FIELDS[path]:
        case "list":
            return tuple(_parse_elements(value if isinstance(value, list) else [value])) or None
        case "choice":
            wanted = fold_spelling(value) if isinstance(value, str) else ""
            return wanted if wanted in CHOICES[path] else None
        case "text":
            return next(iter(_parse_elements([value])), None)


def _parse_elements(values: list[Any]) -> list[str]:
    """The values that are one printable line, not too long, and do not look like a secret."""
    lines = [sanitize_line(one) for one in values[:MOST] if isinstance(one, str)]
    return [one for one in lines if 0 < len(one) <= LONGEST and not has_secret(one)]


def as_json(what: Finding) -> dot_paths.Json:
    """Return a finding as JSON: the reverse of `parse_finding`."""
    made = dot_paths.nest_values(
        {path: value if isinstance(value, str) else list(value) for path, value in what.values.items()}
    )
    over = dot_paths.nest_values({path: list(values) or True for path, values in what.gone.items()})
    return made | ({NO_LONGER: over} if over else {})
