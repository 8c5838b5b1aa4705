"""The section `lessons` of the configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class LessonsSettings(BaseModel):
    """`lessons`: where lessons are promoted to, and when a lesson is stale."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    skills: str = Field(
        default="",
        description="Directory of the skills that lessons are promoted to. Empty: `skills` in Claude Code's directory.",
    )
    tools: str = Field(
        default="",
        description="Directory of the tool files that lessons are promoted to. Empty: `tools` in Claude Code's directory.",
    )
    stale: int = Field(
        default=90, ge=1, le=3650, description="Days without a load after which a lesson is listed as stale."
    )
