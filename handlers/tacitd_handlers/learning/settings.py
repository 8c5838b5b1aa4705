"""The learning plugin's sections of the configuration: `extraction` and `learning`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tacitd.config.settings import Duration
from tacitd.plugin import GatherRule


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


def choose_gather(settings: Mapping[str, Any]) -> GatherRule:
    """Return how prompts are gathered for one call of the model (SPEC S-01), given the plugin's sections."""
    extraction: ExtractionSettings = settings["extraction"]
    return GatherRule(extraction.settle, extraction.max_prompts, extraction.max_bytes)


class LearningSettings(BaseModel):
    """`learning`: how many learned lines a file has."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_lines: int = Field(
        default=150,
        ge=10,
        le=2000,
        description="Learned lines in `LEARNED.md`. Past it, synthesis is asked to merge lines, and `status` says so.",
    )
    max_module_lines: int = Field(
        default=50, ge=10, le=2000, description="The same for the `AGENTS.md` of a folder."
    )
