"""Patterns that are compiled at their first use."""

from __future__ import annotations

import copy
import re
import subprocess
import sys

import pytest

from tacitd.text.lazy_pattern import compile_lazily


def test_it_does_what_the_compiled_pattern_does() -> None:
    lazy, compiled = (
        compile_lazily(r"(?P<word>b+)", re.IGNORECASE),
        re.compile(r"(?P<word>b+)", re.IGNORECASE),
    )
    text = "abBba b"
    assert [found.span() for found in lazy.finditer(text)] == [
        found.span() for found in compiled.finditer(text)
    ]
    assert lazy.sub("-", text) == compiled.sub("-", text) == "a-a -"
    assert lazy.split(text) == compiled.split(text)
    assert (lazy.pattern, lazy.flags) == (compiled.pattern, compiled.flags)
    assert lazy.fullmatch("BB") is not None
    assert lazy.match(text) is None
    assert copy.copy(lazy).findall(text) == ["bBb", "b"]


def test_a_wrong_pattern_is_an_error_at_the_first_use() -> None:
    with pytest.raises(re.error):
        compile_lazily("(").search("")


def test_importing_the_search_for_secrets_compiles_none_of_its_patterns() -> None:
    code = "import re; r = re.compile; n = []; re.compile = lambda *a: n.append(a) or r(*a); import tacitd.text.redact; print(len(n))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(said.stdout) <= 3, said.stdout
