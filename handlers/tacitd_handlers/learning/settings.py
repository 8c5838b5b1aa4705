"""The learning plugin's sections of the configuration: `extraction` and `synthesis`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from tacitd.config.types import Duration


class ExtractionSettings(BaseModel):
    """`extraction`: when a session's prompts are put to the model."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    settle: Duration = Field(
        default=600.0,
        ge=0,
        description="Prompts of a session are sent to the model once nothing was typed for this time.",
    )
    max_prompts: int = Field(
        default=10, ge=1, le=100, description="With this many prompts, they are sent at once."
    )
    max_bytes: int = Field(
        default=24576,
        ge=1024,
        le=200_000,
        description="With this many bytes of prompts, they are sent at once.",
    )


class SynthesisSettings(BaseModel):
    """`synthesis`: how facts are written as lines."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tries: int = Field(
        default=5,
        ge=1,
        le=20,
        description="After this many unusable answers in a row, the facts are put aside.",
    )
