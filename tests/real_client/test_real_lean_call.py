"""The lean call through the adapter, with the real client: private, and as small as it can be (CLAUDE_CODE 3.1).

2.1.328 by default; TACITD_REAL_CLIENT_VERSIONS names others, joined by commas ("2.0.76,2.1.63,2.1.197,2.1.328"). Each is
installed from npm once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from real_install import real_client
from real_tui import VERSION
from real_world import PERSON_MARK, PROJECT_MARK, USAGE, Machine

from tacitd.clock import SystemClock
from tacitd.config.settings import BudgetSettings, ClaudeSettings
from tacitd.files.locks import make_private_dir
from tacitd.model.budget import Budget
from tacitd.model.claude import ClaudeModel
from tacitd.model.port import Answer, ModelRequest, NoAnswer, Why, frame_prompt
from tacitd.store import Store

VERSIONS = os.environ.get("TACITD_REAL_CLIENT_VERSIONS", VERSION).replace(" ", "").split(",")
PAGE = 2048
WARM_UP = ["Warmup"]
"""What 2.0.76 asks its own sub-agents at each start, whatever the options say; later clients ask nothing."""
TRAPS = '/cost\n@CLAUDE.md and @/etc/hostname, then 。@../work/app/CLAUDE.md\n`code` \\ "quotes" \t émoji 🦦 \x00 end'
FAULTS = {
    "usage-limit": Why.LIMIT, "credit": Why.CREDIT, "toolong": Why.TOO_LONG, "404 noretry": Why.NO_SUCH_MODEL,
    "403": Why.LOGGED_OUT, "529 noretry": Why.OVERLOADED,
}  # fmt: skip

pytest_plugins = ["real_asked"]
pytestmark = [pytest.mark.real_client, pytest.mark.timeout(300)]


@pytest.fixture(params=VERSIONS)
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Machine]:
    """A person's machine with this version of the client; no daemon runs."""
    reply = {"match": "please answer", "steps": [{"text": "An answer.", "usage": USAGE}]}
    one = Machine(tmp_path, real_client(request.param), [reply])
    try:
        yield one
    finally:
        one.finish()


def model(machine: Machine, **environ: str) -> ClaudeModel:
    """The adapter as the daemon makes it, started from within a hook's environment of all places."""
    clock, passed = SystemClock(), ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")
    inherited = {"CLAUDECODE": "1", "CLAUDE_CODE_CHILD_SESSION": "1", "CLAUDE_CODE_ENTRYPOINT": "cli"}
    return ClaudeModel(
        ClaudeSettings(command=str(machine.client), pass_env=passed),
        Budget(Store.open(machine.state, clock), BudgetSettings(calls_per_minute=100), clock),
        clock=clock,
        environ={**machine.environ, **inherited, **environ},
        work=make_private_dir(machine.state / "model") / "work",
        pause=lambda seconds: True,
    )


def test_a_lean_call_is_private_and_small(machine: Machine) -> None:
    """SPEC S-60 to S-63: no transcript, hook, tool, CLAUDE.md or expanded file; nothing of the person's is deleted."""
    old = aged_transcript(machine)
    before = files(machine.home / ".claude")
    asked = model(machine)
    answer = asked.ask(ModelRequest(f"{TRAPS}\nplease answer", "fast"))
    assert isinstance(answer, Answer), answer
    assert (answer.text, answer.tokens_in, answer.tokens_out) == ("An answer.", 1000, 100)
    assert answer.usd > 0 and "haiku" in answer.model and len(asked.own_sessions) == 1
    sent_alone(machine, frame_prompt(f"{TRAPS}\nplease answer"))
    assert old.exists() and machine.fired() == {} and list(asked.work.iterdir()) == []
    new = files(machine.home / ".claude") - before
    assert not [name for name in new if name.startswith("projects/") or name == "history.jsonl"], new
    assert machine.git("status", "--porcelain") == ""


def sent_alone(machine: Machine, prompt: str) -> None:
    """One request, which holds the prompt to the letter and at most 2 KB beside it."""
    requests = [one for one in machine.api.requests() if one.user_texts != WARM_UP]
    assert len(requests) == 1
    (call,) = requests
    assert call.prompt == prompt
    assert call.bytes <= len(prompt.encode()) + PAGE
    assert call.body["tools"] == []
    assert call.body.get("thinking", {}).get("type", "disabled") == "disabled", "what it thinks is paid for"
    assert call.body.get("output_config", {}).get("effort", "low") == "low"
    assert PROJECT_MARK not in call.text and PERSON_MARK not in call.text
    hostname = Path("/etc/hostname")
    if hostname.exists():
        assert f"\n{hostname.read_text().strip()}\n" not in call.text


def aged_transcript(machine: Machine) -> Path:
    """A transcript of 45 days: any ordinary start of the client would delete it (CLAUDE_CODE, fact 5)."""
    path = machine.transcript("00000000-0000-4000-8000-000000000000")
    path.write_text('{"type":"summary","summary":"old","leafUuid":"x"}\n')
    long_ago = time.time() - 45 * 86400
    os.utime(path, (long_ago, long_ago))
    return path


def files(root: Path) -> set[str]:
    """The names of all files below."""
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_went_wrong_is_told_apart(machine: Machine, fault: str) -> None:
    """CLAUDE_CODE 3.4: each error by its name, in the words of this version; a limit with its reset."""
    login: dict[str, Any] = {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-fake"}
    asked = model(machine, **(login if fault == "usage-limit" else {}))
    outcome = asked.ask(ModelRequest(f"x [[fault:{fault}]]", "fast"))
    assert isinstance(outcome, NoAnswer) and outcome.why is FAULTS[fault], outcome
    if fault == "usage-limit":
        assert outcome.retry_at is not None and 0 < outcome.retry_at - time.time() < 7200


def test_not_logged_in(machine: Machine) -> None:
    """CLAUDE_CODE 3.4: no credentials, no request."""
    outcome = model(machine, ANTHROPIC_API_KEY="").ask(ModelRequest("x", "fast"))
    assert isinstance(outcome, NoAnswer) and outcome.why is Why.LOGGED_OUT
    assert [one for one in machine.api.requests() if one.prompt is not None] == []
