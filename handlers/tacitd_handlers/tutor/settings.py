"""The section `tutor` of the configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class TutorSettings(BaseModel):
    """`tutor`: what its sessions may cost."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    usd_per_day: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="Dollars a day for the tutor, within the budget. Default: half of budget.usd_per_day.",
    )
