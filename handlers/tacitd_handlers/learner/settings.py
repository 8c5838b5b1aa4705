"""The learner slice's section of the configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from tacitd.config_types import Duration, Names


class LearnerSettings(BaseModel):
    """`learner`: where its two files are, and how reviews are planned."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    profile: str = Field(
        default="",
        description="The profile; `leetcode-teacher-profile.md` in Claude Code's directory if empty.",
    )
    ledger: str = Field(
        default="",
        description="The ledger; `leetcode-teacher-ledger.md` in Claude Code's directory if empty.",
    )
    settle: Duration = Field(
        default=300.0,
        ge=0,
        description="What others write into the two files is completed when nobody wrote for so long.",
    )
    grow_only_when_due: bool = Field(
        default=False, description="A review before its date does not make the next interval longer."
    )
    longest_interval: int | None = Field(
        default=None, ge=1, description="No review is further away than so many days."
    )
    skills: Names = Field(
        default=("leetcode-teacher",),
        description="Skills whose sessions may report what was practised, in a fenced block of JSON.",
    )
