"""A small fake of the Anthropic Messages API, for driving the real `claude` CLI offline.

Standard library only.  Listens on 127.0.0.1.  Answers

    POST /v1/messages               (stream = SSE, or one JSON document)
    POST /v1/messages/count_tokens
    GET  /v1/models, /v1/models/<id>
    HEAD <any>, GET /               200 {}     (the client's connectivity probes)
    anything else                   404 in the API's error shape (and it is logged)

Rules (--rules FILE, a JSON list) are tried in order; the first whose regex is found wins: in the text of the newest user message
that is not only tool results, or with "on": "body" in the whole request as JSON.

A rule is {"match": REGEX, "on": ..., "steps": [STEP, ...]}. Step number k is played when k assistant messages already follow the
prompt, so [{"tool": "Bash", "input": {...}}, {"text": "done"}] plays a tool round and ends. After the last step the last *text*
step (or "OK") is repeated. A step may have "usage" and "delay" (seconds between SSE events).

Where no rule matches, directives inside the prompt work:

  [[reply:TEXT]]  [[tool:NAME {json}]]  [[slow:SECONDS]]
  [[fault:403]]  [[fault:529 noretry]]  [[fault:usage-limit]]  [[fault:credit]]  [[fault:toolong]]

Several [[tool:..]] directives are consecutive steps. A directive's argument ends at the first "]]": nested brackets need rules.

--log DIR gets one file per request, NNNN.json: {n, t, method, path, bytes, headers, body}.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
ERROR_TEXT = {
    401: "invalid x-api-key",
    403: "Your account does not have access to Claude Code.",
    404: "model: not-a-model",
    429: "This request would exceed your rate limit.",
    500: "Internal server error",
    529: "Overloaded",
}


# --- what is answered


def text_of(content: Any) -> str:
    """Text of a message content (string, or list of blocks), tool results left out."""
    if isinstance(content, str):
        return content
    blocks = [b for b in content or [] if isinstance(b, dict) and b.get("type") == "text"]
    return "\n".join(b.get("text", "") for b in blocks)


NOT_A_PROMPT = re.compile(r"\s*(<|\[Request interrupted|\[Tool result)")


def only_tool_results(content: Any) -> bool:
    """True for a message that carries tool results and no words of the person beside them.

    After an interrupted tool call the client merges the tool result, its own
    "[Request interrupted by user]" and the next typed prompt into ONE user message."""
    if isinstance(content, str):
        return False
    blocks = [b for b in content or [] if isinstance(b, dict)]
    if not any(b.get("type") == "tool_result" for b in blocks):
        return False
    return all(NOT_A_PROMPT.match(b.get("text") or "<") for b in blocks if b.get("type") == "text")


def prompt_and_step(messages: Any) -> tuple[str, int]:
    """(newest prompt text, how many assistant messages follow it)."""
    step = 0
    for m in reversed(messages or []):
        if m.get("role") == "assistant":
            step += 1
        elif m.get("role") == "user" and not only_tool_results(m.get("content")):
            return text_of(m.get("content")), step
    return "", step


DIRECTIVE = re.compile(r"\[\[(reply|tool|slow|fault)(?::(.*?))?\]\]", re.S)


def parse_fault(spec: str) -> dict[str, Any]:
    """A fault as a person writes it: `529 noretry`."""
    fault: dict[str, Any] = {}
    for word in spec.split():
        if word == "usage-limit":  # the shape a subscription's exhausted window answers with
            fault["status"] = 429
            fault["message"] = "This request would exceed your account's rate limit. Please try again later."
            fault["headers"] = {
                "anthropic-ratelimit-unified-status": "rejected",
                "anthropic-ratelimit-unified-reset": str(int(time.time()) + 3600),
                "anthropic-ratelimit-unified-representative-claim": "five_hour",
                "x-should-retry": "false",
            }
        elif word == "credit":
            fault["status"] = 400
            fault["message"] = (
                "Your credit balance is too low to access the Anthropic API. "
                "Please go to Plans & Billing to upgrade or purchase credits."
            )
        elif word == "toolong":
            fault |= {"status": 400, "message": "prompt is too long: 210000 tokens > 200000 maximum"}
        elif word == "noretry":
            fault["headers"] = {"x-should-retry": "false"}
        else:
            fault["status"] = int(word)
    return fault


def rule_from_directives(prompt: str) -> dict[str, Any] | None:
    """What `[[...]]` in the prompt asks for; None where nothing does."""
    # Only the newest 200 kB are scanned: prompts of a megabyte must stay cheap.
    hits = DIRECTIVE.findall(prompt[-200_000:])
    if not hits:
        return None
    steps: list[dict[str, Any]] = []
    rule: dict[str, Any] = {}
    delay = 0.0
    for name, arg in hits:
        if name == "reply":
            steps.append({"text": arg})
        elif name == "tool":
            tool, _, raw = arg.strip().partition(" ")
            steps.append({"tool": tool, "input": json.loads(raw or "{}")})
        elif name == "slow":
            delay = float(arg)
        else:
            rule["fault"] = parse_fault(arg)
    rule["steps"] = [{**step, "delay": delay} for step in steps or [{"text": "OK"}]]
    return rule


def choose(rules: list[dict[str, Any]], body: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The step to play, and the fault to answer with instead, if any."""
    prompt, k = prompt_and_step(body.get("messages"))
    subjects = {"prompt": prompt, "body": json.dumps(body)}
    found = (one for one in rules if re.search(one["match"], subjects[one.get("on", "prompt")], re.DOTALL))
    default: dict[str, Any] = {"steps": [{"text": "OK from the fake API."}]}
    rule = next(found, None) or rule_from_directives(prompt) or default
    steps = rule["steps"]
    last = next((step for step in reversed(steps) if "text" in step), {"text": "OK"})
    return steps[k] if k < len(steps) else last, rule.get("fault")


