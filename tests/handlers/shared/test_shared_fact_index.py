"""The index of known lines: the same answers as comparing with every line, in a fraction of the time."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support_examples import examples
from tacitd_handlers.shared.equality import find_equal, is_reversal
from tacitd_handlers.shared.fact_index import FactIndex

VOCABULARY = (
    "use uses avoid never not don't prefer pnpm npm tabs user users formatting formating fromatting formattted "
    "over instead of rather than should 2 3 the a ... - 日本語"
)
WORDS = st.sampled_from(VOCABULARY.split())
LINES = st.lists(WORDS, max_size=5).map(" ".join)


@given(st.lists(LINES, max_size=12), LINES)
@example(["Use formatting", "use fromatting"], "use formating")
@example(["use npm over pnpm", "use pnpm over npm"], "use pnpm, not npm")
@example(["", "...", "-"], "")
@examples(400)
def test_the_index_answers_as_a_comparison_with_every_line(texts: list[str], fact: str) -> None:
    """S-26: the first line that says the same, and the first that says the contrary."""
    index = FactIndex(texts)
    assert list(index) == texts
    assert index.find_equal(fact) == find_equal(fact, texts)
    assert index.find_reversal(fact) == next((text for text in texts if is_reversal(fact, text)), None)


@given(st.lists(LINES, min_size=1, max_size=8), LINES, LINES, st.data())
@examples(150)
def test_a_replaced_line_is_found_at_its_place(
    texts: list[str], new: str, fact: str, data: st.DataObject
) -> None:
    old = data.draw(st.sampled_from(texts))
    index, left = FactIndex(texts), list(texts)
    index.replace(old, new)
    left[left.index(old)] = new
    assert (list(index), index.find_equal(fact)) == (left, find_equal(fact, left))
    index.replace(new, None)
    left.remove(new)
    assert (list(index), index.find_equal(fact)) == (left, find_equal(fact, left))
    with pytest.raises(ValueError, match="no line"):
        index.replace("a line that is not there", None)
