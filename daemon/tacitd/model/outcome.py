"""The outcome of a call: given a finished child, an `Answer` or the reason why there is none. Pure.

The rules are the table of CLAUDE_CODE 3.4 and the wordings of older versions. `is_error`, `api_error_status` and the text
decide, never the exit code alone (0 after SIGINT) and never `subtype` (`success` on API errors). When a usage limit ends is
parsed from the message, `resets 5:33am (UTC)` (1.0.128 to 2.1.328); a `rate_limit_event` is more exact and takes precedence.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from msgspec import Struct

from tacitd.model.port import Answer, NoAnswer, Why
from tacitd.model.process import FinishedProcess
from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.redact import redact_secrets
from tacitd.text.sanitize import sanitize_line
from tacitd.text.wording import shorten_line

UNKNOWN = 1800.0
"""Seconds to wait if the message of a limit has no time."""
LONGEST = 8 * 86400.0
"""Seconds. The longest window is a week, so a later time is not believed."""

_AT = compile_lazily(
    r"resets\s+(?:at\s+)?"
    r"(?:(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+(?P<day>\d{1,2})\b,?\s*(?:at\s+)?)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?\s*(?P<half>[ap]m)?"
    r"(?:\s*\((?P<zone>[A-Za-z0-9_+\-/]{1,40})\))?",
    re.IGNORECASE,
)
_EPOCH = compile_lazily(r"limit reached\|(\d{9,13})")
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
HINTS: dict[Why, str] = {
    Why.TOO_OLD: "tacitd needs Claude Code 2.0.76 or newer: `claude update`",
    Why.LOGGED_OUT: "run `claude` and log in with /login; for a service, run `claude setup-token` and put "
    "CLAUDE_CODE_OAUTH_TOKEN into its environment; an API key is passed only if claude.pass_env names it",
    Why.LIMIT: "nothing to do: work continues when the limit is reset",
    Why.CREDIT: "add credit to the account, or log in with a subscription",
    Why.OVERLOADED: "nothing to do: tacitd retries",
    Why.UNREACHABLE: "check the network and the proxy (HTTPS_PROXY, NODE_EXTRA_CA_CERTS); tacitd retries",
    Why.NO_SUCH_MODEL: "set claude.fast, claude.smart or claude.accurate to a model that your account has",
    Why.TIMED_OUT: "claude.timeout sets how long a call may take",
}

_LIMIT = compile_lazily(
    r"(hit your .*limit|limit reached).*resets|usage limit reached\|\d+", re.IGNORECASE | re.DOTALL
)
_STATUS = compile_lazily(r"API Error: (?:[^\d\n]{0,40}\()?(\d{3})\b")
_BY_TEXT: tuple[tuple[Why, re.Pattern[str]], ...] = (
    (Why.CREDIT, re.compile(r"credit balance is too low", re.I)),
    (Why.TOO_LONG, re.compile(r"prompt is too long|request too large|input is too long", re.I)),
    (
        Why.LOGGED_OUT,
        re.compile(
            r"not logged in|please run /login|invalid api key|failed to authenticate|"
            r"oauth token (has expired|revoked)|invalid bearer token",
            re.I,
        ),
    ),
    (
        Why.NO_SUCH_MODEL,
        re.compile(r"issue with the selected model|model.{0,80}(not found|may not exist)", re.I),
    ),
    (Why.OVERLOADED, re.compile(r"\boverloaded\b|request rejected \(429\)|internal server error", re.I)),
    (
        Why.UNREACHABLE,
        re.compile(
            r"unable to connect|can't reach the api|connection (refused|dropped|error|closed|reset)|request timed out|"
            r"\b(ECONN\w+|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EPIPE)\b|fetch failed|"
            r"socket hang up|certificate",
            re.I,
        ),
    ),
)
_BY_STATUS = {
    400: Why.BAD_ANSWER,
    401: Why.LOGGED_OUT,
    402: Why.CREDIT,
    403: Why.LOGGED_OUT,
    404: Why.NO_SUCH_MODEL,
    408: Why.UNREACHABLE,
    413: Why.TOO_LONG,
    429: Why.OVERLOADED,
}
_CLIENTS_OWN_WORDS = compile_lazily(
    r"\A\s*(Not logged in · |Invalid API key · |You've hit your .{0,40}limit [·∙] resets |"
    r"[\w -]{0,30}limit reached [·∙] resets |Claude AI usage limit reached\|\d)",
)
"""What some versions print with `is_error: false`: messages of the client, at the very beginning of the text."""
_UNKNOWN_OPTION = compile_lazily(r"unknown (option|argument)|unrecognized (option|argument)", re.I)


def classify_outcome(
    finished: FinishedProcess, *, now: float, stopping: bool = False, report: ClientReport | None = None
) -> Answer | NoAnswer:
    """Given how the child ended, return its answer, or why there is none.

    `now` is in seconds since 1970, UTC. `stopping`: the daemon is stopping, so a child that a signal ended counts as
    stopped. A complete answer counts even if the child had to be killed afterwards, because it was paid for.
    """
    said = report if report is not None else parse_output(finished.stdout)
    if said.complete and not said.is_error:
        return _answer(finished, said, now)
    if finished.stopped or (stopping and not said.complete and _by_signal(finished.returncode)):
        return NoAnswer(Why.STOPPING, "the daemon is stopping and ended the call")
    if said.complete:
        return _classify_error(said.text or said.subtype, said.status, said, now)
    if finished.timed_out:
        return _no_answer(Why.TIMED_OUT, f"no answer within {finished.seconds:.0f} s; the client was ended")
    if finished.capped:
        return _no_answer(Why.BAD_ANSWER, "the client printed far more than an answer and was ended")
    return _without_result(finished, said, now)


def _answer(finished: FinishedProcess, said: ClientReport, now: float) -> Answer | NoAnswer:
    if _CLIENTS_OWN_WORDS.match(said.text):
        return _classify_error(said.text, said.status, said, now)
    if not said.text.strip():
        return _no_answer(Why.BAD_ANSWER, "the answer is empty")
    return Answer(
        text=said.text,
        model=said.model,
        usd=said.usd or 0.0,
        tokens_in=said.tokens_in,
        tokens_out=said.tokens_out,
        seconds=finished.seconds,
    )


def _without_result(finished: FinishedProcess, said: ClientReport, now: float) -> NoAnswer:
    """The outcome without a result object: the client is old, crashed, or printed plain text."""
    stderr = finished.stderr.decode("utf-8", "replace")
    if finished.returncode != 0 and _UNKNOWN_OPTION.search(stderr):
        return _no_answer(Why.TOO_OLD, _first_line(stderr))
    plain = finished.stdout[:4000].decode("utf-8", "replace")
    words = f"{plain if not plain.lstrip().startswith(('{', '[')) else ''}\n{stderr[:4000]}".strip()
    if finished.returncode != 0 or said.limit_rejected:
        judged = _classify_error(words, None, said, now)
        if judged.why is not Why.BAD_ANSWER:
            return judged
    how = (
        f"signal {-finished.returncode}" if finished.returncode < 0 else f"exit status {finished.returncode}"
    )
    return _no_answer(
        Why.BAD_ANSWER, f"the client ended without an answer ({how}) {_first_line(words)}".rstrip()
    )


def _classify_error(text: str, status: int | None, said: ClientReport, now: float) -> NoAnswer:
    """The table from top to bottom: limits first, then the text, then the status."""
    if said.limit_rejected and status in (None, 429):
        at = said.limit_resets
        return _no_answer(
            Why.LIMIT, _first_line(text), clamp_reset_time(at, now) if at else reset_time(text, now)
        )
    if _LIMIT.search(text):
        return _no_answer(Why.LIMIT, _first_line(text), reset_time(text, now))
    if said.terminal in ("prompt_too_long", "blocking_limit"):
        return _no_answer(Why.TOO_LONG, _first_line(text))
    named = _STATUS.search(text)
    return _no_answer(
        _find_reason(text, status if status is not None else int(named[1]) if named else None),
        _first_line(text),
    )


def _find_reason(text: str, status: int | None) -> Why:
    for why, words in _BY_TEXT:
        if words.search(text) and _agrees(why, status):
            return why
    if status is None:
        return Why.BAD_ANSWER
    return _BY_STATUS.get(status, Why.OVERLOADED if status >= 500 else Why.BAD_ANSWER)


def _agrees(why: Why, status: int | None) -> bool:
    """Whether the status can go with this reason. An API's message may contain any words, so a known status limits them."""
    if status is None or why in (Why.CREDIT, Why.TOO_LONG):
        return status is None or status < 500
    return _BY_STATUS.get(status, Why.OVERLOADED if status >= 500 else why) is why


