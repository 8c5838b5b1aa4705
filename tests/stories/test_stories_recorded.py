"""The recorded files are those of the stories that there are."""

from __future__ import annotations

import re
from pathlib import Path

from support_recording import RECORDED, Recording

HERE = Path(__file__).parent


def test_each_recording_belongs_to_a_story() -> None:
    """A story that was renamed or removed leaves no recorded files."""
    for path in RECORDED.glob("*.json"):
        text = (HERE / f"test_stories_{path.stem}.py").read_text("utf-8")
        stories = set(re.findall(r"^def (test_\w+)\(begin: Begin", text, re.MULTILINE))
        assert {name.partition("[")[0] for name in Recording(path.stem).read()} == stories
