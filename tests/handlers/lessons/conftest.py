"""The bench of these tests."""

from __future__ import annotations

from support_lessons import lessons

__all__ = ["lessons"]
