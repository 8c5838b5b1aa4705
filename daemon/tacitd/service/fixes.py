"""What doctor does on request: safe repairs (`--fix`) and one question to the model (`--model`).

A repair is safe if it loses nothing and concerns tacitd's own files only: their modes, and a leftover socket while the
lock is free. Everything else is left to a person.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from tacitd.clock import SystemClock
from tacitd.config.settings import Config
from tacitd.errors import UnavailableError
from tacitd.files.locks import acquire_lock, make_private_dir
from tacitd.files.log import Log
from tacitd.model.budget import Budget
from tacitd.model.claude import ClaudeModel
from tacitd.model.port import Answer, ModelRequest
from tacitd.service.finding import DoctorFinding
from tacitd.service.service_checks import list_too_open
from tacitd.state.paths import Paths

QUESTION = "Answer with the one word: yes"


def apply_fixes(paths: Paths) -> Iterator[str]:
    """Make the safe repairs and yield a line for each. Raises OSError."""
    for path in list(list_too_open(paths)):
        path.chmod(0o700 if path.is_dir() else 0o600)
        yield f"chmod {path}"
    yield from _remove_stale_socket(paths)


def _remove_stale_socket(paths: Paths) -> Iterator[str]:
    try:
        found = paths.socket.lstat()
    except OSError:
        return
    if not stat.S_ISSOCK(found.st_mode) or not paths.state_dir.is_dir():
        return
    try:
        lock = acquire_lock(paths.state_dir / "lock")
    except UnavailableError:  # a daemon runs, so the socket is in use
        return
    with lock:
        paths.socket.unlink(missing_ok=True)
        yield f"removed {paths.socket}"


def probe_model(paths: Paths, config: Config, environ: Mapping[str, str]) -> DoctorFinding:
    """Make one call of the fast model, as the daemon would, counted in the daemon's budget. Return the finding."""
    work: Path = make_private_dir(paths.state_dir / "model") / "work"
    clock = SystemClock()
    budget = Budget(Log(paths.state_dir / "budget.jsonl", terminated=True), config.budget, clock)
    sessions = Log(paths.state_dir / "own-sessions.jsonl")

    def remember(session: str) -> None:
        sessions.append({"at": clock.now(), "session": session})

    model = ClaudeModel(config.claude, budget, clock=clock, environ=environ, work=work, on_session=remember)
    ask = ModelRequest(
        purpose="doctor",
        tier="fast",
        system="You answer questions.",
        prompt=QUESTION,
        key=f"doctor-{clock.now()}",
    )
    answer = model.ask(ask)
    if isinstance(answer, Answer):
        return DoctorFinding(
            "model.answers", "ok", f"the model answered within {answer.seconds:.1f} s, for ${answer.usd:.4f}"
        )
    return DoctorFinding(
        "model.mute",
        "error",
        f"the model does not answer: {answer.why}: {answer.detail}",
        answer.hint or "run `claude` once by hand",
    )
