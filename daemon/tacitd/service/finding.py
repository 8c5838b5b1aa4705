"""The result of one check of `tacitd doctor`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = ["DoctorFinding", "Severity"]

Severity = Literal["ok", "warning", "error"]


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """What one check found."""

    id: str
    """Stable. docs/troubleshooting.md has a section for each id that is not ok."""
    severity: Severity
    what: str
    hint: str = ""
    """What fixes it; "" if nothing needs to be fixed."""

    def as_data(self) -> dict[str, Any]:
        """The fields by name, for `--json`."""
        return asdict(self)
