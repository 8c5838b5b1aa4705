"""The client's output as a `ClientReport`, parsed tolerantly. Pure.

`--output-format stream-json --verbose` prints one object a line, the `result` last; `json` prints one object, or with
`--verbose` an array of all objects. Warnings may be between the lines, and a killed client leaves half a line. What does
not parse is skipped. Judging a call is in outcome.py.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct


class ClientReport(Struct, frozen=True):
    """The `result` object and the objects around it. A missing or odd field has its empty value."""

    complete: bool = False
    """Whether there was a `result` object."""
    is_error: bool = False
    status: int | None = None
    """`api_error_status`: the API's HTTP status."""
    subtype: str = ""
    terminal: str = ""
    text: str = ""
    usd: float | None = None
    """US dollars as the client reports them; None if it does not."""
    tokens_in: int = 0
    tokens_out: int = 0
    model: str = ""
    sessions: tuple[str, ...] = ()
    """The session ids in the output, in order: these sessions are tacitd's own."""
    limit_resets: float | None = None
    """`resetsAt` of a rejected rate limit: seconds since 1970, UTC."""
    limit_rejected: bool = False


def parse_output(stdout: bytes) -> ClientReport:
    """Given all of standard output, return its report."""
    text = stdout.decode("utf-8", "replace")
    objects = list(_objects(text))
    results = [one for one in objects if one.get("type") == "result"] or [
        one for one in objects if _is_bare(one)
    ]
    limits = [info for one in objects if one.get("type") == "rate_limit_event" for info in _rejected(one)]
    sessions = tuple(dict.fromkeys(one["session_id"] for one in objects if _word(one.get("session_id"))))
    around = ClientReport(
        model=next((_word(one.get("model")) for one in objects if _word(one.get("model"))), ""),
        sessions=sessions,
        limit_resets=next((at for info in reversed(limits) if (at := _epoch(info.get("resetsAt")))), None),
        limit_rejected=bool(limits),
    )
    return _with_result(around, results[-1]) if results else around


def _with_result(around: ClientReport, result: Mapping[str, Any]) -> ClientReport:
    subtype = _word(result.get("subtype"))
    usage = result.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    status = result.get("api_error_status")
    return ClientReport(
        complete=True,
        is_error=result.get("is_error") is True or subtype.startswith("error"),
        status=status if isinstance(status, int) and not isinstance(status, bool) else None,
        subtype=subtype,
        terminal=_word(result.get("terminal_reason")),
        text=_text(result),
        usd=_dollars(result.get("total_cost_usd")),
        tokens_in=sum(
            _count(usage.get(k))
            for k in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        ),
        tokens_out=_count(usage.get("output_tokens")),
        model=_costliest(result.get("modelUsage")) or around.model,
        sessions=around.sessions,
        limit_resets=around.limit_resets,
        limit_rejected=around.limit_rejected,
    )


def _objects(text: str) -> Iterator[dict[str, Any]]:
    whole = _parsed(text)
    if whole is not None:
        yield from (one for one in (whole if isinstance(whole, list) else [whole]) if isinstance(one, dict))
        return
    found = False
    for line in text.split("\n"):
        one = _parsed(line)
        if isinstance(one, dict):
            found = True
            yield one
    if not found:
        yield from _indented(text)


def _indented(text: str) -> Iterator[dict[str, Any]]:
    """One object over several lines with other text around it."""
    start = 0 if text.startswith("{") else text.find("\n{") + 1
    if start > 0 or text.startswith("{"):
        try:
            one, _ = json.JSONDecoder().raw_decode(text, start)
        except (ValueError, RecursionError):
            return
        if isinstance(one, dict):
            yield one


def _parsed(text: str) -> Any:
    if text.strip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_bare(one: Mapping[str, Any]) -> bool:
    """Whether this is a result without its `type`, as some wrappers print it."""
    return "type" not in one and "result" in one and "is_error" in one


def _rejected(event: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    info = event.get("rate_limit_info")
    if isinstance(info, dict) and info.get("status") == "rejected":
        yield info


def _text(result: Mapping[str, Any]) -> str:
    """`result`, or the joined `errors` of the subtypes `error_*`, which have no `result`."""
    text = result.get("result")
    if isinstance(text, str):
        return text
    errors = result.get("errors")
    return "; ".join(str(one) for one in errors) if isinstance(errors, list) else ""


def _word(value: object) -> str:
    return value if isinstance(value, str) and len(value) <= 200 else ""


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**12 else 0


def _number(value: object) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def _dollars(value: object) -> float | None:
    usd = _number(value)
    return usd if usd is not None and 0 <= usd < 1e6 else None


def _epoch(value: object) -> float | None:
    """Seconds since 1970; milliseconds are recognised by their magnitude."""
    at = _number(value)
    if at is None or at <= 0:
        return None
    return at / 1000 if at > 1e11 else at


def _costliest(usage: object) -> str:
    """The model that cost the most, because a call may use a small one beside it."""
    if not isinstance(usage, dict) or not usage:
        return ""
    return max(
        (name for name in usage if isinstance(name, str)),
        key=lambda name: (
            (_number(usage[name].get("costUSD")) or 0.0) if isinstance(usage[name], dict) else 0.0
        ),
        default="",
    )
