"""What came of the calls of a synthesis: answers that were paid for, and facts whose answers were lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacitd_handlers.learning.stage2.parse import SynthesisPlan


@dataclass(frozen=True, slots=True)
class SynthesisAnswer:
    """What the model proposed, and what riders found beside it."""

    plan: SynthesisPlan
    found: Mapping[str, list[Any]]
    """By the name of the slice that it is for."""
    usd: float = 0.0


@dataclass(frozen=True, slots=True)
class LostTwice:
    """Facts that were paid for twice without an answer that could be kept."""

    reason: str
    parts: frozenset[str]
    """Their ids, of `Material.parts`."""


@dataclass(frozen=True, slots=True)
class PaidAnswer:
    """Answers that were paid for and could not be written yet."""

    answers: Mapping[str, SynthesisAnswer]
    """By the call's key."""
    batches: frozenset[str]
    """The batches in no file that these answers are about."""
    files: frozenset[Path]
    """The claimed files that these answers are about."""
