"""The continuity slice's section of the configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from tacitd.config_types import Duration


class ContinuitySettings(BaseModel):
    """`continuity`: what is kept of each session, to go on with it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    settle: Duration = Field(
        default=20.0, ge=0, description="Growth is gathered for so long before a session's file is written."
    )
    summaries: bool = Field(
        default=True,
        description="Ask the model for a summary and the decisions when a session ends: one call.",
    )
    min_prompts: int = Field(
        default=3, ge=1, description="Only where a person typed so many prompts since the last summary."
    )
