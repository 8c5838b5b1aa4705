"""The adapter behind the port: Claude Code's command line in non-interactive mode (CLAUDE_CODE 3.1).

Only the order of a call belongs here: private directory, budget, environment, process, outcome.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from tacitd.clock import Clock
from tacitd.config.settings import ClaudeSettings
from tacitd.errors import FileRefusedError, StoreLostError
from tacitd.model.budget import Budget
from tacitd.model.call_caps import HINT as BUDGET_HINT
from tacitd.model.call_caps import MinuteFull
from tacitd.model.environment import (
    account_environment,
    child_environment,
    client_arguments,
    describe_missing,
    find_command,
    missing_options,
    private_directory,
    with_directory,
)
from tacitd.model.outcome import HINTS, ClientReport, classify_outcome, parse_output
from tacitd.model.port import ABSENT_HINT, Answer, ModelRequest, NoAnswer, Why, frame_prompt
from tacitd.model.process import FinishedProcess, run_process

AT_ONCE = 2
"""Children at a time (S-64)."""
TICK = 0.1
"""Seconds between two looks at whether the daemon stops, while a call waits for a slot."""
PAUSES = (2.0, 8.0)
"""Seconds before the second and the third try if the API was overloaded or could not be reached."""
WAITS = 20
"""How often one call waits for room in the minute before it is given up: other calls may take the room each time."""
LONGEST_PROMPT = 400_000
"""Bytes: kept under half of the client's window (CLAUDE_CODE 3.3)."""
STOP_GRACE = 8.0
"""Seconds for which a running call may continue when the daemon stops: it is paid for, and often nearly done."""
HELP_DEADLINE = 20.0
"""Seconds that the client may take to print its help."""


