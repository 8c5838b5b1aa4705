"""The section `lessons` of the configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class LessonsSettings(BaseModel):
    """`lessons`: where lessons are promoted to."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tools: str = Field(
        default="",
        description="Directory of the tool files that lessons are promoted to. Empty: `tools` in Claude Code's directory.",
    )
