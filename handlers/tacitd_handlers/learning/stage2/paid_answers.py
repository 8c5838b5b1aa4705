"""The results of a synthesis's calls: answers that were paid for, and facts whose answers were lost.

Only the data is defined here. `run` makes the calls and keeps the answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from tacitd_handlers.learning.stage2.parse import SynthesisPlan


class SynthesisAnswer(Struct, frozen=True):
    """What the model proposed, and the findings of prompt extensions in the same answer."""

    plan: SynthesisPlan
    found: Mapping[str, list[Any]]
    """Findings by the name of the plugin that gets them."""
    usd: float = 0.0
    """Cost of the calls in US dollars."""


class LostTwice(Struct, frozen=True):
    """Facts whose call was started twice without a stored answer."""

    reason: str
    parts: frozenset[str]
    """Ids of the facts, as made by `PendingFacts.map_fact_ids`."""


class PaidAnswer(Struct, frozen=True):
    """Answers that were paid for and are not written yet."""

    answers: Mapping[str, SynthesisAnswer]
    """Answers by the key of their call."""
    batches: frozenset[str]
    """Ids of the batches that are in no file and that the answers cover."""
    files: frozenset[Path]
    """Claimed files that the answers cover."""
