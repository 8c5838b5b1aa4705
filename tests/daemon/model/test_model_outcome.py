"""The outcome of a call: the table of CLAUDE_CODE 3.4 and older wordings."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.model.outcome import LONGEST, ClientReport, classify_outcome, parse_output, reset_time
from tacitd.model.port import Answer, NoAnswer, Why
from tacitd.model.process import FinishedProcess

NOW = datetime(2026, 11, 20, 4, 0, tzinfo=UTC).timestamp()


def result(
    text: str | None = "fine", *, error: bool = False, status: int | None = None, **more: Any
) -> dict[str, Any]:
    """A `result` object as 2.1.328 prints it."""
    return {
        "type": "result",
        "subtype": "success",
        "is_error": error,
        "api_error_status": status,
        "result": text,
        "session_id": "s-1",
        "total_cost_usd": 0.002,
        "usage": {
            "input_tokens": 7,
            "cache_creation_input_tokens": 2,
            "cache_read_input_tokens": 1,
            "output_tokens": 3,
        },
        "modelUsage": {"claude-haiku-5-5": {"costUSD": 0.002}},
        **more,
    }


def finished(*objects: dict[str, Any] | str, code: int = 0, stderr: str = "", **more: Any) -> FinishedProcess:
    """A child that printed these objects, one a line."""
    lines = [one if isinstance(one, str) else json.dumps(one) for one in objects]
    return FinishedProcess(code, "\n".join(lines).encode(), stderr.encode(), **more)


def judged(*objects: dict[str, Any] | str, **more: Any) -> Answer | NoAnswer:
    """The outcome at NOW."""
    child = finished(*objects, **more)
    return classify_outcome(child, parse_output(child.stdout), now=NOW)


def why(*objects: dict[str, Any] | str, **more: Any) -> Why:
    """The reason why there is no answer."""
    outcome = judged(*objects, **more)
    assert isinstance(outcome, NoAnswer), outcome
    return outcome.why


def test_an_answer_with_its_cost() -> None:
    """CLAUDE_CODE 3.4: result, total_cost_usd, usage, modelUsage."""
    assert judged({"type": "system", "model": "x"}, result("hello"), seconds=1.5) == Answer(
        "hello", "claude-haiku-5-5", 0.002, 10, 3, 1.5
    )


@pytest.mark.parametrize(
    "stdout",
    [
        "warning: something\n" + json.dumps(result("hello")) + "\n\ntrailing {",
        json.dumps(result("first")) + "\n" + json.dumps(result("hello")),
    ],
)
def test_output_is_read_liberally(stdout: str) -> None:
    """With noise around; the last result wins."""
    outcome = judged(stdout)
    assert isinstance(outcome, Answer) and outcome.text == "hello"


@pytest.mark.parametrize(
    ("status", "text", "expected"),
    [
        (400, "Credit balance is too low", Why.CREDIT),
        (400, "Prompt is too long · the request is ~210000 tokens (limit 200000)", Why.TOO_LONG),
        (401, "Invalid API key · Fix external API key", Why.LOGGED_OUT),
        (401, "Not logged in · Please run /login", Why.LOGGED_OUT),
        (None, "Not logged in · Please run /login", Why.LOGGED_OUT),
        (None, "Invalid API key · Please run /login", Why.LOGGED_OUT),
        (403, "Failed to authenticate. API Error: 403 forbidden", Why.LOGGED_OUT),
        (404, "There's an issue with the selected model (X). It may not exist or you may not have access to it. Run /model", Why.NO_SUCH_MODEL),
        (413, "Request too large (max 32MB). Double press esc", Why.TOO_LONG),
        (429, "API Error: Request rejected (429) · This request would exceed", Why.OVERLOADED),
        (429, "You've hit your 5-hour limit · resets 5:33am (UTC)", Why.LIMIT),
        (429, "You've hit your weekly limit · resets Nov 23, 5am (UTC)", Why.LIMIT),
        (429, "You've hit your session limit · resets 6:25am (UTC)", Why.LIMIT),
        (None, "Session limit reached ∙ resets 6:25am", Why.LIMIT),
        (500, "API Error: 500 Internal server error", Why.OVERLOADED),
        (529, "API Error: 529 Overloaded. This is a server-side issue, usually temporary", Why.OVERLOADED),
        (None, "API Error: 529 {\"type\":\"error\"}", Why.OVERLOADED),
        (500, "Internal error while checking whether the prompt is too long", Why.OVERLOADED),
        (400, "bad request: no internal server error", Why.BAD_ANSWER),
        (403, "the certificate of this account is not valid", Why.LOGGED_OUT),
        (401, "model x was not found for this key", Why.LOGGED_OUT),
        (None, "API Error: Connection refused at http://127.0.0.1 (ECONNREFUSED)", Why.UNREACHABLE),
        (None, "API Error: Unable to connect to API (ConnectionRefused)", Why.UNREACHABLE),
        (None, "API Error: Can't reach the API server api.x (ENOTFOUND)", Why.UNREACHABLE),
        (None, "API Error: Connection dropped (ECONNRESET).", Why.UNREACHABLE),
        (None, "Request timed out. Check your network", Why.UNREACHABLE),
        (400, "API Error: 400 messages: something odd", Why.BAD_ANSWER),
        (None, "something new", Why.BAD_ANSWER),
    ],
)  # fmt: skip
def test_the_table(status: int | None, text: str, expected: Why) -> None:
    """CLAUDE_CODE 3.4, row by row."""
    assert why(result(text, error=True, status=status), code=1) is expected


@pytest.mark.parametrize("terminal", ["prompt_too_long", "blocking_limit"])
def test_the_local_refusal_of_a_long_prompt(terminal: str) -> None:
    """CLAUDE_CODE 3.3: 2.1.328 refuses 4 MB itself."""
    assert why(result("Too much", error=True, terminal_reason=terminal), code=1) is Why.TOO_LONG


def test_a_rejected_limit_names_its_end() -> None:
    """CLAUDE_CODE 3.4: `rate_limit_event` with epoch seconds is better than the text."""
    event = {
        "type": "rate_limit_event",
        "rate_limit_info": {"status": "rejected", "resetsAt": int(NOW) + 7000},
    }
    outcome = judged(event, result("whatever", error=True, status=429), code=1)
    assert isinstance(outcome, NoAnswer) and (outcome.why, outcome.retry_at) == (Why.LIMIT, NOW + 7000)


def test_an_allowed_limit_event_is_no_limit() -> None:
    """Only `rejected` stops the work; with overage the call continues."""
    allowed = {"type": "rate_limit_event", "rate_limit_info": {"status": "allowed_warning", "resetsAt": 5}}
    rejected = {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "isUsingOverage": True}}
    assert isinstance(judged(allowed, rejected, result()), Answer)
    assert why(allowed, result("API Error: 529 Overloaded", error=True, status=529), code=1) is Why.OVERLOADED


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("resets 5:33am (UTC)", "2026-11-20T05:33+00:00"),
        ("resets 3am (UTC)", "2026-11-21T03:00+00:00"),
        ("resets 12am (UTC)", "2026-11-21T00:00+00:00"),
        ("resets 12:30pm (UTC)", "2026-11-20T12:30+00:00"),
        ("resets 17:05 (UTC)", "2026-11-20T17:05+00:00"),
        ("resets 7am (Europe/Berlin)", "2026-11-20T07:00+01:00"),
        ("resets Nov 23, 5am (UTC)", "2026-11-23T05:00+00:00"),
        ("resets Nov 23 at 5:15pm (UTC)", "2026-11-23T17:15+00:00"),
        ("resets soon", "2026-11-20T04:30+00:00"),
        ("resets 25:99am (UTC)", "2026-11-20T04:30+00:00"),
        ("resets 5am (Middle/Earth)", "2026-11-20T04:30+00:00"),
    ],
)
def test_reset_times(text: str, at: str) -> None:
    """The next such time; half an hour later if it cannot be read."""
    assert reset_time(text, NOW) == datetime.fromisoformat(at).timestamp()


@examples(100)
@given(st.text(max_size=30), st.integers(0, 99), st.integers(0, 99), st.sampled_from(["am", "pm", ""]))
def test_a_reset_is_never_past_nor_far(noise: str, hour: int, minute: int, half: str) -> None:
    """A wrong clock or wording must neither park work for ever nor cause calls without end."""
    for text in (f"resets {hour}:{minute:02d}{half} {noise}", f"resets Dec {hour} {minute}{half}", noise):
        assert NOW < reset_time(text, NOW) <= NOW + LONGEST


def test_an_old_client() -> None:
    """CLAUDE_CODE 3.2: `--no-session-persistence` is unknown to 2.0.14 and older."""
    outcome = judged(stderr="error: unknown option '--no-session-persistence'", code=1)
    assert isinstance(outcome, NoAnswer) and outcome.why is Why.TOO_OLD and "2.0.76" in outcome.hint


@pytest.mark.parametrize(
    ("stdout", "code"),
    [("Execution error", 0), ("", 0), ("", 1), ('{"type":"result","is_err', 1), ("\x00{]", 0), ("[1, 2]", 0), ("[" * 100_000, 0)],
    ids=["execution-error", "nothing", "exit-1", "half", "garbage", "numbers", "deep"],
)  # fmt: skip
def test_what_is_no_answer(stdout: str, code: int) -> None:
    """CLAUDE_CODE 3.4: SIGINT ends with 0 and `Execution error`; without a result object nothing is an answer."""
    assert why(stdout, code=code) is Why.BAD_ANSWER


def test_an_empty_answer_is_bad() -> None:
    """ANCHORS P24: empty is a failure, not an answer."""
    assert why(result(" \n")) is Why.BAD_ANSWER
    assert why(result(None)) is Why.BAD_ANSWER
    assert (
        why(result(None, subtype="error_max_turns", error=True, errors=["Reached max turns"]), code=1)
        is Why.BAD_ANSWER
    )


def test_plain_words_of_old_clients() -> None:
    """Plain text instead of JSON: judged by its words if the client failed, never used as an answer."""
    assert why("Invalid API key · Please run /login", code=1) is Why.LOGGED_OUT
    assert why("Session limit reached ∙ resets 6:25am", code=1) is Why.LIMIT
    assert why("Here is a plain answer") is Why.BAD_ANSWER


def test_the_clients_words_are_no_answer_even_without_is_error() -> None:
    """ANCHORS P7: is_error and the text both count. An answer about logins is an answer."""
    assert why(result("Not logged in · Please run /login")) is Why.LOGGED_OUT
    assert isinstance(
        judged(result("The user prefers that limit reached errors show when it resets 5am")), Answer
    )


def test_our_own_kills() -> None:
    """RELIABILITY 14, 15: exit codes 143 and 137 after tacitd's own signals."""
    assert why(code=-15, timed_out=True) is Why.TIMED_OUT
    assert why(code=-9, stopped=True) is Why.STOPPING
    assert why(code=-9, capped=True) is Why.BAD_ANSWER
    killed_with_us = classify_outcome(finished(code=143), ClientReport(), now=NOW, stopping=True)
    assert isinstance(killed_with_us, NoAnswer) and killed_with_us.why is Why.STOPPING
    assert isinstance(judged(result("paid for"), code=-15, timed_out=True), Answer)


def test_details_are_short_and_safe() -> None:
    """RELIABILITY 19: the client's text goes to `status`: no escapes, no secrets, and not long."""
    key = "sk-ant-" + "api03-abcdefgh12345678"
    outcome = judged(result(f"odd \x1b[31m{key} " + "x" * 5000, error=True), code=1)
    assert isinstance(outcome, NoAnswer)
    assert key not in outcome.detail and "\x1b" not in outcome.detail and len(outcome.detail) <= 200


def test_sessions_and_odd_numbers() -> None:
    """S-61: ids are remembered even from a killed call; a cost that is not a number is unknown."""
    report = parse_output(b'{"type":"system","subtype":"init","session_id":"s-9","model":"m"}\n{"type":"resu')
    assert (report.sessions, report.complete, report.model) == (("s-9",), False, "m")
    for odd in ("NaN", "-1", '"x"', "1e999", "true", "null", "1" + "0" * 400):
        line = json.dumps(result()).replace('"total_cost_usd": 0.002', f'"total_cost_usd": {odd}')
        assert parse_output(line.encode()).usd is None
