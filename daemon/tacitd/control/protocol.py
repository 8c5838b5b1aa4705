"""JSON-RPC 2.0, one message a line: parsing and formatting. Pure; the socket is in `server.py` and `client.py`.

Public source: the JSON-RPC 2.0 specification. Batches are not supported: a line with an array is an invalid request.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

MAX_LINE = 256 << 10
"""Maximum bytes of one request: lists of lists take forty times as many in memory. Most have a few hundred."""

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
FAILED = -32000
"""The method ran and failed. `data` is `{"hint", "exit"}`: the hint and the exit code for a command."""


class Request(NamedTuple):
    """A call. A request without an id is a notification: it is run and not answered."""

    id: str | int | float | None
    method: str
    params: Mapping[str, Any]
    notification: bool = False


class RequestRefusal(NamedTuple):
    """A line that is not a valid request, with the error to answer."""

    id: str | int | float | None
    code: int
    message: str


def parse_request(line: bytes) -> Request | RequestRefusal:
    """Given one line, return its request or the refusal. Never raises."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return RequestRefusal(None, PARSE_ERROR, "this line is not JSON")
    if not isinstance(message, dict):
        return RequestRefusal(None, INVALID_REQUEST, "a request is one JSON object on one line")
    id = _clean_id(message.get("id"))
    method, params = message.get("method"), message.get("params", {})
    if message.get("jsonrpc") != "2.0" or not isinstance(method, str):
        return RequestRefusal(id, INVALID_REQUEST, 'a request has "jsonrpc":"2.0" and a "method"')
    if not isinstance(params, dict):
        return RequestRefusal(id, INVALID_PARAMS, "params must be an object")
    return Request(id, method, params, notification="id" not in message)


def _clean_id(raw: object) -> str | int | float | None:
    """The id if it can be sent back, otherwise None. JSON has no infinity, but Python parses 1e999 as one."""
    if isinstance(raw, bool) or not isinstance(raw, str | int | float):
        return None
    return None if isinstance(raw, float) and not math.isfinite(raw) else raw


def encode_result(id: str | int | float | None, value: Any) -> bytes:
    return _encode_line({"jsonrpc": "2.0", "id": id, "result": value})


def encode_error(
    id: str | int | float | None, code: int, message: str, data: Mapping[str, Any] | None = None
) -> bytes:
    body: dict[str, Any] = {"code": code, "message": message}
    if data:
        body["data"] = dict(data)
    return _encode_line({"jsonrpc": "2.0", "id": id, "error": body})


def encode_request(method: str, params: Mapping[str, Any]) -> bytes:
    return _encode_line({"jsonrpc": "2.0", "id": 1, "method": method, "params": dict(params)})


def _encode_line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
