"""The section `tutor` of the configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class TutorSettings(BaseModel):
    """`tutor`: what a session may cost, and the mix of its final test."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    usd_per_day: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="Dollars a day for the tutor, within the budget. Default: half of budget.usd_per_day.",
    )
    test_mcq: int = Field(default=3, ge=0, le=8, description="Multiple-choice questions of the final test.")
    test_short: int = Field(default=2, ge=0, le=8, description="Short questions of the final test.")
    test_paraphrase: int = Field(
        default=1, ge=0, le=8, description="Questions of the final test that ask for a paraphrase."
    )
