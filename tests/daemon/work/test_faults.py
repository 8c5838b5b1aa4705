"""How failures are described for people."""

from __future__ import annotations

import pytest
from loguru import logger

from tacitd.errors import FileRefusedError, TacitdError
from tacitd.work.faults import explain_fault


def logged_by_fault(error: Exception) -> list[tuple[str, str]]:
    """The lines in the log after a handler raised this, as (level, text with its trace)."""
    lines: list[tuple[str, str]] = []
    sink = logger.add(
        lambda text: lines.append((text.record["level"].name, str(text))), level="DEBUG", format="{message}"
    )
    try:
        try:
            raise error
        except Exception as raised:  # noqa: BLE001  it needs a trace
            explain_fault(raised)
    finally:
        logger.remove(sink)
    return lines


@pytest.mark.parametrize(
    "error", [FileRefusedError("/app is read-only", "chmod u+w /app"), OSError(28, "No space left on device")]
)
def test_a_failure_with_a_hint_is_logged_without_a_trace(error: Exception) -> None:
    """A read-only project fails once for each handler: one sentence each in the terminal, the trace at DEBUG."""
    (level, text), (detail, trace) = logged_by_fault(error)
    assert level == "WARNING" and "Traceback" not in text
    assert str(getattr(error, "what", "No space left")) in text
    assert detail == "DEBUG" and "Traceback" in trace


def test_a_failure_without_a_hint_is_logged_with_its_trace() -> None:
    """Without a hint, only the handler's author can fix it."""
    for error in (ValueError("x"), TacitdError("x")):
        ((level, text),) = logged_by_fault(error)
        assert level == "WARNING" and "Traceback" in text
