"""Settings from environment variables."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel

from tacitd.config.variables import merge_tables, read_variables


class Inner(BaseModel):
    number: int = 1
    names: tuple[str, ...] = ()


class Outer(BaseModel):
    inner: Inner = Inner()
    perhaps: Inner | None = None
    counts: dict[str, int] = {}
    text: str = ""
    number: int | None = None
    kind: Literal["a", "b"] | None = None


class Whole(BaseModel):
    outer: Outer = Outer()
    names: tuple[str, ...] = ()


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"X_OUTER__TEXT": "[1]", "x_outer__number": "5"}, {"outer": {"text": "[1]", "number": "5"}}),
        ({"X_OUTER__INNER__NAMES": '["a"]'}, {"outer": {"inner": {"names": ["a"]}}}),
        (
            {"X_OUTER__INNER__NAMES": "a,b", "X_NAMES": "[c"},
            {"outer": {"inner": {"names": "a,b"}}, "names": "[c"},
        ),
        ({"X_OUTER__PERHAPS__NUMBER": "7"}, {"outer": {"perhaps": {"number": "7"}}}),
        ({"X_OUTER__PERHAPS": '{"number": 7}'}, {"outer": {"perhaps": {"number": 7}}}),
        ({"X_OUTER__COUNTS__K": "3"}, {"outer": {"counts": {"k": "3"}}}),
        (
            {"X_OUTER__NUMBER": "1", "X_OUTER": '{"text": "t", "number": 2}'},
            {"outer": {"text": "t", "number": "1"}},
        ),
        ({"X_OUTER": "words", "X_OUTER__NUMBER": "1"}, {"outer": "words"}),
        ({"X_OUTER": "null", "X_OUTER__NUMBER": "null"}, {"outer": {"number": "null"}}),
        ({"X_OUTER__UNKNOWN": "1"}, {"outer": {"unknown": "1"}}),
        ({"X_OUTER__KIND__MORE": "1"}, {"outer": {"kind": {"more": "1"}}}),
        ({"X_OUTER__NAMES__MORE": "1", "X_OUTER__": "2"}, {"outer": {"names": {"more": "1"}, "": "2"}}),
        ({"X_NAMES": "[" * 100_000}, {"names": "[" * 100_000}),
        ({"X_OTHER__NUMBER": "1", "X_": "", "Y_OUTER": "1", "OUTER": "2"}, {}),
    ],
)
def test_variables_are_a_table(environ: dict[str, str], expected: dict[str, Any]) -> None:
    """Text where the model converts text, JSON where it may; the order of the variables does not matter."""
    assert read_variables(environ, "X_", Whole) == expected
    assert read_variables(dict(reversed(environ.items())), "X_", Whole) == expected


def test_tables_are_merged() -> None:
    """A variable replaces one setting of the file, and leaves the others."""
    under = {"a": {"b": 1, "c": {"d": 2}}, "e": [3], "f": 4}
    merged = merge_tables(under, {"a": {"c": {"g": 5}}, "e": [6], "f": {"h": 7}})
    assert merged == {"a": {"b": 1, "c": {"d": 2, "g": 5}}, "e": [6], "f": {"h": 7}}
    assert under == {"a": {"b": 1, "c": {"d": 2}}, "e": [3], "f": 4}
