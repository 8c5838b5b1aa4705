"""The lines of the raw file: ours, those of other tools, and broken ones."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd_handlers.learning.raw_facts import (
    RawFile,
    RawLine,
    encode_raw_line,
    make_raw_record,
    parse_raw_file,
)

AT = 1765936200.7  # 2025-12-17T01:50:00Z


def test_a_line_as_the_seed_writes_it() -> None:
    """S-02: one line with `ts` and `facts` as in seed 003, then our fields."""
    line = encode_raw_line(
        make_raw_record(AT, ["Prefers X over Y", "使用 pnpm"], "s1", ["p1"], ["src"], "b1")
    )
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    assert line.decode().startswith(
        '{"ts": "2025-12-17T01:50:00Z", "facts": ["Prefers X over Y", "使用 pnpm"]'
    )
    assert list(json.loads(line)) == ["ts", "facts", "session", "prompts", "folders", "batch"]


def test_lines_of_other_tools_are_facts_like_ours() -> None:
    """S-02, S-21: `ts` and `facts` are enough, and even `ts` may be missing."""
    raw = parse_raw_file(
        b'{"ts":"2025-12-17T01:50:00Z","facts":["Prefers X"]}\n{"facts":["User wants Y"],"more":1}\n'
    )
    assert raw.lines == (RawLine("2025-12-17T01:50:00Z", ("Prefers X",)), RawLine("", ("Wants Y",)))
    assert raw.bad_lines == [] and raw.facts == ("Prefers X", "Wants Y")


@pytest.mark.parametrize(
    "bad",
    [b"{", b"not json", b"[]", b'"x"', b"null", b'{"ts":"x"}', b'{"facts":"x"}', b"\xff\xfe", b'{"facts":["a"', b"[" * 9000],
)  # fmt: skip
def test_broken_lines_are_set_apart(bad: bytes) -> None:
    """S-21: bad lines are quarantined byte for byte, and the lines around them count."""
    good = encode_raw_line(make_raw_record(AT, ["A"], "", [], [], "b"))
    raw = parse_raw_file(good + bad + b"\n" + good + bad)
    assert raw.bad_lines == [bad, bad]
    assert raw.facts == ("A", "A")


def test_small_damage_is_forgiven() -> None:
    """S-21: blank lines, CRLF, a BOM, NUL runs, a missing last newline, facts that are not strings."""
    raw = parse_raw_file(
        b'\xef\xbb\xbf\n\r\n\0\0{"facts":["A",1,null,"","  ",["x"]]}\r\n{"facts":["B"],"prompts":[1,"p"],"folders":"x"}'
    )
    assert raw == RawFile((RawLine("", ("A",)), RawLine("", ("B",), prompts=("p",))), [])


def test_secrets_of_other_tools_go_nowhere() -> None:
    """S-67: a fact that looks like a secret is dropped when it is read, and counted."""
    raw = parse_raw_file(b'{"facts":["Key ghp_abcdefghijklmnopqrstuvwxyz0123456789","A", 3, "--"]}')
    assert raw.lines == (RawLine("", ("A",), withheld=1),)


def test_what_the_synthesis_needs_of_it() -> None:
    """S-21, S-30: facts with repetitions, folders once, batches."""
    raw = parse_raw_file(
        encode_raw_line(make_raw_record(AT, ["A"], "s", ["p"], ["x", "y"], "b1"))
        + encode_raw_line(make_raw_record(AT, ["A"], "s", ["q"], ["y"], "b2"))
    )
    assert raw.facts == ("A", "A") and raw.folders == ("x", "y") and raw.batches == {"b1", "b2"}


@given(
    st.lists(
        st.text(alphabet=st.characters(codec="utf-8"), max_size=20).map(lambda text: "x" + text), max_size=3
    ),
    st.text(max_size=10),
)
@examples(60)
def test_what_was_encoded_is_read(facts: list[str], session: str) -> None:
    """S-02: it is one line for any input, with the same number of facts."""
    line = encode_raw_line(make_raw_record(AT, facts, session, [], [], "b"))
    raw = parse_raw_file(line)
    assert line.count(b"\n") == 1 and raw.bad_lines == []
    assert len(raw.facts) == len(facts) and raw.batches == {"b"}


@given(st.binary(max_size=80))
@examples(80)
def test_any_bytes_can_be_read(data: bytes) -> None:
    """S-21: no input raises."""
    assert isinstance(parse_raw_file(data), RawFile)
