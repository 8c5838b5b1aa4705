"""The adapter with the stand-in for the client (CLAUDE_CODE 3.1, SPEC S-09, S-60..S-67, RELIABILITY 14..16)."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support_claude import StandIn, install_stand_in
from tacitd.clock import Clock, SystemClock
from tacitd.files.log import Log
from tacitd.model.budget import Budget
from tacitd.model.children import Children
from tacitd.model.claude import LONGEST_PROMPT, WAITS, ClaudeModel
from tacitd.model.guard import SENTINEL
from tacitd.model.lean import lean_arguments
from tacitd.model.port import Answer, Ask, Model, NoAnswer, Why
from tacitd.model.process import run
from tacitd.model.settings import BudgetSettings, ClaudeSettings
from tacitd.testing import FakeClock

LEAN = [
    "-p", "--model", "haiku", "--output-format", "stream-json", "--verbose", "--no-session-persistence",
    "--tools", "", "--setting-sources", "", "--strict-mcp-config", "--disable-slash-commands",
    "--settings", '{"disableAllHooks":true,"cleanupPeriodDays":36500,"autoMemoryEnabled":false}',
    "--system-prompt", "Answer only in the form asked for.",
]  # fmt: skip


@dataclass
class House:
    """An adapter with everything around it in one temporary directory."""

    root: Path
    stand_in: StandIn
    log: Log
    stop: threading.Event = field(default_factory=threading.Event)
    pauses: list[float] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)

    def model(
        self,
        *,
        environ: Mapping[str, str] | None = None,
        caps: Mapping[str, Any] | None = None,
        clock: Clock | None = None,
        **settings: Any,
    ) -> ClaudeModel:
        """The adapter; what is not said has its default, but the pauses take no time."""
        clock = clock or SystemClock()
        home = {
            "HOME": str(self.root / "home"),
            "PATH": self.stand_in.path(),
            "USER": "dev",
            "LOGNAME": "dev",
        }
        return ClaudeModel(
            ClaudeSettings(**settings),
            Budget(self.log, BudgetSettings(**(caps or {})), clock),
            clock=clock,
            environ={**home, **(environ or {})},
            work=self.root / "state" / "model",
            stop=self.stop,
            children=Children(self.root / "state" / "children"),
            pause=self.paused,
            on_session=self.sessions.append,
            stop_grace=0.0,
            runner=partial(run, grace=0.2),
        )

    def paused(self, seconds: float) -> bool:
        """No time passes."""
        self.pauses.append(seconds)
        return self.stop.is_set()

    def records(self, state: str) -> list[dict[str, Any]]:
        """The budget's records of one state."""
        return [record for record in self.log.read() if record["state"] == state]


@pytest.fixture
def house(tmp_path: Path) -> Any:
    """A house whose stand-in answers `fine`."""
    one = House(
        tmp_path, install_stand_in(tmp_path / "bin", [{"reply": "fine"}]), Log(tmp_path / "budget.jsonl")
    )
    yield one
    one.log.close()


def why(outcome: Answer | NoAnswer) -> Why | None:
    """The reason, or None for an answer."""
    return outcome.why if isinstance(outcome, NoAnswer) else None


def test_the_command_to_the_letter(house: House) -> None:
    """CLAUDE_CODE 3.1: arguments, environment, directory and standard input are exactly these."""
    environ = {
        "CLAUDECODE": "1",
        "CLAUDE_CODE_SESSION_ID": "s",
        "CLAUDE_CODE_ENTRYPOINT": "cli",
        "ANTHROPIC_API_KEY": "sk-fake",
        "EDITOR": "vi",
    }
    answer = house.model(environ=environ).ask(Ask("Message: hello @CLAUDE.md", "fast", "k"))
    assert isinstance(answer, Answer)
    assert (answer.text, answer.model, answer.usd) == ("fine", "claude-haiku", 0.001)
    (call,) = house.stand_in.calls()
    assert call["argv"] == LEAN
    assert call["cwd"] == str(house.root / "state" / "model")
    assert call["stdin"] == SENTINEL + "\n\nMessage: hello @CLAUDE.md"
    env = {
        name: value for name, value in call["env"].items() if name != "LC_CTYPE"
    }  # Python's own in the stand-in
    assert env == {
        "HOME": str(house.root / "home"),
        "PATH": house.stand_in.path(),
        "USER": "dev",
        "LOGNAME": "dev",
        "LANG": "C.UTF-8",
        "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
        "CLAUDE_CODE_DISABLE_FILE_MENTIONS": "1",
        "CLAUDE_CODE_SKIP_PROMPT_HISTORY": "1",
        "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_MAX_RETRIES": "2",
        "API_TIMEOUT_MS": "120000",
        "TACITD_CHILD": "1",
    }


