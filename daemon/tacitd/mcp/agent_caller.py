"""Whether a command runs for an agent: as a tool of the MCP server, or in a shell that a client's session started."""

from __future__ import annotations

__all__ = ["find_own_session", "is_agent", "require_person", "run_as_agent"]

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from tacitd.errors import TacitdError

SESSION = "CLAUDE_CODE_SESSION_ID"
MARKS = ("CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION", SESSION)
"""Variables that Claude Code sets for what its sessions run. The terminals of an editor have others."""
_is_tool: ContextVar[bool] = ContextVar("_is_tool", default=False)


@contextmanager
def run_as_agent() -> Iterator[None]:
    """While this is entered, commands in this thread run for an agent."""
    token = _is_tool.set(True)
    try:
        yield
    finally:
        _is_tool.reset(token)


def is_agent(environ: Mapping[str, str]) -> bool:
    """Whether a command with this environment runs for an agent."""
    return _is_tool.get() or any(environ.get(name) for name in MARKS)


def find_own_session(environ: Mapping[str, str]) -> str:
    """The id of the client's session in which a command with this environment runs; "" if there is none."""
    return environ.get(SESSION, "")


def require_person(environ: Mapping[str, str], what: str) -> None:
    """Raises TacitdError if an agent runs the command. `what` it does, as a noun phrase."""
    if is_agent(environ):
        raise TacitdError(f"{what} is not for an agent to do", "a person runs it in a terminal of their own")
