"""The section `continuity` of the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tacitd.config.types import Duration
from tacitd.handler import Gather


class ContinuitySettings(BaseModel):
    """`continuity`: what is stored of each session, so that it can be resumed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    settle: Duration = Field(
        default=20.0,
        ge=0,
        description="How long growth of a transcript is gathered before the session's file is written.",
    )
    summaries: bool = Field(
        default=True,
        description="Ask the model for a summary and the decisions when a session ends, in one call.",
    )
    min_prompts: int = Field(
        default=3,
        ge=1,
        description="Prompts that a person must have typed since the last summary before another is asked for.",
    )


def choose_gather(settings: Mapping[str, Any]) -> Gather:
    """Return how growth is gathered, given the plugin's section: a busy session's file is not written for each record."""
    continuity: ContinuitySettings = settings["continuity"]
    return Gather(delay=continuity.settle)