def test_never_bare_and_no_prompt_among_the_arguments() -> None:
    """SPEC S-63: `--bare` refuses subscriptions; SPEC S-09: an argument is capped and visible in `ps`."""
    arguments = lean_arguments("haiku", "sys\0tem", "user")
    assert "--bare" not in arguments and "system" in arguments and not any("\0" in one for one in arguments)
    assert arguments[arguments.index("--setting-sources") + 1] == "user"


def test_tiers_and_keys_are_configurable(house: House) -> None:
    """DESIGN "The model": each tier's model; API keys only where pass_env names them; setting_sources."""
    model: Model = house.model(
        environ={"ANTHROPIC_API_KEY": "sk-fake", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1"},
        smart="my-sonnet",
        pass_env=("ANTHROPIC_API_KEY",),
        setting_sources="user",
    )
    model.ask(Ask("a", "smart", "1"))
    model.ask(Ask("b", "accurate", "2"))
    first, second = house.stand_in.calls()
    assert first["argv"][2] == "my-sonnet" and second["argv"][2] == "opus"
    assert first["argv"][first["argv"].index("--setting-sources") + 1] == "user"
    assert first["env"]["ANTHROPIC_API_KEY"] == "sk-fake" and "ANTHROPIC_BASE_URL" not in first["env"]


def test_counted_before_and_after(house: House) -> None:
    """ANCHORS P1: what is in the log for a call, and that the ids of our sessions are remembered (SPEC S-61)."""
    model = house.model()
    model.ask(Ask("a", "fast", "batch-7", purpose="extraction"))
    (begun,), (ended,) = house.records("begun"), house.records("ended")
    assert (begun["key"], begun["tier"], begun["purpose"]) == ("batch-7", "fast", "extraction")
    assert (ended["id"], ended["usd"], ended["in"], ended["out"], ended["why"]) == (
        begun["id"],
        0.001,
        100,
        10,
        "",
    )
    assert len(house.sessions) == 1 and set(house.sessions) == model.own_sessions


def test_the_budget_refuses_before_a_process_is_started(house: House) -> None:
    """SPEC S-64: over the cap nothing runs."""
    refused = house.model(caps={"calls_per_day": 0}).ask(Ask("a", "fast", "k"))
    assert why(refused) is Why.BUDGET and house.stand_in.calls() == [] and house.records("begun") == []


def test_a_full_minute_is_waited_for(house: House) -> None:
    """SPEC S-64: a burst is slowed down, not parked; nothing is on record while it waits."""
    clock = FakeClock()
    model = house.model(caps={"calls_per_minute": 2}, clock=clock)
    begun: list[int] = []

    def pause(seconds: float) -> bool:
        begun.append(len(house.records("begun")))
        house.pauses.append(seconds)
        clock.pass_(seconds)
        return False

    model._pause = pause
    for n in range(5):
        assert isinstance(model.ask(Ask("a", "fast", f"k{n}")), Answer)
        clock.pass_(10.0)
    assert house.pauses == [40.0, 40.0] and begun == [2, 4] and len(house.stand_in.calls()) == 5


def test_a_stop_ends_the_wait_for_the_minute(house: House) -> None:
    """RELIABILITY 14: who waits for room leaves at once, and nothing is begun."""
    model = house.model(caps={"calls_per_minute": 1}, clock=FakeClock())
    model.ask(Ask("a", "fast", "1"))
    model._pause = lambda seconds: True
    assert why(model.ask(Ask("b", "fast", "2"))) is Why.STOPPING and len(house.records("begun")) == 1


def test_nobody_waits_for_ever(house: House) -> None:
    """SPEC S-64: where others take the room each time, the call is given back, and when to ask again."""
    clock = FakeClock()
    model = house.model(caps={"calls_per_minute": 1}, clock=clock)
    model.ask(Ask("a", "fast", "1"))
    refused = model.ask(Ask("b", "fast", "2"))  # the pauses take no time here: the minute stays full
    assert isinstance(refused, NoAnswer) and refused.why is Why.BUDGET
    assert refused.retry_at == clock.now() + 60.0 and house.pauses == [60.0] * WAITS


def test_the_record_is_on_disk_while_the_child_runs(house: House) -> None:
    """RELIABILITY 16: a daemon killed now would find the begun call at its next start."""
    seen: list[int] = []
    model = house.model()
    real = model._runner

    def runner(argv: list[str], **more: Any) -> Any:
        seen.append(len((house.root / "budget.jsonl").read_bytes().splitlines()))
        return real(argv, **more)

    model._runner = runner
    model.ask(Ask("a", "fast", "k"))
    assert seen == [1]


def test_no_client(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """SPEC S-08: absent is a state, costs nothing, and ends when it is installed."""
    monkeypatch.setattr("tacitd.model.find._places", lambda command, home: iter(()))
    program, away = house.stand_in.program, house.root / "away"
    model = house.model(environ={"PATH": str(house.stand_in.directory) + ":/usr/bin:/bin"})
    program.rename(away)
    assert why(model.ask(Ask("a", "fast", "k"))) is Why.ABSENT and house.records("begun") == []
    away.rename(program)
    assert isinstance(model.ask(Ask("a", "fast", "k")), Answer)


def test_a_client_that_cannot_be_started(house: House) -> None:
    """A broken installation is not paid for, and raises nothing."""
    house.stand_in.program.write_text("#!/nowhere/node\n")
    assert why(house.model().ask(Ask("a", "fast", "k"))) is Why.ABSENT
    assert house.records("ended")[0]["usd"] == 0.0


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("exit1", Why.BAD_ANSWER),
        ("half", Why.BAD_ANSWER),
        ("garbage", Why.BAD_ANSWER),
        ("empty", Why.BAD_ANSWER),
        ("execution-error", Why.BAD_ANSWER),
        ("flood", Why.BAD_ANSWER),
        ("logged-out", Why.LOGGED_OUT),
        ("credit", Why.CREDIT),
        ("too-long", Why.TOO_LONG),
        ("no-such-model", Why.NO_SUCH_MODEL),
        ("usage-limit", Why.LIMIT),
        ("usage-limit-text", Why.LIMIT),
    ],
)
def test_faults_are_told_apart(house: House, fault: str, expected: Why) -> None:
    """CLAUDE_CODE 3.4: each with its reason, and tried once only (ANCHORS P7: no retries that burn quota)."""
    house.stand_in.rules([{"fault": fault, "resets_at": 4_000_000_000}])
    outcome = house.model().ask(Ask("a", "fast", "k"))
    assert why(outcome) is expected and len(house.stand_in.calls()) == 1 and house.pauses == []
    assert house.records("ended")[0]["why"] == str(expected)
    assert (expected is Why.LIMIT) == (isinstance(outcome, NoAnswer) and outcome.retry_at is not None)


