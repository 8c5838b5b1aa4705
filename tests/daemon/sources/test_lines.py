"""Reading bounded slices, refusing what is not a file, and salvaging damaged lines."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.errors import FileRefusedError
from tacitd.sources import lines
from tacitd.sources.claude_code.records import is_record
from tacitd.sources.claude_code.transcripts import ClaudeCode
from tacitd.sources.lines import (
    Position,
    _object_at,
    find_baseline,
    open_transcript,
    read_slice,
    replace_surrogates,
    salvage_records,
    skip_line,
)
from tacitd.sources.transcript import Tail

CLIENT = Path(__file__).parents[2] / "fixtures" / "client"


def real_records() -> list[bytes]:
    """The lines that the real clients wrote, one or two of each length class."""
    kinds: dict[tuple[str, int], bytes] = {}
    for path in sorted(CLIENT.glob("*/-home*/**/*.jsonl")):
        for line in path.read_bytes().split(b"\n"):
            if line and len(line) < 20_000:
                kinds.setdefault((str(json.loads(line).get("type")), len(line) // 200), line)
    return list(kinds.values())


RECORDS = real_records()


@contextmanager
def opened(path: Path, content: bytes) -> Iterator[int]:
    path.write_bytes(content)
    fd = open_transcript(path)
    try:
        yield fd
    finally:
        os.close(fd)


def test_slices_are_bounded_and_lines_whole(tmp_path: Path) -> None:
    """CLAUDE_CODE section 13: U+2028, U+2029 and U+0085 occur inside strings. DESIGN "Sources": a single line may be longer than a slice."""
    text = "a\u2028b\u2029c\u0085d".encode()
    with opened(tmp_path / "x.jsonl", text + b"\n" + b"x" * 5000 + b"\nshort\n") as fd:
        assert read_slice(fd, 0, 16, 9000)[1] == len(text) + 1
        data, cut = read_slice(fd, len(text) + 1, 16, 9000)
        assert data.startswith(b"x" * 5000 + b"\n") and cut >= 5001


def test_a_line_above_the_limit_is_never_held(tmp_path: Path) -> None:
    """RELIABILITY row 9: every record up to the limit is recovered; a line above it is skipped in pieces, and its end is found."""
    with opened(tmp_path / "x.jsonl", b"x" * 5000 + b"\nnext\n") as fd:
        assert read_slice(fd, 0, 16, 1000) == (b"x" * 1001, 0)
        assert read_slice(fd, 0, 16, 5000) == (b"x" * 5000 + b"\n", 5001)
        assert skip_line(fd, 1000, 1000) == (2000, False)
        assert skip_line(fd, 2000, 100_000) == (5001, True)


@pytest.mark.parametrize("kind", ["fifo", "link", "folder"])
def test_only_regular_files_are_opened(tmp_path: Path, kind: str) -> None:
    """DESIGN "Sources": a FIFO named x.jsonl must not block; no link is followed."""
    path = tmp_path / "x.jsonl"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "link":
        (tmp_path / "real").write_bytes(b"{}\n")
        path.symlink_to(tmp_path / "real")
    else:
        path.mkdir()
    with pytest.raises(FileRefusedError, match=r"x\.jsonl"):
        open_transcript(path)


def found(line: bytes) -> list[bytes]:
    line = replace_surrogates(line)
    return [line[start:end] for start, end in salvage_records(line, is_record)]


def test_two_glued_records() -> None:
    """CLAUDE_CODE section 0 fact 7: `}{` without a newline. Also checks the wording of msgspec's messages."""
    assert found(RECORDS[0] + RECORDS[1]) == [RECORDS[0], RECORDS[1]]
    for behind in (b"}", b"x", b"  }", b"\0}", b"]"):
        assert found(RECORDS[0] + behind) == [RECORDS[0]]


def test_invalid_utf8_and_lone_surrogates_do_not_lose_a_record() -> None:
    """CLAUDE_CODE section 13: bytes that are not UTF-8; JavaScript cuts emoji in half."""
    record = b'{"type":"user","sessionId":"s","message":{"content":"a\xff\xfeb"}}'
    assert found(record) == [record]
    half = b'{"type":"user","sessionId":"s","message":{"content":"\\ud83d and \\\\ud83d and \\ud83d\\ude00"}}'
    assert replace_surrogates(half) == half.replace(b'"\\ud83d and', b'"\\ufffd and')
    assert len(found(half)) == 1


def test_nothing_nested_is_taken_for_a_record() -> None:
    """RELIABILITY row 9: none invented, although the inner object has everything that a record has."""
    inner = b'{"type":"user","sessionId":"s","uuid":"u","message":{"role":"user","content":"words"}}'
    assert found(b'{"type":"progress","sessionId":"s","data":{"message":' + inner + b'},"timest') == []
    assert found(b'{"type":"progress","data":[1,' + inner + b",3") == []
    assert found(b'lost beginning","data":' + inner + b'},"uuid":"x"}') == []
    outer = b'{"type":"progress","sessionId":"s","data":' + inner + b"}"
    assert found(outer + b"x") == [outer]


def test_text_inside_a_string_is_no_record() -> None:
    """RELIABILITY row 9: a pasted transcript in a message is text."""
    inner = json.dumps({"type": "user", "sessionId": "s", "message": {"content": "words"}})
    outer = json.dumps(
        {"type": "user", "sessionId": "s", "message": {"content": f"see {inner} there"}}
    ).encode()
    assert found(outer + outer[:-30]) == [outer]
    assert found(outer[:-3]) == []


@examples(150)
@given(st.randoms(use_true_random=False), st.integers(1, 6))
def test_every_complete_record_is_recovered_and_none_invented(rng: random.Random, pieces: int) -> None:
    """RELIABILITY row 9: random truncation and gluing of real records."""
    line, whole = b"", []
    for _ in range(pieces):
        record = rng.choice(RECORDS)
        kind = rng.choice(["whole", "cut", "nul", "whole"])
        if kind == "whole":
            line += record
            whole.append(record)
        elif kind == "cut":
            line += record[: rng.randrange(1, len(record) - 1)]
        else:
            line += b"\0" * rng.randrange(1, 50)
    assert [json.loads(one) for one in found(line)] == [json.loads(one) for one in whole]


@pytest.mark.parametrize("unit", [b'{"', b'{"a":', b'{"a":1}', b'{"a":{"b":[{"c":"', b'"{"', b'[{"a":'])
def test_hostile_lines_are_not_quadratic(unit: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """RELIABILITY row 9: bounded work on half a megabyte, counted in decoded bytes."""
    followed: list[int] = []

    def counted(line: bytes, start: int) -> tuple[bool, int]:
        whole, reached = _object_at(line, start)
        followed.append(reached - start)
        return whole, reached

    monkeypatch.setattr(lines, "_object_at", counted)
    hostile = unit * ((1 << 19) // len(unit))
    assert salvage_records(hostile, is_record) == []
    assert sum(followed) <= (lines._WORK + 1) * len(hostile) + lines._CHUNK
    assert 0 < len(followed) <= lines._TRIES


# --- Positions and their marks.


def holds(path: Path, position: Position) -> bool:
    """Whether a transcript is read on from this position, not again from 0."""
    return not Tail(path, position.offset, ClaudeCode(path), mark=position.crc).read_next_slice().shrunk


@examples(40)
@example(b"one\n", 2, 5)
@example(b"", 0, 0)  # CLAUDE_CODE section 13: empty files occur (2.0.76)
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
