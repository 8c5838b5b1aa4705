"""What the stand-in API answers: rules and directives, and messages in the form of the API.

No socket here; `fake_api.py` serves it, and its head describes the rules.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
import uuid
from collections.abc import Iterator
from typing import Any


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


DIRECTIVE = re.compile(r"\[\[(reply|tool|think|slow|usage|fault|stop|json|echo)(?::(.*?))?\]\]", re.S)


def parse_fault(spec: str) -> dict[str, Any]:
    """A fault as a person writes it: `429 retry-after=3 times=1`."""
    fault: dict[str, Any] = {}
    for word in spec.split():
        key, _, val = word.partition("=")
        if key == "times":
            fault["times"] = int(val)
        elif key == "hang":
            fault["hang"] = float(val or 30)
        elif key == "reset":
            fault["reset"] = True
        elif key == "sse":
            fault["sse_error"] = val or "overloaded_error"
        elif key == "cut":
            fault["cut_after"] = int(val or 2)
        elif key == "retry-after":
            fault.setdefault("headers", {})["retry-after"] = val
        elif key == "usage-limit":  # the shape a subscription's exhausted window answers with
            fault.update(
                status=429,
                message="This request would exceed your account's rate limit. Please try again later.",
            )
            fault.setdefault("headers", {}).update(
                {
                    "anthropic-ratelimit-unified-status": "rejected",
                    "anthropic-ratelimit-unified-reset": str(int(time.time()) + 3600),
                    "anthropic-ratelimit-unified-representative-claim": val or "five_hour",
                    "x-should-retry": "false",
                }
            )
        elif key == "credit":
            fault.update(
                status=400,
                type="invalid_request_error",
                message="Your credit balance is too low to access the Anthropic API. "
                "Please go to Plans & Billing to upgrade or purchase credits.",
            )
        elif key == "toolong":
            fault.update(
                status=400,
                type="invalid_request_error",
                message="prompt is too long: 210000 tokens > 200000 maximum",
            )
        elif key == "noretry":
            fault.setdefault("headers", {})["x-should-retry"] = "false"
        elif key.isdigit():
            fault["status"] = int(key)
    return fault


def rule_from_directives(prompt: str) -> dict[str, Any] | None:
    """What `[[...]]` in the prompt asks for; None where nothing does."""
    # Only the newest 200 kB are scanned: prompts of a megabyte must stay cheap.
    hits = DIRECTIVE.findall(prompt[-200_000:])
    if not hits:
        return None
    steps: list[dict[str, Any]] = []
    every: dict[str, Any] = {}
    rule: dict[str, Any] = {}
    for name, arg in hits:
        if name in ("reply", "json"):
            steps.append({"text": arg})
        elif name == "echo":
            steps.append({"text": f"prompt of {len(prompt)} characters"})
        elif name == "think":
            steps.append({"blocks": [{"thinking": arg}, {"text": "thought about it"}]})
        elif name == "tool":
            tool, _, raw = arg.strip().partition(" ")
            steps.append({"tool": tool, "input": json.loads(raw or "{}")})
        elif name == "slow":
            every["delay"] = float(arg)
        elif name == "usage":
            every["usage"] = json.loads(arg)
        elif name == "stop":
            every["stop_reason"] = arg
        elif name == "fault":
            rule["fault"] = parse_fault(arg)
    rule["steps"] = [{**step, **every} for step in steps or [{"text": "OK"}]]
    rule["match"] = "directive:" + json.dumps(hits)[:300]
    return rule


class Script:
    """The rules, plus how often each has matched (for "times")."""

    def __init__(self, rules_file: str | None, fault: dict[str, Any] | None) -> None:
        self.file = rules_file
        self.mtime = 0
        self.rules: list[dict[str, Any]] = []
        self.fault = fault
        self.seen: dict[tuple[str, str], int] = {}
        self.lock = threading.Lock()

    def reload(self) -> None:
        """Rules may be edited while the server runs: the file is read again when it changes."""
        if self.file:
            mtime = os.stat(self.file).st_mtime_ns
            if mtime != self.mtime:
                with open(self.file, encoding="utf-8") as f:
                    self.rules, self.mtime = json.load(f), mtime

    def choose(self, body: dict[str, Any], session: str = "") -> tuple[dict[str, Any], dict[str, Any] | None]:
        """(step to play, fault to inject or None).  "times" is counted per client session."""
        self.reload()
        prompt, k = prompt_and_step(body.get("messages"))
        default: dict[str, Any] = {"match": "default", "steps": [{"text": "OK from the fake API."}]}
        rule = self.matching(prompt, body) or rule_from_directives(prompt) or default
        steps = rule.get("steps") or [{"text": "OK"}]
        if k < len(steps):
            step = steps[k]
        else:
            step = next((s for s in reversed(steps) if "text" in s), {"text": "OK"})
        fault = rule.get("fault") or self.fault
        if fault:
            limit = fault.get("times", rule.get("times"))
            key = (session, rule["match"])
            with self.lock:
                n = self.seen[key] = self.seen.get(key, 0) + 1
            if limit is not None and n > limit:
                fault = None
        return step, fault

    def matching(self, prompt: str, body: dict[str, Any]) -> dict[str, Any] | None:
        """The first rule whose regex is found in its subject."""
        subjects = {"prompt": prompt, "system": json.dumps(body.get("system")), "body": json.dumps(body)}
        found = (r for r in self.rules if re.search(r["match"], subjects[r.get("on", "prompt")], re.DOTALL))
        return next(found, None)


def blocks_of(step: dict[str, Any]) -> list[dict[str, Any]]:
    """The content blocks of one assistant message."""
    out: list[dict[str, Any]] = []
    for s in step.get("blocks") or [step]:
        if "thinking" in s:
            out.append({"type": "thinking", "thinking": s["thinking"], "signature": "ZmFrZS1zaWduYXR1cmU="})
        elif "tool" in s:
            out.append(
                {
                    "type": "tool_use",
                    "id": "toolu_" + uuid.uuid4().hex[:24],
                    "name": s["tool"],
                    "input": s.get("input", {}),
                }
            )
        else:
            out.append({"type": "text", "text": s.get("text", "OK")})
    return out


def message_of(step: dict[str, Any], model: str, prompt_chars: int) -> dict[str, Any]:
    """One finished assistant message in the form of the API."""
    blocks = blocks_of(step)
    usage = {
        "input_tokens": max(1, prompt_chars // 4),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": max(1, len(json.dumps(blocks)) // 4),
        "service_tier": "standard",
    }
    usage.update(step.get("usage") or {})
    stop = step.get("stop_reason") or (
        "tool_use" if any(b["type"] == "tool_use" for b in blocks) else "end_turn"
    )
    return {
        "id": "msg_" + uuid.uuid4().hex[:24],
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
    }


def sse_events(msg: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The event sequence of the streaming API for one finished message."""
    head = dict(msg, content=[], stop_reason=None, usage=dict(msg["usage"], output_tokens=1))
    yield "message_start", {"type": "message_start", "message": head}
    yield "ping", {"type": "ping"}
    for i, b in enumerate(msg["content"]):
        start: dict[str, Any]
        if b["type"] == "text":
            start, text = {"type": "text", "text": ""}, b["text"]
            deltas = [{"type": "text_delta", "text": text[j : j + 40]} for j in range(0, len(text), 40)]
        elif b["type"] == "thinking":
            start = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [
                {"type": "thinking_delta", "thinking": b["thinking"]},
                {"type": "signature_delta", "signature": b["signature"]},
            ]
        else:
            raw = json.dumps(b["input"])
            start = {"type": "tool_use", "id": b["id"], "name": b["name"], "input": {}}
            deltas = [
                {"type": "input_json_delta", "partial_json": raw[j : j + 60]} for j in range(0, len(raw), 60)
            ]
        yield "content_block_start", {"type": "content_block_start", "index": i, "content_block": start}
        for d in deltas:
            yield "content_block_delta", {"type": "content_block_delta", "index": i, "delta": d}
        yield "content_block_stop", {"type": "content_block_stop", "index": i}
    delta = {"stop_reason": msg["stop_reason"], "stop_sequence": None}
    usage = {"output_tokens": msg["usage"]["output_tokens"]}
    yield "message_delta", {"type": "message_delta", "delta": delta, "usage": usage}
    yield "message_stop", {"type": "message_stop"}
