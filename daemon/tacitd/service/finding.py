"""One thing that doctor tried: a stable id, how bad it is, what was found, and the cure as a command."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Severity = Literal["ok", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was tried."""

    id: str
    """docs/troubleshooting.md has a section for each that is not ok."""
    severity: Severity
    what: str
    hint: str = ""

    def as_data(self) -> dict[str, Any]:
        """JSON."""
        return asdict(self)
