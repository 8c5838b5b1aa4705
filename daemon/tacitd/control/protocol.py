"""JSON-RPC 2.0, one message a line: what goes over the socket, without the socket. Pure.

Public source: the JSON-RPC 2.0 specification. Batches are not spoken: a line with an array is an invalid request.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MAX_LINE = 4 << 20
"""Bytes in one request. Most have some hundred; `scan` names every transcript."""

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
FAILED = -32000
"""The method ran and failed; `data` holds the hint and the exit code."""


@dataclass(frozen=True, slots=True)
class Request:
    """A call. A request without an id is a notification: done, not answered."""

    id: str | int | float | None
    method: str
    params: Mapping[str, Any]
    notification: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """A line that is no request, with the answer it gets."""

    id: str | int | float | None
    code: int
    message: str


def parse(line: bytes) -> Request | Refusal:
    """Given one line, return the call in it, or how it is refused. Raises nothing."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return Refusal(None, PARSE_ERROR, "this line is not JSON")
    if not isinstance(message, dict):
        return Refusal(None, INVALID_REQUEST, "one JSON object a line")
    id = _id(message.get("id"))
    method, params = message.get("method"), message.get("params", {})
    if message.get("jsonrpc") != "2.0" or not isinstance(method, str):
        return Refusal(id, INVALID_REQUEST, 'a request has "jsonrpc":"2.0" and a "method"')
    if not isinstance(params, dict):
        return Refusal(id, INVALID_PARAMS, "params are an object")
    return Request(id, method, params, notification="id" not in message)


def _id(raw: object) -> str | int | float | None:
    """An id as it may be given back: JSON knows no infinity, though Python's parser makes one of 1e999."""
    if isinstance(raw, bool) or not isinstance(raw, str | int | float):
        return None
    return None if isinstance(raw, float) and not math.isfinite(raw) else raw


def result(id: str | int | float | None, value: Any) -> bytes:
    """The line that answers a call."""
    return _line({"jsonrpc": "2.0", "id": id, "result": value})


def error(
    id: str | int | float | None, code: int, message: str, data: Mapping[str, Any] | None = None
) -> bytes:
    """The line that says why a call failed."""
    body: dict[str, Any] = {"code": code, "message": message}
    if data:
        body["data"] = dict(data)
    return _line({"jsonrpc": "2.0", "id": id, "error": body})


def request(method: str, params: Mapping[str, Any], id: int = 1) -> bytes:
    """The line that makes a call."""
    return _line({"jsonrpc": "2.0", "id": id, "method": method, "params": dict(params)})


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
