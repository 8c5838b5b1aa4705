"""The outcome of a call: given a finished child, an `Answer` or the reason why there is none. Pure.

The rules are the table of CLAUDE_CODE 3.4 and the wordings of older versions. `is_error`, `api_error_status` and the text
decide, never the exit code alone (0 after SIGINT) and never `subtype` (`success` on API errors). When a usage limit ends is
parsed from the message, `resets 5:33am (UTC)` (1.0.128 to 2.1.328); a `rate_limit_event` is more exact and takes precedence.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from tacitd.model.client_output import ClientReport, parse_output
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
