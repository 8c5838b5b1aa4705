"""How many examples a property is tried with.

By default a third of the full figure, and the same ones in each run, so that a run says nothing of luck.
TACITD_EXAMPLES=1 tries the full figure, TACITD_EXAMPLES=10 ten times as many; then other ones in each run.
"""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, settings

FACTOR = os.environ.get("TACITD_EXAMPLES", "")
"""Of the full figure; nothing for a short run."""

PATIENT = settings(
    deadline=None,
    derandomize=not FACTOR,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
"""No deadline and no figure of speed: a busy machine is no fault of ours. No memory of earlier runs."""


def examples(full: int, **more: Any) -> settings:
    """What is put below or above `@given`: `full` is the figure of a full run; `more` is hypothesis's own."""
    count = full * float(FACTOR) if FACTOR else full / 3
    return settings(PATIENT, max_examples=max(1, round(count)), **more)
