"""Positions and their marks."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.sources.claude_code.transcripts import ClaudeCode
from tacitd.sources.lines import Position, find_baseline
from tacitd.sources.transcript import Tail


def holds(path: Path, position: Position) -> bool:
    """Whether a transcript is read on from this position, not again from 0."""
    return not Tail(path, position.offset, ClaudeCode(path), mark=position.crc).read_next_slice().shrunk


@examples(40)
@given(st.binary(max_size=300), st.integers(0, 40), st.integers(0, 200_000) | st.integers(3700, 4200))
def test_baseline_stands_after_the_last_newline(
    tmp_path_factory: object, head: bytes, times: int, tail: int
) -> None:
    """DESIGN "Sources", first start: existing lines count as read; a torn line does not."""
    path = Path(tmp_path_factory.mktemp("b")) / "x.jsonl"  # type: ignore[attr-defined]
    content = head * times + b"x" * tail
    path.write_bytes(content)
    assert find_baseline(path).offset == content.rfind(b"\n") + 1
    assert holds(path, find_baseline(path))


def test_baseline_of_an_empty_file(tmp_path: Path) -> None:
    """CLAUDE_CODE section 13: empty files occur (2.0.76)."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"")
    assert find_baseline(path) == Position(0, 0)
