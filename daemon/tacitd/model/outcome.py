"""The outcome of a call: given a finished child, an `Answer` or the reason why there is none. Pure.

The rules are the table of CLAUDE_CODE 3.4. `is_error`, `api_error_status` and the text decide, never the exit code alone (0 after
SIGINT) and never `subtype` (`success` on API errors). When a usage limit ends is parsed from the message,
`resets 5:33am (UTC)`; a `rate_limit_event` is more exact and takes precedence.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from datetime import datetime, timedelta
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

_LIMIT = compile_lazily(r"(hit your .*limit|limit reached).*resets", re.IGNORECASE | re.DOTALL)
_STATUS = compile_lazily(r"API Error: (?:[^\d\n]{0,40}\()?(\d{3})\b")
_BY_TEXT = {
    Why.CREDIT: r"credit balance is too low",
    Why.TOO_LONG: r"prompt is too long|request too large|input is too long",
    Why.LOGGED_OUT: r"not logged in|please run /login|invalid api key|failed to authenticate|"
    r"oauth token (has expired|revoked)|invalid bearer token",
    Why.NO_SUCH_MODEL: r"issue with the selected model|model.{0,80}(not found|may not exist)",
    Why.OVERLOADED: r"\boverloaded\b|request rejected \(429\)|internal server error",
    Why.UNREACHABLE: r"unable to connect|can't reach the api|connection (refused|dropped|error|closed|reset)|"
    r"request timed out|\b(ECONN\w+|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EPIPE)\b|fetch failed|"
    r"socket hang up|certificate",
}
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
    r"[\w -]{0,30}limit reached [·∙] resets )",
)
"""What some versions print with `is_error: false`: messages of the client, at the very beginning of the text."""
_UNKNOWN_OPTION = compile_lazily(r"unknown (option|argument)|unrecognized (option|argument)", re.I)


class ClientReport(Struct, frozen=True):
    """The `result` object and the objects around it. A missing or odd field has its empty value."""

    complete: bool = False
    """Whether there was a `result` object."""
    is_error: bool = False
    status: int | None = None
    """`api_error_status`: the API's HTTP status."""
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


# --- judging


def classify_outcome(
    finished: FinishedProcess, said: ClientReport, *, now: float, stopping: bool = False
) -> Answer | NoAnswer:
    """Given how the child ended and what it printed, return its answer, or why there is none.

    `now` is in seconds since 1970, UTC. `stopping`: the daemon is stopping, so a child that a signal ended counts as
    stopped. A complete answer counts even if the child had to be killed afterwards, because it was paid for.
    """
    code = finished.returncode
    by_signal = code < 0 or code in (129, 130, 137, 143)
    if said.complete and not said.is_error:
        if _CLIENTS_OWN_WORDS.match(said.text):
            return _classify_error(said.text, said, now)
        if not said.text.strip():
            return _no_answer(Why.BAD_ANSWER, "the answer is empty")
        usd, seconds = said.usd or 0.0, finished.seconds
        return Answer(said.text, said.model, usd, said.tokens_in, said.tokens_out, seconds)
    if finished.stopped or (stopping and not said.complete and by_signal):
        return NoAnswer(Why.STOPPING, "the daemon is stopping and ended the call")
    if said.complete:
        return _classify_error(said.text, said, now)
    if finished.timed_out:
        return _no_answer(Why.TIMED_OUT, f"no answer within {finished.seconds:.0f} s; the client was ended")
    if finished.capped:
        return _no_answer(Why.BAD_ANSWER, "the client printed far more than an answer and was ended")
    stderr = finished.stderr.decode("utf-8", "replace")
    if code and _UNKNOWN_OPTION.search(stderr):
        return _no_answer(Why.TOO_OLD, _first_line(stderr))
    plain = finished.stdout[:4000].decode("utf-8", "replace")
    words = f"{'' if plain.lstrip().startswith(('{', '[')) else plain}\n{stderr[:4000]}".strip()
    if code or said.limit_rejected:
        judged = _classify_error(words, said, now)
        if judged.why is not Why.BAD_ANSWER:
            return judged
    how = f"signal {-code}" if code < 0 else f"exit status {code}"
    what = f"the client ended without an answer ({how}) {_first_line(words)}"
    return _no_answer(Why.BAD_ANSWER, what.rstrip())


def _classify_error(text: str, said: ClientReport, now: float) -> NoAnswer:
    """The table from top to bottom: limits first, then the text, then the status."""
    detail, status = _first_line(text), said.status
    if said.limit_rejected and status in (None, 429):
        at = _clamp(said.limit_resets, now) if said.limit_resets else reset_time(text, now)
        return _no_answer(Why.LIMIT, detail, at)
    if _LIMIT.search(text):
        return _no_answer(Why.LIMIT, detail, reset_time(text, now))
    if said.terminal in ("prompt_too_long", "blocking_limit"):
        return _no_answer(Why.TOO_LONG, detail)
    if status is None and (named := _STATUS.search(text)):
        status = int(named[1])
    for why, words in _BY_TEXT.items():
        if re.search(words, text, re.I) and _agrees(why, status):
            return _no_answer(why, detail)
    by_status = Why.OVERLOADED if (status or 0) >= 500 else Why.BAD_ANSWER
    return _no_answer(_BY_STATUS.get(status or 0, by_status), detail)


