"""The MCP server on standard input and output: JSON-RPC 2.0, one message a line (MCP specification, transport "stdio").

One thread reads, and answers at once what takes no time, `ping` above all. Tools and resources run one after another in the
thread that called `serve`, because a tool is a command, and standard streams belong to the whole process. A client that goes
away ends the server: a call that runs is finished first, since the files that it changes are written in whole steps.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from tacitd import __version__
from tacitd.control.protocol import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Request,
    RequestRefusal,
    encode_error,
    encode_result,
    parse_request,
)
from tacitd.mcp.agent_tools import LARGEST_RESULT, AgentResource
from tacitd.mcp.tools import BoundTool, bound_output, describe_tool, run_tool

T = TypeVar("T")
SCHEME = "tacitd://"
MARKDOWN = "text/markdown"
INTERNAL_ERROR = -32603
VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Versions of the protocol, the newest first; what is used of it is the same in all."""
INSTRUCTIONS = (
    "tacitd keeps what this person taught their agents: learned rules of each project, their profile, lessons "
    "(WHEN -> DO -> BECAUSE), the state of sessions, a learner's ledger. It learns from what the person types by itself, "
    "so do not store again what they just said. Do store what they ask you to remember. Before work with a tool that can "
    "go wrong, load the lessons of its scope. When something fails, match its error with lessons. Never remove anything "
    "that the person did not ask you to remove."
)
SLOW = ("tools/call", "resources/read")
"""Methods that run commands."""


class Refused(Exception):
    """A request that is answered with an error of the protocol."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Offer(Struct, frozen=True):
    """What the server offers: tools by name, resources by name, how a resource is read, and the names that are not listed now."""

    tools: Mapping[str, BoundTool]
    resources: Mapping[str, AgentResource]
    read: Callable[[AgentResource, Path, int], str]
    find_empty: Callable[[], Collection[str]] = frozenset


def answer_request(offer: Offer, cwd: Path, request: Request) -> bytes:
    """The line that answers a request; b"" for a notification. `cwd`: the directory of the session. Never raises."""
    try:
        answer = encode_result(request.id, _call_method(offer, cwd, request.method, request.params))
    except Refused as error:
        answer = encode_error(request.id, error.code, str(error))
    except Exception as error:  # noqa: BLE001  the server goes on, whatever a plugin's text or a strange value raises
        answer = encode_error(request.id, INTERNAL_ERROR, f"{type(error).__name__}: {error}")
    return b"" if request.notification else answer


def _call_method(offer: Offer, cwd: Path, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            wanted = params.get("protocolVersion")
            return {
                "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0],
                "capabilities": {"tools": {}, "resources": {}},
                "serverInfo": {"name": "tacitd", "version": __version__},
                "instructions": INSTRUCTIONS,
            }
        case "ping":
            return {}
        case "tools/list":
            return {"tools": [describe_tool(one) for one in _list_known(offer, offer.tools)]}
        case "tools/call":
            return _call_tool(offer, params)
        case "resources/list":
            return {"resources": [_describe_resource(one) for one in _list_known(offer, offer.resources)]}
        case "resources/read":
            return _read_resource(offer, cwd, params)
        case _ if method.startswith("notifications/"):
            return {}
        case _:
            raise Refused(METHOD_NOT_FOUND, f"there is no method {method[:80]}")


def _list_known(offer: Offer, offered: Mapping[str, T]) -> list[T]:
    empty = offer.find_empty()
    return [one for name, one in offered.items() if name not in empty]


def _call_tool(offer: Offer, params: Mapping[str, Any]) -> dict[str, Any]:
    name, arguments = params.get("name"), params.get("arguments") or {}
    bound = offer.tools.get(name) if isinstance(name, str) else None
    if bound is None:
        raise Refused(INVALID_PARAMS, f"there is no tool {str(name)[:80]!r}")
    if not isinstance(arguments, dict):
        raise Refused(INVALID_PARAMS, "arguments must be an object")
    output = run_tool(bound, arguments)
    content = [{"type": "text", "text": text} for text in output.texts]
    return {"content": content, "isError": output.is_error}


def _describe_resource(one: AgentResource) -> dict[str, Any]:
    about = {"name": one.name, "title": one.title, "description": one.description, "mimeType": MARKDOWN}
    return {"uri": f"{SCHEME}{one.name}", **about}


def _read_resource(offer: Offer, cwd: Path, params: Mapping[str, Any]) -> dict[str, Any]:
    address = str(params.get("uri"))
    resource = offer.resources.get(address.removeprefix(SCHEME).rstrip("/"))
    if resource is None:
        raise Refused(INVALID_PARAMS, f"there is no resource {address[:80]!r}")
    try:
        text, _ = bound_output(offer.read(resource, cwd, LARGEST_RESULT))
    except Exception as error:
        raise Refused(INTERNAL_ERROR, f"{resource.name} cannot be read: {error}") from error
    about = {"uri": f"{SCHEME}{resource.name}", "mimeType": MARKDOWN}
    return {"contents": [{**about, "text": text}]}


class _Connection:
    """One client. `incoming`, `outgoing`: descriptors."""

    def __init__(self, offer: Offer, cwd: Path, incoming: int, outgoing: int) -> None:
        self._offer, self._cwd = offer, cwd
        self._incoming, self._outgoing = incoming, outgoing
        self._waiting: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._cancelled: set[object] = set()
        self._writing = threading.Lock()

    def run(self) -> None:
        """Answer until the client closes its end."""
        threading.Thread(target=self._read, name="tacitd-mcp-reader", daemon=True).start()
        with suppress(BrokenPipeError):
            while (request := self._waiting.get()) is not None:
                if request.id not in self._cancelled:
                    self._write(answer_request(self._offer, self._cwd, request))

    def _read(self) -> None:
        rest = b""
        with suppress(OSError):
            while part := os.read(self._incoming, 1 << 16):
                *lines, rest = (rest + part).split(b"\n")
                for line in lines:
                    self._take_line(line)
            self._take_line(rest)
        self._waiting.put(None)

    def _take_line(self, line: bytes) -> None:
        request = parse_request(line) if line.strip() else None
        if isinstance(request, RequestRefusal):
            self._write(encode_error(request.id, request.code, request.message))
        elif request is None:
            return
        elif request.method in SLOW:
            self._waiting.put(request)
        elif request.method == "notifications/cancelled":  # if it does not run yet
            if isinstance(id := request.params.get("requestId"), str | int):
                self._cancelled.add(id)
        else:
            self._write(answer_request(self._offer, self._cwd, request))

    def _write(self, line: bytes) -> None:
        with self._writing:
            while line:
                line = line[os.write(self._outgoing, line) :]


def serve(offer: Offer, cwd: Path) -> None:
    """Serve one client until it closes standard input. What commands start reads nothing and writes to
    standard error."""
    incoming, outgoing = os.dup(0), os.dup(1)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    _Connection(offer, cwd, incoming, outgoing).run()