def _by_signal(code: int) -> bool:
    return code < 0 or code in (129, 130, 137, 143)


def _first_line(text: str) -> str:
    """The first line of the client's text for `status`: at most 200 characters, without secrets or control characters."""
    line = next((one for one in text.split("\n") if one.strip()), "")
    # Before redaction, because an escape sequence can hide where a secret begins.
    plain = sanitize_line(line[:2000])
    return shorten_line(redact_secrets(plain)[0], 200)


def _no_answer(why: Why, detail: str, retry_at: float | None = None) -> NoAnswer:
    return NoAnswer(why, detail or str(why), HINTS.get(why, ""), retry_at)


def reset_time(text: str, now: float) -> float:
    """Given the client's message, return the next such time after `now`; both in seconds since 1970, UTC.

    A time without a zone is local time. Without a readable time the result is thirty minutes from `now`.
    """
    epoch = _EPOCH.search(text)
    if epoch:
        return clamp_reset_time(float(epoch[1][:10]), now)
    said = _AT.search(text)
    try:
        return clamp_reset_time(_next(said, now), now) if said else now + UNKNOWN
    except (ValueError, OverflowError, OSError, KeyError):  # 25:70, or an unknown zone
        return now + UNKNOWN


def clamp_reset_time(at: float, now: float) -> float:
    """The reset time (seconds since 1970, UTC), limited to between a minute and eight days from `now`."""
    return min(max(at, now + 60.0), now + LONGEST)


def _next(said: re.Match[str], now: float) -> float:
    zone: tzinfo | None = ZoneInfo(said["zone"]) if said["zone"] else None
    here = datetime.fromtimestamp(now, zone)
    when = here.replace(hour=_hour(said), minute=int(said["minute"] or 0), second=0, microsecond=0)
    if said["month"]:
        when = when.replace(month=_MONTHS.index(said["month"].lower()[:3]) + 1, day=int(said["day"]))
        return (when if when >= here else when.replace(year=when.year + 1)).timestamp()
    return (when if when > here else when + timedelta(days=1)).timestamp()


def _hour(said: re.Match[str]) -> int:
    hour, half = int(said["hour"]), (said["half"] or "").lower()
    if not half:
        return hour
    if not 1 <= hour <= 12:
        raise ValueError(f"{hour}{half} is not a time")
    return hour % 12 + (12 if half == "pm" else 0)


# --- The client's output as a `ClientReport`, parsed tolerantly. Pure.
#
# `--output-format stream-json --verbose` prints one object a line, the `result` last; `json` prints one
# object, or with `--verbose` an array of all objects. Warnings may be between the lines, and a killed
# client leaves half a line. What does not parse is skipped. Judging a call is in outcome.py.


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
