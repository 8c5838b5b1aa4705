"""Compare a text with a golden file in `tests/fixtures/golden/`, which shows a change in a review."""

from __future__ import annotations

import os
from pathlib import Path

GOLDEN = Path(__file__).parent / "fixtures" / "golden"


def assert_golden(name: str, text: str) -> None:
    """Fail if the text differs from the golden file. With TACITD_GOLDEN=write in the environment, write it instead."""
    path = GOLDEN / name
    if os.environ.get("TACITD_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text("utf-8"), f"{name} differs; TACITD_GOLDEN=write renews it"