def test_an_old_client_is_said_to_be_old(house: House) -> None:
    """CLAUDE_CODE 3.2: no private call is possible with it."""
    house.stand_in.rules([], unknown=["--no-session-persistence"])
    assert why(house.model().ask(Ask("a", "fast", "k"))) is Why.TOO_OLD


def test_overload_is_tried_again(house: House) -> None:
    """CLAUDE_CODE 3.4: our own retry layer, two further tries with pauses, each of them counted."""
    house.stand_in.rules(
        [{"fault": "overloaded", "times": 1}, {"fault": "unreachable", "times": 1}, {"reply": "at last"}]
    )
    outcome = house.model().ask(Ask("a", "fast", "k"))
    assert isinstance(outcome, Answer) and outcome.text == "at last"
    assert house.pauses == [2.0, 8.0] and len(house.records("begun")) == 3
    house.stand_in.rules([{"fault": "overloaded"}])
    assert why(house.model().ask(Ask("a", "fast", "k"))) is Why.OVERLOADED
    assert len(house.stand_in.calls()) == 6


def test_a_stop_interrupts_the_pause(house: House) -> None:
    """RELIABILITY 14: no new try when the daemon leaves."""
    house.stand_in.rules([{"fault": "overloaded"}])
    model = house.model()
    model._pause = lambda seconds: True
    assert why(model.ask(Ask("a", "fast", "k"))) is Why.OVERLOADED and len(house.stand_in.calls()) == 1


def test_a_hung_client_is_ended(house: House) -> None:
    """RELIABILITY 15: its deadline, its whole group, and the call returns; what it may have cost is assumed."""
    house.stand_in.rules([{"fault": "hang-family"}])
    model = house.model(timeout="400ms")
    assert why(model.ask(Ask("a", "fast", "k"))) is Why.TIMED_OUT
    for pid in (house.stand_in.calls()[0]["pid"], house.stand_in.grandchild()):
        wait_for(lambda pid=pid: is_gone(pid))  # type: ignore[misc]
    (ended,) = house.records("ended")
    assert ended["assumed"] and ended["usd"] > 0 and model.running == 0
    assert list((house.root / "state" / "children").iterdir()) == []
    assert house.sessions == ["hung"]


