"""The fixture of a bench with an empty lessons directory."""

from __future__ import annotations

from support_lessons import lessons

__all__ = ["lessons"]
