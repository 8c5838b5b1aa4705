"""A small fake of the Anthropic Messages API, for driving the real `claude` CLI offline.

Standard library only.  Listens on 127.0.0.1.  Answers

    POST /v1/messages               (stream = SSE, or one JSON document)
    POST /v1/messages/count_tokens
    GET  /v1/models, /v1/models/<id>
    HEAD <any>, GET /               200 {}     (the client's connectivity probes)
    anything else                   404 in the API's error shape (and it is logged)

Which reply is given
--------------------
Rules are tried in order; the first whose regex is found in the *subject* wins.

  subject = text of the newest user message that is not only tool results
            ("on": "prompt", the default), or the system prompt ("on": "system"),
            or the whole request body as JSON ("on": "body").

A rule is {"match": REGEX, "on": ..., "steps": [STEP, ...], "fault": FAULT, "times": N}.
STEP number k is played when k assistant messages already follow the prompt, so a script
such as [{"tool": "Bash", "input": {...}}, {"text": "done"}] plays a tool round and ends.
After the last step the last *text* step (or "OK") is repeated.

  STEP  = {"text": "..."} | {"tool": NAME, "input": {...}} | {"thinking": "..."}
        | {"blocks": [STEP, ...]}         several blocks in one assistant message
        + optional "usage": {...}, "stop_reason": "...", "delay": SECONDS (between SSE events)
  FAULT = {"status": 429, "type": "rate_limit_error", "message": "...", "headers": {...}}
        | {"hang": SECONDS}               accept, send nothing for so long, then close
        | {"reset": true}                 close the socket without a reply
        | {"sse_error": "overloaded_error"}  start an SSE stream, then an `error` event
        | {"cut_after": N}                close the stream after N SSE events
  "times": the fault is injected only for the first N matching requests.

Rules come from --rules FILE (JSON list, read again whenever it changes).  Where no rule matches,
directives inside the prompt work:

  [[reply:TEXT]]  [[tool:NAME {json}]]  [[think:TEXT]]  [[slow:SECONDS]]   [[usage:{json}]]
  [[fault:429]]  [[fault:529 times=2]]  [[fault:hang=20]]  [[fault:reset]]
  [[fault:sse=overloaded_error]]  [[fault:cut=3]]  [[stop:max_tokens]]
  [[fault:usage-limit]]  [[fault:usage-limit=seven_day]]  (429 with a subscription's window headers)
  [[fault:credit]]  [[fault:toolong]]  [[fault:429 retry-after=3 times=1]]  [[fault:429 noretry]]
  [[json:{...}]]    reply with exactly this JSON as text
  [[echo]]          reply with the length of the prompt

Several [[tool:..]] directives are consecutive steps.  --fault 'SPEC' injects for every request.
"times" is counted per client session (header X-Claude-Code-Session-Id) and rule.  A directive's
argument ends at the first "]]": nested brackets need a rules file.

Logging: --log DIR gets one file per request, NNNN.json: {n, t, method, path, bytes, headers, body},
and one line per request in DIR/requests.log.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from fake_replies import Script, message_of, parse_fault, prompt_and_step, sse_events

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

    def _drop(self) -> None:
        """Close the connection without a reply."""
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def _stream(
        self, msg: dict[str, Any], delay: float, cut_after: int | None, sse_error: str | None
    ) -> None:
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

        for i, (name, doc) in enumerate(sse_events(msg)):
            if sse_error and i == 1:
                emit("error", {"type": "error", "error": {"type": sse_error, "message": "Overloaded"}})
                break
            if cut_after is not None and i >= cut_after:
                self._drop()
                return
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
        step, fault = self.server.script.choose(body, self.headers.get("X-Claude-Code-Session-Id", ""))
        fault = fault or {}
        if "hang" in fault:
            time.sleep(fault["hang"])
            self._drop()
        elif fault.get("reset"):
            self._drop()
        elif "status" in fault:
            self._error(fault["status"], fault.get("type"), fault.get("message"), fault.get("headers"))
        else:
            self._answer(body, size, step, fault)

    def _answer(self, body: dict[str, Any], size: int, step: dict[str, Any], fault: dict[str, Any]) -> None:
        msg = message_of(step, body.get("model", "fake-model"), size)
        delay = float(step.get("delay") or 0)
        try:
            if body.get("stream"):
                self._stream(msg, delay, fault.get("cut_after"), fault.get("sse_error"))
            else:
                time.sleep(delay * 5)
                self._json(200, msg)
        except (BrokenPipeError, ConnectionResetError):
            self._note("client went away")

    def _note(self, text: str) -> None:
        with self.server.log_lock, open(os.path.join(self.server.log_dir, "requests.log"), "a") as f:
            f.write(f"{time.time():.3f} -- {text}\n")

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
            brief = ""
            if isinstance(body, dict) and "messages" in body:
                prompt, k = prompt_and_step(body["messages"])
                brief = (
                    f"model={body.get('model')} stream={bool(body.get('stream'))} "
                    f"tools={len(body.get('tools') or [])} msgs={len(body['messages'])} step={k} "
                    f"bytes={len(raw)} prompt={prompt[-80:]!r}"
                )
            with open(os.path.join(srv.log_dir, "requests.log"), "a") as f:
                f.write(f"{time.time():.3f} {n:04d} {self.command} {self.path} {brief}\n")


def described(model: str) -> dict[str, str]:
    """A row of the list of models."""
    return {"type": "model", "id": model, "display_name": model, "created_at": "2025-01-01T00:00:00Z"}


class Server(ThreadingHTTPServer):
    """What the handler needs, beside the socket."""

    daemon_threads = True
    allow_reuse_address = True
    models = ("claude-haiku-4-5-20251001", "claude-sonnet-4-5-20250929", "claude-opus-4-5-20251101")

    def __init__(self, port: int, log_dir: str, script: Script) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.log_dir = log_dir
        self.log_lock = threading.Lock()
        self.count = 0
        self.script = script

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is not news."""
        if not isinstance(sys.exc_info()[1], (BrokenPipeError, ConnectionResetError, ValueError)):
            super().handle_error(request, client_address)


def main() -> None:
    """Serve until killed; the first line on stdout names the address."""
    ap = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    ap.add_argument("--port", type=int, default=8399, help="0 = any free port (printed)")
    ap.add_argument("--log", default="fake-api-log")
    ap.add_argument("--rules", help="JSON file: list of rules")
    ap.add_argument("--fault", help="inject for every request, e.g. '529', '429 times=2', 'hang=20'")
    args = ap.parse_args()
    os.makedirs(args.log, exist_ok=True)
    srv = Server(args.port, args.log, Script(args.rules, parse_fault(args.fault) if args.fault else None))
    print(  # noqa: T201  who started us reads the address
        f"fake Anthropic API on http://127.0.0.1:{srv.server_address[1]} pid={os.getpid()} log={args.log}",
        flush=True,
    )
    with contextlib.suppress(KeyboardInterrupt):
        srv.serve_forever()


if __name__ == "__main__":
    main()
