"""Digests in little memory behave like a dictionary."""

from __future__ import annotations

import tracemalloc
from hashlib import blake2b

from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.sources import digest_table
from tacitd.sources.dedupe import SeenPrompts
from tacitd.sources.digest_table import DigestTable

KEYS = st.integers(0, 30).map(lambda number: blake2b(bytes([number]), digest_size=16).digest())
STEPS = st.lists(st.tuples(st.sampled_from(["put", "find", "list"]), KEYS, st.binary(min_size=2, max_size=2)))


@examples(200)
@given(STEPS, st.integers(1, 6))
def test_it_is_a_dictionary(steps: list[tuple[str, bytes, bytes]], recent: int) -> None:
    """Whatever is packed when, the last value of each digest is found."""
    table, known = DigestTable(2), dict[bytes, bytes]()
    before, digest_table._RECENT = digest_table._RECENT, recent
    try:
        for what, key, value in steps:
            if what == "put":
                table.put(key, value)
                known[key] = value
            elif what == "find":
                assert table.find_value(key) == known.get(key)
            else:
                assert sorted(table) == sorted(known.items())
        assert bool(table) == bool(known)
        assert all(table.find_value(key) == value for key, value in known.items())
    finally:
        digest_table._RECENT = before


def test_a_year_of_prompts_takes_little_memory() -> None:
    """RELIABILITY "memory": 16 bytes for the id of a handled prompt, of which each handler has its own."""
    count = 50_000
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        seen = SeenPrompts()
        seen.load_keys(f"u{number}" for number in range(count))
        assert seen.has_id("u0") and seen.has_id(f"u{count - 1}") and not seen.has_id(f"u{count}")
        used = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert used < 20 * count + 100_000
