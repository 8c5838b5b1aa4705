"""The result of one check of `tacitd doctor`."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import asdict

__all__ = ["DoctorFinding", "Severity"]

Severity = Literal["ok", "warning", "error"]


class DoctorFinding(Struct, frozen=True):
    """What one check found."""

    id: str
    """Stable, such as `model.absent`."""
    severity: Severity
    what: str
    hint: str = ""
    """What fixes it; "" if nothing needs to be fixed."""

    def as_data(self) -> dict[str, Any]:
        """The fields by name, for `--json`."""
        return asdict(self)
