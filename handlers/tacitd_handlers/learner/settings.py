"""The section `learner` of the configuration."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from tacitd.config.settings import Duration, Names
from tacitd_handlers.learner.practice_report import ReviewPlan


class LearnerSettings(BaseModel):
    """`learner`: the paths of its two files, and how reviews are planned."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    profile: str = Field(
        default="",
        description="Path of the profile. Empty: `leetcode-teacher-profile.md` in Claude Code's directory.",
    )
    ledger: str = Field(
        default="",
        description="Path of the ledger. Empty: `leetcode-teacher-ledger.md` in Claude Code's directory.",
    )
    settle: Duration = Field(
        default=300.0,
        ge=0,
        description="Time without a write after which entries written by others are completed in both files.",
    )
    grow_only_when_due: bool = Field(
        default=False, description="A review before its due date does not lengthen the next interval."
    )
    longest_interval: int | None = Field(
        default=None, ge=1, description="Maximum days until the next review. Default: no maximum."
    )
    context: Literal["taught", "always", "never"] = Field(
        default="taught",
        description="Where `tacitd context` contains the learner's blocks: in projects in which a teaching session worked, "
        "everywhere, or nowhere.",
    )
    skills: Names = Field(
        default=("leetcode-teacher",),
        description="Skills whose sessions may report practice in a fenced JSON block.",
    )

    @property
    def plan(self) -> ReviewPlan:
        return ReviewPlan(self.grow_only_when_due, self.longest_interval)
