"""The number of examples with which a property is tried.

By default a third of the full figure. TACITD_EXAMPLES=1 tries the full figure, TACITD_EXAMPLES=10 ten times as many,
TACITD_EXAMPLES=0.05 a twentieth. Below the full figure each run tries the same ones, so its result does not depend on luck.
"""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, settings

FACTOR = float(os.environ.get("TACITD_EXAMPLES") or 1 / 3)
"""The share of the full figure."""

PATIENT = settings(
    deadline=None,
    derandomize=FACTOR < 1,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
"""No deadline and no health check of speed, because the machine may be busy. No database of earlier runs."""


def examples(full: int, **more: Any) -> settings:
    """A decorator for `@given` tests. `full`: the figure of a full run. `more`: other settings of hypothesis."""
    return settings(PATIENT, max_examples=max(1, round(full * FACTOR)), **more)