def block_of(step: dict[str, Any]) -> dict[str, Any]:
    """The content block of an assistant message."""
    if "tool" not in step:
        return {"type": "text", "text": step.get("text", "OK")}
    made = {"type": "tool_use", "id": "toolu_" + uuid.uuid4().hex[:24]}
    return made | {"name": step["tool"], "input": step.get("input", {})}


def message_of(step: dict[str, Any], model: str, prompt_chars: int) -> dict[str, Any]:
    """One finished assistant message in the form of the API."""
    block = block_of(step)
    usage = {
        "input_tokens": max(1, prompt_chars // 4),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": max(1, len(json.dumps(block)) // 4),
        "service_tier": "standard",
    }
    usage.update(step.get("usage") or {})
    stop = "tool_use" if block["type"] == "tool_use" else "end_turn"
    return {
        "id": "msg_" + uuid.uuid4().hex[:24],
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [block],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
    }


def sse_events(msg: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The event sequence of the streaming API for one finished message."""
    head = dict(msg, content=[], stop_reason=None, usage=dict(msg["usage"], output_tokens=1))
    yield "message_start", {"type": "message_start", "message": head}
    yield "ping", {"type": "ping"}
    (block,) = msg["content"]
    start: dict[str, Any]
    if block["type"] == "text":
        start, text = {"type": "text", "text": ""}, block["text"]
        deltas = [{"type": "text_delta", "text": text[at : at + 40]} for at in range(0, len(text), 40)]
    else:
        start, text = {**block, "input": {}}, json.dumps(block["input"])
        parts = [text[at : at + 60] for at in range(0, len(text), 60)]
        deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts]
    yield "content_block_start", {"type": "content_block_start", "index": 0, "content_block": start}
    for each in deltas:
        yield "content_block_delta", {"type": "content_block_delta", "index": 0, "delta": each}
    yield "content_block_stop", {"type": "content_block_stop", "index": 0}
    delta = {"stop_reason": msg["stop_reason"], "stop_sequence": None}
    usage = {"output_tokens": msg["usage"]["output_tokens"]}
    yield "message_delta", {"type": "message_delta", "delta": delta, "usage": usage}
    yield "message_stop", {"type": "message_stop"}


# --- the server


class Handler(BaseHTTPRequestHandler):
    """One connection of a client."""

    protocol_version = "HTTP/1.1"
    server_version = "fake-anthropic/1"

    server: Server  # pyright: ignore[reportIncompatibleVariableOverride]

    def log_message(self, format: str, *_: Any) -> None:
        """No access log on stderr."""

    def _read(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            out = b""
            while True:
                n = int(self.rfile.readline().split(b";")[0] or b"0", 16)
                chunk = self.rfile.read(n)
                self.rfile.readline()
                if n == 0:
                    return out
                out += chunk
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _json(self, status: int, doc: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        data = json.dumps(doc).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.send_header("request-id", "req_" + uuid.uuid4().hex[:24])
        for k, v in (headers or {}).items():
            self.send_header(k, v)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _error(
        self,
        status: int,
        kind: str | None = None,
        message: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        self._json(
            status,
            {
                "type": "error",
                "error": {
                    "type": kind or ERROR_TYPES.get(status, "api_error"),
                    "message": message or ERROR_TEXT.get(status, "injected fault"),
                },
                "request_id": "req_" + uuid.uuid4().hex[:24],
            },
            headers,
        )

    def _stream(self, msg: dict[str, Any], delay: float) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("cache-control", "no-cache")
        self.send_header("request-id", "req_" + uuid.uuid4().hex[:24])
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

        def emit(name: str, doc: dict[str, Any]) -> None:
            data = f"event: {name}\ndata: {json.dumps(doc)}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()

        for name, doc in sse_events(msg):
            emit(name, doc)
            if delay:
                time.sleep(delay)
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def do_HEAD(self) -> None:
        self._log(b"")
        self._json(200, {})

    def do_GET(self) -> None:
        self._log(b"")
        path = self.path.split("?")[0]
        if path == "/":
            self._json(200, {})
        elif path == "/v1/models":
            rows = [described(name) for name in self.server.models]
            ends = {"first_id": rows[0]["id"], "last_id": rows[-1]["id"]}
            self._json(200, {"data": rows, "has_more": False, **ends})
        elif path.startswith("/v1/models/"):
            self._json(200, described(path.rsplit("/", 1)[1]))
        else:
            self._error(404, message="no such path: " + path)

    def do_POST(self) -> None:
        raw = self._read()
        self._log(raw)
        path = self.path.split("?")[0]
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            self._error(400, message="body is not JSON")
            return
        if path == "/v1/messages/count_tokens":
            self._json(200, {"input_tokens": max(1, len(raw) // 4)})
        elif path == "/v1/messages":
            self._reply(body, len(raw))
        else:
            self._error(404, message="no such path: " + path)

    do_PUT = do_PATCH = do_DELETE = do_POST

    def _reply(self, body: dict[str, Any], size: int) -> None:
        step, fault = choose(self.server.rules, body)
        if fault:
            self._error(fault["status"], fault.get("type"), fault.get("message"), fault.get("headers"))
            return
        msg, delay = message_of(step, body.get("model", "fake-model"), size), float(step.get("delay") or 0)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            if body.get("stream"):
                self._stream(msg, delay)
            else:
                time.sleep(delay * 5)
                self._json(200, msg)

    def _log(self, raw: bytes) -> None:
        srv = self.server
        try:
            body: Any = json.loads(raw) if raw else None
        except ValueError:
            body = raw.decode("utf-8", "replace")
        headers = dict(self.headers)
        for secret in ("authorization", "x-api-key"):  # never keep a key on disk
            for name in list(headers):
                if name.lower() == secret:
                    headers[name] = headers[name][:7] + "..."
        with srv.log_lock:
            srv.count += 1
            n = srv.count
            record: dict[str, Any] = {"n": n, "t": time.time(), "method": self.command, "path": self.path}
            record |= {"bytes": len(raw), "headers": headers, "body": body}
            path = os.path.join(srv.log_dir, f"{n:04d}.json")
            with open(path + ".new", "w", encoding="utf-8") as f:
                json.dump(record, f, indent=1, ensure_ascii=False)
            os.replace(path + ".new", path)  # who reads the directory meanwhile sees whole records


def described(model: str) -> dict[str, str]:
    """A row of the list of models."""
    return {"type": "model", "id": model, "display_name": model, "created_at": "2025-01-01T00:00:00Z"}


class Server(ThreadingHTTPServer):
    """What the handler needs, beside the socket."""

    daemon_threads = True
    allow_reuse_address = True
    models = ("claude-haiku-4-5-20251001", "claude-sonnet-4-5-20250929", "claude-opus-4-5-20251101")

    def __init__(self, port: int, log_dir: str, rules: list[dict[str, Any]]) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.log_dir = log_dir
        self.log_lock = threading.Lock()
        self.count = 0
        self.rules = rules

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is not news."""
        if not isinstance(sys.exc_info()[1], (BrokenPipeError, ConnectionResetError, ValueError)):
            super().handle_error(request, client_address)


def main() -> None:
    """Serve until killed; the first line on stdout names the address."""
    ap = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    ap.add_argument("--port", type=int, default=8399, help="0 = any free port (printed)")
    ap.add_argument("--log", default="fake-api-log")
    ap.add_argument("--rules", required=True, help="JSON file: list of rules")
    args = ap.parse_args()
    os.makedirs(args.log, exist_ok=True)
    with open(args.rules, encoding="utf-8") as file:
        srv = Server(args.port, args.log, json.load(file))
    print(  # noqa: T201  who started us reads the address
        f"fake Anthropic API on http://127.0.0.1:{srv.server_address[1]} pid={os.getpid()} log={args.log}",
        flush=True,
    )
    with contextlib.suppress(KeyboardInterrupt):
        srv.serve_forever()


if __name__ == "__main__":
    main()