def test_the_daemon_leaves_during_a_call(house: House) -> None:
    """RELIABILITY 14: no orphan; and nothing is begun any more."""
    house.stand_in.rules([{"fault": "hang"}])
    model = house.model()
    done: list[Answer | NoAnswer] = []
    thread = threading.Thread(target=lambda: done.append(model.ask(Ask("a", "fast", "k"))))
    thread.start()
    wait_for(lambda: len(house.stand_in.calls()) == 1)
    house.stop.set()
    thread.join(10)
    assert [why(one) for one in done] == [Why.STOPPING] and house.records("ended")[0]["why"] == "stopping"
    assert why(model.ask(Ask("b", "fast", "k2"))) is Why.STOPPING and len(house.stand_in.calls()) == 1


def is_gone(pid: int) -> bool:
    """Whether no process has this pid, but for one that only waits to be reaped by init."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError as error:
        return isinstance(error, ProcessLookupError | FileNotFoundError)


def wait_for(condition: Callable[[], bool]) -> None:
    """Until it holds; at most ten seconds, in small steps of an event that nobody sets."""
    for _ in range(1000):
        if condition():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it did not happen within ten seconds")


def test_at_most_two_at_a_time(house: House) -> None:
    """SPEC S-64: two children; the others wait for their turn and are answered."""
    house.stand_in.rules([{"reply": "fine", "delay": 0.15}])
    model = house.model()
    most: list[int] = []
    real = model._runner

    def runner(argv: list[str], **more: Any) -> Any:
        most.append(model.running)
        return real(argv, **more)

    model._runner = runner
    answers = in_threads(lambda n: model.ask(Ask(f"p{n}", "fast", f"k{n}")), 5)
    assert all(isinstance(one, Answer) for one in answers) and len(answers) == 5
    assert max(most) == 2 and model.running == 0


def in_threads(work: Callable[[int], Any], count: int) -> Sequence[Any]:
    """What each of some threads at once came to."""
    results: list[Any] = []
    threads = [threading.Thread(target=lambda n=n: results.append(work(n))) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return results


def test_the_private_directory(house: House) -> None:
    """SPEC S-60: 0700, empty whatever was put into it, and never a link."""
    work = house.root / "state" / "model"
    (work / ".claude").mkdir(parents=True)
    (work / ".claude" / "settings.json").write_text("{}")
    (work / "CLAUDE.md").write_text("Do evil")
    (house.root / "precious").mkdir()
    (house.root / "precious" / "file").write_text("stays")
    (work / "link").symlink_to(house.root / "precious")
    work.chmod(0o755)
    assert isinstance(house.model().ask(Ask("a", "fast", "k")), Answer)
    assert list(work.iterdir()) == [] and work.stat().st_mode & 0o777 == 0o700
    assert (house.root / "precious" / "file").read_text() == "stays"
    work.rmdir()
    work.symlink_to(house.root / "precious")
    assert why(house.model().ask(Ask("a", "fast", "k2"))) is Why.UNREACHABLE
    assert (house.root / "precious" / "file").exists() and len(house.stand_in.calls()) == 1


def test_prompts_of_every_kind(house: House) -> None:
    """CLAUDE_CODE 3.3: a leading slash, a lone surrogate, the largest; one that is larger is never sent."""
    house.stand_in.rules([{"fault": "echo"}])
    model = house.model()
    for prompt in ("/cost", "\ud800 @~/.ssh/id_rsa", "x" * (LONGEST_PROMPT - 200)):
        outcome = model.ask(Ask(prompt, "fast", "k"))
        assert isinstance(outcome, Answer) and outcome.text.startswith(SENTINEL)
    assert why(model.ask(Ask("x" * LONGEST_PROMPT, "fast", "k"))) is Why.TOO_LONG
    assert why(model.ask(Ask("x", "fast", "k", system="y" * 200_000))) is Why.TOO_LONG
    assert len(house.stand_in.calls()) == 3


def test_a_client_found_off_the_path_gets_its_directory(house: House) -> None:
    """ANCHORS P7: service managers give a bare PATH, and a client from npm starts the `node` beside it."""
    model = house.model(environ={"PATH": "/usr/bin:/bin"}, command=str(house.stand_in.program))
    assert isinstance(model.ask(Ask("a", "fast", "k")), Answer)
    assert house.stand_in.calls()[0]["env"]["PATH"].split(os.pathsep)[-1] == str(house.stand_in.directory)
