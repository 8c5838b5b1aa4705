"""Mirrors take the same time for each character of any source, so that a LEARNED.md of 1 MB holds nothing up."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tacitd.files.operations import TakeLine, apply_all
from tacitd_handlers.learning.mirrors.mirror_edits import find_edit, find_lost_line
from tacitd_handlers.learning.mirrors.mirror_text import map_shown_bullets, render_mirror
from tacitd_handlers.learning.mirrors.mirror_units import parse_source

pytestmark = pytest.mark.undated


HOSTILE = [
    "- ab\n",
    "- number {} of many\n",
    "- a `{}` @x `\n",
    "- a <!-- {}\n",
    "<!-- {}\n",
    "## H {}\n",
    "```\n",
    "```` {}\n```\n",
    "- ```\n",
    "> q\n===\n",
    "===\n",
    "  x {}\n",
    " {}",
    "{}",
]


def measure(work: Callable[[str], object], part: str, size: int) -> float:
    """The seconds of processor time for a source of this size, made of these parts."""
    text = "- a" + "".join(part.replace("{}", str(n)) for n in range(size // len(part))) + " b\n- end\n"
    best = float("inf")
    for _ in range(2):
        start = time.thread_time()
        work(text)
        best = min(best, time.thread_time() - start)
    return best


def mirror(text: str) -> str:
    """The mirror of a source."""
    parts = parse_source(text.encode())
    map_shown_bullets(parts)
    return render_mirror(parts, lambda words: words != "end", source="LEARNED.md", title="T")


def edit(text: str) -> None:
    """A person put a whole text into a mirror, and took a line out."""
    written = mirror(text)
    now = written.replace("- a", "- changed", 1) + text
    find_lost_line([written], now, find_edit([written], now, title="T"), now)


@pytest.mark.parametrize("part", [*HOSTILE, " " * 50])
@pytest.mark.parametrize("work", [mirror, edit])
def test_any_source_takes_linear_time(work: Callable[[str], object], part: str) -> None:
    """A text eight times as long may take eight times as long, not sixty-four times. A mirror itself has a limit."""
    mirror("- a\n")
    assert measure(work, part, 16_000) < 24 * measure(work, part, 2_000) + 0.05


def test_a_section_is_deleted_in_one_pass() -> None:
    """Hundreds of lines that a person deletes in a mirror: the source is not parsed for each of them."""

    def delete(count: int) -> float:
        lines = [f"number {n} of many" for n in range(600)]
        data = "".join(f"- {line}\n" for line in lines).encode()
        start = time.thread_time()
        after, effects = apply_all([TakeLine(Path("/p/LEARNED.md"), line) for line in lines[:count]], data)
        assert after is not None and after.count(b"\n") == 600 - count
        assert all(one.did == "taken" for one in effects)
        return time.thread_time() - start

    assert delete(300) < 8 * delete(1) + 0.1
