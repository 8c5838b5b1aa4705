"""Failures of a handler as reasons that a person can read."""

from __future__ import annotations

from loguru import logger

from tacitd.errors import TacitdError, describe_failure
from tacitd.handler import Later


def explain_fault(error: BaseException) -> Later:
    """Return an exception of a handler as a reason that a person can read, and log its trace."""
    if isinstance(error, OSError) or (isinstance(error, TacitdError) and error.hint):
        what, hint = describe_failure(error)
        logger.warning("a handler failed: {}", what)  # the hint says how to fix it: the trace would not help
        logger.opt(exception=error).debug("the trace of this failure")
        return Later(what[:300], hint, blame="world")
    logger.opt(exception=error).warning("a handler failed: {}", type(error).__name__)
    hint = str(getattr(error, "hint", ""))
    what = getattr(error, "what", "") or f"{type(error).__name__}: {error}"
    return Later(str(what)[:300], hint, blame="world" if hint else "work")
