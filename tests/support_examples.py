"""How many examples a property is tried with.

By default a third of the full figure. TACITD_EXAMPLES=1 tries the full figure, TACITD_EXAMPLES=10 ten times as many,
TACITD_EXAMPLES=0.05 a twentieth. Below the full figure each run tries the same ones, so its result does not depend on luck.
"""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, settings

FACTOR = float(os.environ.get("TACITD_EXAMPLES") or 1 / 3)
"""Of the full figure."""

PATIENT = settings(
    deadline=None,
    derandomize=FACTOR < 1,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
"""No deadline and no figure of speed: a busy machine is no fault of ours. No memory of earlier runs."""


def examples(full: int, **more: Any) -> settings:
    """What is put below or above `@given`: `full` is the figure of a full run; `more` is hypothesis's own."""
    return settings(PATIENT, max_examples=max(1, round(full * FACTOR)), **more)
