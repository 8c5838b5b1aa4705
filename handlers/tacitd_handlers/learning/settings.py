"""The learning slice's sections of the configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from tacitd.config.types import Duration


class ExtractionSettings(BaseModel):
    """`extraction`: when a session's prompts are put to the model."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    settle: Duration = Field(
        default=600.0, ge=0, description="Prompts are gathered until nothing was typed for so long."
    )
    max_prompts: int = Field(
        default=10, ge=1, le=100, description="So many prompts go out at once, also before that."
    )
    max_bytes: int = Field(
        default=24576,
        ge=1024,
        le=200_000,
        description="So many bytes of prompts go out at once, also before that.",
    )


class SynthesisSettings(BaseModel):
    """`synthesis`: how facts become lines."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tries: int = Field(
        default=5,
        ge=1,
        le=20,
        description="After so many answers that cannot be used, the facts are put aside.",
    )
