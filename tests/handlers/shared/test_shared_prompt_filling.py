"""Prompts are filled in one pass, and their data cannot close its fence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd_handlers.shared.model_text import PromptError, fence_text, fill_template


def test_fill_refuses_what_does_not_fit() -> None:
    """S-01: a superfluous value is an error."""
    with pytest.raises(PromptError):
        fill_template("{a} and {b}", {"a": "1", "b": "2", "c": "3"})


def test_fill_does_not_look_into_values() -> None:
    """S-67: braces in data are not placeholders."""
    assert fill_template("{a}|{b}", {"a": "{b} {0} {", "b": "}"}) == "{b} {0} {|}"
    assert fill_template("{a} {folder}", {"a": "x"}) == "x {folder}"


@given(st.text(alphabet="`~a\n{}", max_size=60))
@examples(80)
def test_data_cannot_close_its_fence(data: str) -> None:
    """S-67: the fence is longer than any run of backticks in the data, so that no line of it closes the fence."""
    bar, *inner, last = fence_text(data).split("\n")
    assert bar == last and set(bar) == {"`"} and len(bar) >= 3
    assert all(bar not in line for line in inner)
    assert "\n".join(inner) == data
