"""The handled prompts in a file of their own."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from tacitd.consumers.handled_prompts import HANDLED, load_handled, write_handled
from tacitd.events import Prompt
from tacitd.sources.dedupe import SeenPrompts


def prompt(number: int) -> Prompt:
    return Prompt("typed", f"words {number}", "s", f"u{number}", 5.0 + number, "/w")


@pytest.mark.undated
def test_what_was_written_is_known_again_and_can_grow(tmp_path: Path) -> None:
    """Ids and texts, also after prompts were added to those of the file, and after it was written again."""
    path, seen = tmp_path / HANDLED, SeenPrompts()
    assert not load_handled(path, seen)
    for part in range(3):
        for number in range(part * 5000, (part + 1) * 5000):
            seen.add_prompt(prompt(number))
        keys = set(seen.dump_keys())
        write_handled(path, seen)
        again = SeenPrompts()
        assert load_handled(path, again)
        assert set(again.dump_keys()) == set(seen.dump_keys()) == keys
        assert all(one.has_id(f"u{number}") for one in (seen, again) for number in range((part + 1) * 5000))
        assert not again.has_id("u20000") and path.stat().st_mode & 0o777 == 0o600


def test_a_later_time_of_a_text_counts(tmp_path: Path) -> None:
    """A text that was said again is compared with the last time, in memory as in the file."""
    seen = SeenPrompts()
    seen.add_prompt(Prompt("typed", "yes", "s", "", 1000.0, "/w"))
    write_handled(tmp_path / HANDLED, seen)
    later = Prompt("typed", "yes", "s", "", 9000.0, "/w")
    assert not seen.has_prompt(Prompt("typed", "yes", "s", "u1", 9000.0, "/w"))
    seen.add_prompt(later)
    assert seen.has_prompt(Prompt("typed", "yes", "s", "u1", 9000.0, "/w"))
    write_handled(tmp_path / HANDLED, seen)
    assert seen.has_prompt(Prompt("typed", "yes", "s", "u1", 9000.0, "/w"))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: b"{}\n" + data,
        lambda data: b"x",
        lambda data: data.replace(b'"form": 1,', b'"form": 2,'),
        lambda data: b'{"form":1,"tables":{"id":7}}\n',
        lambda data: b'{"form":1,"tables":{"id":[0,1e999]}}\n',
        lambda data: b'{"form":1,"tables":{"id":[0,-8],"bare":[8,8]}}\n',
    ],
)
def test_a_damaged_file_is_not_used(tmp_path: Path, spoil: Callable[[bytes], bytes]) -> None:
    """Digests at wrong places would make prompts unknown, so the file counts as unreadable."""
    path, seen = tmp_path / HANDLED, SeenPrompts()
    seen.add_prompt(prompt(1))
    write_handled(path, seen)
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(ValueError):
        load_handled(path, SeenPrompts())


@pytest.mark.undated
def test_the_prompts_of_years_take_no_memory(tmp_path: Path) -> None:
    """RELIABILITY "memory": the file is mapped, and a lookup reads a few of its pages."""
    seen = SeenPrompts()
    seen.load_keys(f"u{number}" for number in range(200_000))
    write_handled(tmp_path / HANDLED, seen)
    tracemalloc.start()
    try:
        again = SeenPrompts()
        load_handled(tmp_path / HANDLED, again)
        assert all(again.has_id(f"u{number}") for number in range(0, 200_000, 1000))
        used = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert used < 50_000
