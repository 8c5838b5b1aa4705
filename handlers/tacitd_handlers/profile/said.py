"""What an answer of the model says about the person, judged leaf by leaf (SPEC P-05, P-06, S-67). Pure.

An answer is data from a stranger: what is no field of the seed, no value of its kind, too long, a secret, or not
printable is left out, and the rest counts. Nothing usable in it is an empty answer, not an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacitd.text.redact import has_secret
from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.profile import paths
from tacitd_handlers.profile.fields import CHOICES, FIELDS, SAID
from tacitd_handlers.profile.merge import Said
from tacitd_handlers.profile.paths import same

NO_LONGER = "noLonger"
"""The key in a finding under which a partial profile says what is over."""
LONGEST = 80
"""Characters of one value: a longer one is no preference."""
MOST = 20
"""Elements of one array, of one finding."""


def said(found: Any) -> Said:
    """Given a finding, return what can be used of it."""
    if not isinstance(found, Mapping):
        return Said()
    values: dict[str, str | tuple[str, ...]] = {}
    gone: dict[str, tuple[str, ...]] = {}
    for path in SAID:
        if (value := _value(path, _at(found, path))) is not None:
            values[path] = value
    over = found.get(NO_LONGER)
    for path in SAID:
        named = _at(over, path) if isinstance(over, Mapping) else None
        if named is True:
            gone[path] = ()
        elif elements := _elements(named if isinstance(named, list) else [named]):
            gone[path] = tuple(elements)
    return Said(values, gone)


def _at(found: Any, path: str) -> Any:
    """The value at a path; None also where a list stands in the way."""
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
            wanted = same(value) if isinstance(value, str) else ""
            return wanted if wanted in CHOICES[path] else None
        case "text":
            return next(iter(_elements([value])), None)


def _elements(values: list[Any]) -> list[str]:
    made = (_text(one) for one in values[:MOST])
    return [one for one in made if one]


def _text(value: Any) -> str:
    """One line of printable text; "" for what is none, too long, or looks like a secret."""
    if not isinstance(value, str):
        return ""
    text = sanitize_line(value)
    return text if 0 < len(text) <= LONGEST and not has_secret(text) else ""


def as_partial(what: Said) -> paths.Json:
    """The reverse of `said`: a finding as JSON."""
    made = paths.nested(
        {path: value if isinstance(value, str) else list(value) for path, value in what.values.items()}
    )
    over = paths.nested({path: list(values) or True for path, values in what.gone.items()})
    return made | ({NO_LONGER: over} if over else {})