class ClaudeModel:
    """The `Model` that runs Claude Code's client. Calls block, may come from any thread, and raise nothing."""

    def __init__(
        self,
        settings: ClaudeSettings,
        budget: Budget,
        *,
        clock: Clock,
        environ: Mapping[str, str],
        work: Path,
        stop: threading.Event | None = None,
        pause: Callable[[float], bool] | None = None,
        own_sessions: set[str] | None = None,
        stop_grace: float = STOP_GRACE,
        runner: Callable[..., FinishedProcess] = run_process,
    ) -> None:
        """`work` is the private directory that children run in. `pause` waits for the given seconds and returns whether to
        stop. `own_sessions` grows with each call."""
        self.settings = settings
        self.budget = budget
        self.work = work
        self.own_sessions: set[str] = own_sessions if own_sessions is not None else set()
        self._clock = clock
        given = {name: value for name, value in environ.items() if value}
        self._environ = {**account_environment(environ), **given}
        self._stop = stop or threading.Event()
        self._pause = pause or self._stop.wait
        self._stop_grace = stop_grace
        self._runner = runner
        self._slots = threading.BoundedSemaphore(AT_ONCE)
        self.running_count = 0
        """Calls that hold a slot, for `status`."""
        self._program: Path | None = None
        self._good: tuple[object, ...] = ()
        """The program that was asked last for its options and lacks none."""

    def find_program(self) -> Path | None:
        """The client's path; looked up again if it is unknown or no longer executable. None if there is none."""
        if self._program is None or not os.access(self._program, os.X_OK):
            self._program = find_command(self.settings.command, self._environ)
        return self._program

    def ask(self, ask: ModelRequest) -> Answer | NoAnswer:
        """Ask the model within the budget. Blocks for a free slot, for room in the minute, for the call itself, and for further tries if
        the API is overloaded."""
        prompt = frame_prompt(ask.prompt).encode("utf-8", "replace")
        if len(prompt) > LONGEST_PROMPT:
            return NoAnswer(Why.TOO_LONG, f"it has {len(prompt)} bytes; at most {LONGEST_PROMPT} are sent")
        outcome = self._try_with_slot(ask, prompt)
        for pause in PAUSES:
            is_transient = isinstance(outcome, NoAnswer) and outcome.why in (Why.OVERLOADED, Why.UNREACHABLE)
            if not is_transient or self._pause(pause):
                break
            outcome = self._try_with_slot(ask, prompt)
        return outcome

    def _try_with_slot(self, ask: ModelRequest, prompt: bytes) -> Answer | NoAnswer:
        """One try with one of the slots. If the minute is full, this waits, so that a burst of calls is not parked."""
        refused = STOPPING
        for _ in range(WAITS):
            while not self._slots.acquire(timeout=TICK):
                if self._stop.is_set():
                    return STOPPING
            self.running_count += 1
            try:
                outcome = self._try_once(ask, prompt)
            finally:
                self.running_count -= 1
                self._slots.release()
            if not isinstance(outcome, MinuteFull):
                return outcome
            if self._pause(outcome.seconds):
                return STOPPING
            retry_at = self._clock.now() + outcome.seconds
            refused = NoAnswer(Why.BUDGET, f"{outcome.calls} calls a minute", BUDGET_HINT, retry_at)
        return refused

    def _try_once(self, ask: ModelRequest, prompt: bytes) -> Answer | NoAnswer | MinuteFull:
        if self._stop.is_set():
            return STOPPING
        program = self.find_program()
        if program is None:
            return NoAnswer(Why.ABSENT, f"`{self.settings.command}` was not found", ABSENT_HINT)
        try:
            private_directory(self.work)
        except (OSError, FileRefusedError) as error:
            what = f"{self.work} cannot be used as working directory: {error}"
            hint = f"make {self.work} an empty directory with mode 0700, owned by you"
            return NoAnswer(Why.UNREACHABLE, what, hint)
        if missing := self._find_missing(program):
            return NoAnswer(Why.TOO_OLD, describe_missing(missing), HINTS[Why.TOO_OLD])
        if self._stop.is_set():
            return STOPPING
        try:
            call = self.budget.begin_call(ask)
        except StoreLostError as error:
            return NoAnswer(Why.BUDGET, f"the call cannot be stored: {error.what}", error.hint)
        return self._finish_call(call, program, ask, prompt) if isinstance(call, int) else call

    def _finish_call(self, call: int, program: Path, ask: ModelRequest, prompt: bytes) -> Answer | NoAnswer:
        report, usd = ClientReport(), None
        outcome: Answer | NoAnswer = NoAnswer(Why.BAD_ANSWER, "the call was interrupted")
        try:
            model = getattr(self.settings, ask.tier)
            arguments = client_arguments(model, ask.system, self.settings.setting_sources)
            finished = self._child(program, arguments, prompt, self.settings.timeout, self._stop_grace)
            report = parse_output(finished.stdout)
            usd = report.usd
            # The service manager may have signalled the whole unit, this process a moment later.
            stopping = self._stop.is_set() or (finished.returncode in _SIGNALS and self._stop.wait(0.5))
            outcome = classify_outcome(finished, report, now=self._clock.now(), stopping=stopping)
        except (OSError, ValueError) as error:
            usd, outcome = 0.0, _not_started(error, program)
        except Exception:
            self._end_call(call, ask, outcome, report, usd)
            raise
        except KeyboardInterrupt:
            self._end_call(call, ask, NoAnswer(Why.CANCELLED, "the call was cancelled"), report, usd)
            raise
        # After anything else the process ends: the call stays begun, and counts as lost.
        self._end_call(call, ask, outcome, report, usd)
        return replace(outcome, call=str(call)) if isinstance(outcome, Answer) else outcome

    def _end_call(
        self,
        call: int,
        ask: ModelRequest,
        outcome: Answer | NoAnswer,
        report: ClientReport,
        usd: float | None,
    ) -> None:
        self.own_sessions.update(report.sessions)
        end = partial(self.budget.end_call, call, usd=usd, session="".join(report.sessions[:1]))
        end = partial(end, tokens_in=report.tokens_in, tokens_out=report.tokens_out)
        if isinstance(outcome, Answer):
            end("answered", model=outcome.model, answer=outcome.text if ask.about else None)
        else:
            end("stopped" if outcome.why in STOPPED else "failed", reason=str(outcome.why))

    def _find_missing(self, program: Path) -> list[str]:
        """The options that the program does not know; empty also if it cannot be asked: the call itself will say what is wrong with it.

        A program that lacks nothing is asked once, and again when its file has changed. One that lacks something is asked
        each time: an update may change what a wrapper starts, and not the wrapper.
        """
        try:
            found = program.stat()
            identity = (program, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
            missing = [] if identity == self._good else missing_options(self._help_of(program))
        except (OSError, ValueError):
            return []
        self._good = () if missing else identity
        return missing

    def _help_of(self, program: Path) -> str:
        """What the client prints for `--help`. Raises OSError, or ValueError if it is not all of it."""
        finished = self._child(program, ["--help"], b"", HELP_DEADLINE, 0.0)
        if finished.returncode != 0 or finished.timed_out or finished.stopped or finished.capped:
            raise ValueError("the help is not complete")
        return finished.stdout.decode("utf-8", "replace")

    def _child(
        self, program: Path, arguments: list[str], stdin: bytes, deadline: float, stop_grace: float
    ) -> FinishedProcess:
        env = child_environment(self._environ, self.settings.pass_env)
        env["PATH"] = with_directory(env["PATH"], str(program.parent))
        limits = {"deadline": deadline, "stop": self._stop, "stop_grace": stop_grace}
        return self._runner([str(program), *arguments], env=env, cwd=self.work, stdin=stdin, **limits)


STOPPING = NoAnswer(Why.STOPPING, "the daemon is stopping")
STOPPED = (Why.STOPPING, Why.CANCELLED)
"""Reasons with which tacitd ended a call itself."""
_SIGNALS = frozenset({-1, -2, -9, -15, 129, 130, 137, 143})
"""Exit codes of a child that a signal ended, for example when a service manager signals the whole unit."""


def _not_started(error: OSError | ValueError, program: Path) -> NoAnswer:
    """The system refused to start the program: nothing was sent, and nothing was paid."""
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.E2BIG:
        return NoAnswer(Why.TOO_LONG, "the system prompt is too long for a command line")
    if number in (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE):
        what = f"the system could not start {program}: {error}"
        return NoAnswer(Why.UNREACHABLE, what, HINTS[Why.OVERLOADED])
    return NoAnswer(Why.ABSENT, f"{program} cannot be started: {error}", ABSENT_HINT)
