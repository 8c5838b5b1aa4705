"""The lessons slice's section of the configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class LessonsSettings(BaseModel):
    """`lessons`: where promoted lessons go, and how many lines a session is told."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    skills: str = Field(
        default="",
        description="The directory of skills that lessons are promoted to; empty: skills in Claude Code's own.",
    )
    tools: str = Field(
        default="",
        description="The directory of tool files that lessons are promoted to; empty: tools in Claude Code's own.",
    )
    stale: int = Field(
        default=90, ge=1, le=3650, description="Days without a load after which a lesson is listed as stale."
    )
