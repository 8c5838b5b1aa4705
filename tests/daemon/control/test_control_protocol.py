"""JSON-RPC 2.0, one message a line: parsing and formatting, without the socket."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.control.protocol import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    Request,
    RequestRefusal,
    encode_error,
    encode_result,
    parse_request,
)
from tacitd.control.server import Server


@given(
    st.binary(max_size=200) | st.text(max_size=100).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
@examples(150)
def test_garbage_is_refused_and_never_raises(line: bytes) -> None:
    """RELIABILITY row 17: garbage."""
    answer = parse_request(line)
    assert isinstance(answer, RequestRefusal) or answer.method is not None


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"", PARSE_ERROR),
        (b"{", PARSE_ERROR),
        (b"\xff\xfe", PARSE_ERROR),
        (b"[" * 100_000, PARSE_ERROR),
        (b"1" * 5000, PARSE_ERROR),
        (b"7", INVALID_REQUEST),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', INVALID_REQUEST),
        (b'{"id":1,"method":"ping"}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', INVALID_PARAMS),
    ],
    ids=lambda value: str(value)[:20],
)
def test_how_a_line_is_refused(line: bytes, code: int) -> None:
    """The JSON-RPC 2.0 specification; batches are not supported."""
    answer = parse_request(line)
    assert isinstance(answer, RequestRefusal) and answer.code == code


@pytest.mark.parametrize(
    ("raw", "id", "notification"),
    [("1", 1, False), ('"x"', "x", False), ("null", None, False), ("true", None, False), ("1e999", None, False), ("{}", None, False), (None, None, True)],
)  # fmt: skip
def test_ids_come_back_as_they_were(raw: str | None, id: object, notification: bool) -> None:
    """An id that JSON cannot express counts as none; a request without an id is a notification."""
    line = '{"jsonrpc":"2.0","method":"ping"' + (f',"id":{raw}' if raw is not None else "") + "}"
    asked = parse_request(line.encode())
    assert isinstance(asked, Request) and (asked.id, asked.notification) == (id, notification)
    json.loads(encode_result(asked.id, {}), parse_constant=pytest.fail)


def test_answers_are_one_line_each() -> None:
    """Also for odd text in a handler's status."""
    line = encode_result(1, {"text": "a\nb\u2028\udcff"})
    assert line.count(b"\n") == 1 and json.loads(line)["result"]["text"].startswith("a\nb")
    assert "data" not in json.loads(encode_error(1, -32000, "no"))["error"]


@given(st.lists(st.binary(max_size=30), max_size=20))
@examples(80)
def test_lines_are_the_same_however_they_arrive(parts: list[bytes]) -> None:
    """RELIABILITY row 17: slow senders. What is unfinished is counted, and what is complete is not."""
    one, rest, found = Server(Path("/none"), {}), b"", list[bytes]()
    for part in parts:
        *lines, rest = one._keep_rest(rest, part)
        found += lines
        assert one._unfinished == len(rest)
    assert [*found, rest] == b"".join(parts).split(b"\n")
