"""JSON-RPC 2.0, one message a line: parsing and formatting, without the socket."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.control.line_buffer import BufferSpace, LineBuffer
from tacitd.control.protocol import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    MAX_LINE,
    PARSE_ERROR,
    Request,
    RequestRefusal,
    encode_error,
    encode_request,
    encode_result,
    parse_request,
)


def test_what_we_ask_is_what_we_understand() -> None:
    """DESIGN "Control": JSON-RPC 2.0, one message a line."""
    line = encode_request("sync", {"timeout": 5, "path": "/é\udcff"})
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    asked = parse_request(line)
    assert isinstance(asked, Request) and (asked.method, asked.id, asked.params["timeout"]) == ("sync", 1, 5)


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
    """RELIABILITY row 17: slow senders."""
    room = BufferSpace()
    arriving = LineBuffer(room)
    lines = [line for part in parts for line in arriving.add_bytes(part) or ()]
    whole, _, rest = b"".join(parts).rpartition(b"\n")
    assert lines == [line for line in whole.split(b"\n") if line.strip()] and len(arriving) == len(rest)
    arriving.release_space()
    assert room.left == BufferSpace().left


def test_what_is_too_long_is_not_held() -> None:
    """RELIABILITY row 17: a 100 MB request costs no 100 MB."""
    room = BufferSpace(1000)
    one, other = LineBuffer(room), LineBuffer(room)
    assert one.add_bytes(b"x" * 600) == [] and other.add_bytes(b"y" * 500) is None and len(other) == 0
    other.release_space()
    one.release_space()
    assert room.left == 1000
    big = LineBuffer(BufferSpace(1 << 30))
    assert big.add_bytes(b"x" * MAX_LINE) == [] and big.add_bytes(b"x") is None
