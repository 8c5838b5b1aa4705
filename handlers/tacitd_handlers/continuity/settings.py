"""The section `continuity` of the configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from tacitd.config.settings import Duration


class ContinuitySettings(BaseModel):
    """`continuity`: what is stored of each session, so that it can be resumed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    summaries: bool = Field(
        default=True,
        description="Ask the model for a summary and the decisions when a session ends, is compacted or pauses, in one call.",
    )
    quiet: Duration = Field(
        default=600.0,
        ge=60,
        description="How long a session must have paused before a summary is asked for, so that it is there when you come back.",
    )
