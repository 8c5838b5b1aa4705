"""The write modes of projects, as `tacitd share` and `tacitd exclude` choose them."""

from __future__ import annotations

from pathlib import Path

from tacitd.events import Project
from tacitd.testing import FakeClock
from tacitd.work.write_modes import WriteModes

ROOT = Path("/w")


def test_choices_are_read_by_a_running_daemon(tmp_path: Path) -> None:
    """`tacitd share` is another process; `off` in the configuration overrides every choice."""
    tmp_path.chmod(0o700)
    here, there = WriteModes(tmp_path, FakeClock()), WriteModes(tmp_path, FakeClock())
    off, project = WriteModes(tmp_path, FakeClock(), "off"), Project(ROOT, True)
    modes = []
    for choice in ("shared", "off", ""):
        there.set_mode(ROOT, choice)
        modes.append(here.get_mode(project))
    assert modes == ["shared", "off", "local"] and off.get_mode(project) == "off"


def test_the_choice_before_is_known(tmp_path: Path) -> None:
    """`tacitd exclude --undo` goes back to it."""
    tmp_path.chmod(0o700)
    modes = WriteModes(tmp_path, FakeClock())
    modes.set_mode(ROOT, "shared")
    modes.set_mode(ROOT, "off")
    assert modes.get_previous(ROOT, "off") == "shared"
