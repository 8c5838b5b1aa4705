"""Failures as reasons that a person can read: of a handler, and of a write of tacitd's own files."""

from __future__ import annotations

from loguru import logger

from tacitd.errors import TacitdError, describe_os_error
from tacitd.handler import Later


def explain_fault(error: BaseException) -> Later:
    """Return an exception of a handler as a reason that a person can read, and log its trace."""
    if isinstance(error, OSError) or (isinstance(error, TacitdError) and error.hint):
        what, hint = describe_os_error(error) if isinstance(error, OSError) else (error.what, error.hint)
        logger.warning("a handler failed: {}", what)  # the hint says how to fix it: the trace would not help
        logger.opt(exception=error).debug("the trace of this failure")
        return Later(what[:300], hint, blame="world")
    logger.opt(exception=error).warning("a handler failed: {}", type(error).__name__)
    hint = str(getattr(error, "hint", ""))
    what = getattr(error, "what", "") or f"{type(error).__name__}: {error}"
    return Later(str(what)[:300], hint, blame="world" if hint else "work")


def explain_unwritten(error: Exception) -> Later:
    """Return a failed write of tacitd's own files as a reason that a person can read."""
    if isinstance(error, OSError):
        what, hint = describe_os_error(error)
        return Later(f"it cannot be written down: {what}"[:300], hint)
    return Later(str(getattr(error, "what", error))[:300], str(getattr(error, "hint", "")))
