"""The recorded files are those of the stories that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support_recording import RECORDED, Recording

HERE = Path(__file__).parent


def test_each_recording_belongs_to_a_story(pytestconfig: pytest.Config) -> None:
    """A story that was renamed or removed leaves no recorded files; `--record` removes them."""
    for path in RECORDED.glob("*.json"):
        text = (HERE / f"test_stories_{path.stem}.py").read_text("utf-8")
        stories = set(re.findall(r"^def (test_\w+)\(begin: Begin", text, re.MULTILINE))
        recording = Recording(path.stem)
        if pytestconfig.getoption("--record"):
            recording.keep_only(stories)
        assert {name.partition("[")[0] for name in recording.read()} <= stories
