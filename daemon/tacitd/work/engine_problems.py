"""What is wrong with following, reading and storing, as degradations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tacitd.errors import TacitdError
from tacitd.handler import Degradation

if TYPE_CHECKING:
    from tacitd.engine import Engine

LISTED = 3
"""Unreadable transcripts that are listed one by one."""


def list_problems(engine: Engine, stuck: Sequence[str]) -> list[Degradation]:
    """What is wrong with following and reading."""
    found = [*engine.follower.list_degradations(), *engine.recognition.list_degradations()]
    refused = list(engine.reader.refused.items())
    found += [
        Degradation("transcript.unreadable", f"{path}: {why.what}", why.hint)
        for path, why in refused[:LISTED]
    ]
    if len(refused) > LISTED:
        what = f"{len(refused) - LISTED} more transcripts cannot be read"
        found.append(Degradation("transcript.unreadable", what, refused[LISTED][1].hint))
    if engine.fault is not None:
        found.append(engine.fault)
    if stuck:
        what = f"the file system of {', '.join(stuck[:3])} does not answer; what was typed there waits"
        found.append(Degradation("projects.stuck", what, "check the mount; everything else goes on"))
    return found


def find_refusal(engine: Engine) -> Degradation | None:
    """Why the store cannot be written, which is no row of it; None if it can."""
    problem = engine.problem or engine.runner.refused
    return Degradation("state.unwritable", problem.what, problem.hint) if problem is not None else None


def find_fault(error: BaseException) -> tuple[str, str]:
    """What a person is told about an error of the loop: what happened, and the hint."""
    if isinstance(error, TacitdError):
        return error.what, error.hint
    return f"a pass of the loop failed: {type(error).__name__}: {error}", "see the log"