def _agrees(why: Why, status: int | None) -> bool:
    """Whether the status can go with this reason. An API's message may contain any words, so a known status limits them."""
    if status is None or why in (Why.CREDIT, Why.TOO_LONG):
        return status is None or status < 500
    return _BY_STATUS.get(status, Why.OVERLOADED if status >= 500 else why) is why


def _first_line(text: str) -> str:
    """The first line of the client's text for `status`: at most 200 characters, without secrets or control characters."""
    line = next((one for one in text.split("\n") if one.strip()), "")
    # Before redaction, because an escape sequence can hide where a secret begins.
    return shorten_line(redact_secrets(sanitize_line(line[:2000]))[0], 200)


def _no_answer(why: Why, detail: str, retry_at: float | None = None) -> NoAnswer:
    return NoAnswer(why, detail or str(why), HINTS.get(why, ""), retry_at)


# --- when a limit ends

_AT = compile_lazily(
    r"resets\s+(?:at\s+)?"
    r"(?:(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+(?P<day>\d{1,2})\b,?\s*(?:at\s+)?)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?\s*(?P<half>[ap]m)?"
    r"(?:\s*\((?P<zone>[A-Za-z0-9_+\-/]{1,40})\))?",
    re.IGNORECASE,
)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]


def reset_time(text: str, now: float) -> float:
    """Given the client's message, return the next such time after `now`; both in seconds since 1970, UTC.

    A time without a zone is local time. Without a readable time the result is thirty minutes from `now`.
    """
    said = _AT.search(text)
    try:
        return _clamp(_find_next(said, now), now) if said else now + UNKNOWN
    except (ValueError, OverflowError, OSError, KeyError):  # 25:70, or an unknown zone
        return now + UNKNOWN


def _clamp(at: float, now: float) -> float:
    return min(max(at, now + 60.0), now + LONGEST)


def _find_next(said: re.Match[str], now: float) -> float:
    hour, half = int(said["hour"]), (said["half"] or "").lower()
    if half:
        if not 1 <= hour <= 12:
            raise ValueError(f"{hour}{half} is not a time")
        hour = hour % 12 + (12 if half == "pm" else 0)
    here = datetime.fromtimestamp(now, ZoneInfo(said["zone"]) if said["zone"] else None)
    when = here.replace(hour=hour, minute=int(said["minute"] or 0), second=0, microsecond=0)
    if said["month"]:
        when = when.replace(month=_MONTHS.index(said["month"].lower()) + 1, day=int(said["day"]))
        return (when if when >= here else when.replace(year=when.year + 1)).timestamp()
    return (when if when > here else when + timedelta(days=1)).timestamp()


# --- the client's output
#
# `--output-format stream-json --verbose` prints one object a line, the `result` last. Warnings may be between the lines, and a
# killed client leaves half a line. What does not parse is skipped.


def parse_output(stdout: bytes) -> ClientReport:
    """Given all of standard output, return its report."""
    objects = list[dict[str, Any]]()
    for line in stdout.decode("utf-8", "replace").split("\n"):
        if line.lstrip().startswith("{"):
            with suppress(ValueError, RecursionError):
                objects.append(json.loads(line))
    words = {
        key: [word for one in objects if (word := _word(one.get(key)))] for key in ("session_id", "model")
    }
    events = (one.get("rate_limit_info") for one in objects if one.get("type") == "rate_limit_event")
    limits = [info for info in events if isinstance(info, dict) and info.get("status") == "rejected"]
    resets = (_number(info.get("resetsAt"), 1e11) for info in reversed(limits))
    results = [one for one in objects if one.get("type") == "result"]
    result = results[-1] if results else {}
    usage, models = (
        found if isinstance(found := result.get(key), dict) else {} for key in ("usage", "modelUsage")
    )
    sent = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    # The model that cost the most, because a call may use a small one beside it.
    costs = {
        name: _number(one.get("costUSD"), 1e6) or 0.0 for name, one in models.items() if isinstance(one, dict)
    }
    status, errors = result.get("api_error_status"), result.get("errors")
    text = result.get("result")
    if not isinstance(text, str):  # the subtypes `error_*` have none
        text = "; ".join(map(str, errors)) if isinstance(errors, list) else ""
    subtype = _word(result.get("subtype"))
    is_error = result.get("is_error") is True or subtype.startswith("error")
    return ClientReport(
        complete=bool(results),
        is_error=is_error,
        status=status if type(status) is int else None,
        terminal=_word(result.get("terminal_reason")),
        text=text or (subtype if is_error else ""),
        usd=_number(result.get("total_cost_usd"), 1e6),
        tokens_in=sum(int(_number(usage.get(key), 1e12) or 0) for key in sent),
        tokens_out=int(_number(usage.get("output_tokens"), 1e12) or 0),
        model=max(costs, key=costs.__getitem__, default="") or next(iter(words["model"]), ""),
        sessions=tuple(dict.fromkeys(words["session_id"])),
        limit_resets=next(filter(None, resets), None),
        limit_rejected=bool(limits),
    )


def _word(value: object) -> str:
    return value if isinstance(value, str) and len(value) <= 200 else ""


def _number(value: object, limit: float) -> float | None:
    """A number from 0 to less than `limit`; None for anything else."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < limit:
        return None
    return float(value)
