"""Positions and their marks."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.sources.claude_code.transcripts import ClaudeCode
from tacitd.sources.position import Position, find_baseline, position_at
from tacitd.sources.transcript import Tail


def holds(path: Path, position: Position) -> bool:
    """Whether a transcript is read on from this position, not again from 0."""
    return not Tail(path, position.offset, ClaudeCode(path), mark=position.crc).read_next_slice().shrunk


def test_a_position_holds_while_the_file_only_grows(tmp_path: Path) -> None:
    """DESIGN "Sources": (offset, crc of the up to 256 bytes before it)."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"a" * 1000 + b"\n")
    position = position_at(path, 1001)
    with path.open("ab") as out:
        out.write(b"more\n")
    assert holds(path, position)


def test_a_shorter_or_rewritten_file_is_another_one(tmp_path: Path) -> None:
    """DESIGN "Sources": a mismatch or a shrunken file means read again from 0."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"a" * 999 + b"\n")
    position = position_at(path, 1000)
    path.write_bytes(b"a" * 900)
    assert not holds(path, position)
    path.write_bytes(b"b" * 999 + b"\n")
    assert not holds(path, position)


def test_the_mark_does_not_reach_further_back(tmp_path: Path) -> None:
    """DESIGN "Sources": 256 bytes, so that checking takes no time."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"a" * 1000 + b"\n")
    position = position_at(path, 1001)
    path.write_bytes(b"b" + b"a" * 999 + b"\n")
    assert holds(path, position)


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
