"""The logs of pauses, write modes and rescued texts."""

from __future__ import annotations

import stat
from pathlib import Path

from tacitd.choices import Choices
from tacitd.events import Project, Prompt
from tacitd.files.log import Log
from tacitd.holds import Hold, Holds
from tacitd.rescue import Rescue
from tacitd.testing import FakeClock

ROOT = Path("/w")


def _holds(folder: Path) -> Holds:
    return Holds(Log(folder / "paused.jsonl"), FakeClock())


def test_holds_survive_a_restart(tmp_path: Path) -> None:
    """Issue "Command line": `pause` lasts until `resume`, also after a restart."""
    holds = _holds(tmp_path)
    for hold in (Hold("all"), Hold("project", "/w"), Hold("session", "s")):
        holds.set(hold, True)
    holds.set(Hold("session", "s"), False)
    again = _holds(tmp_path)
    assert again.changes(Hold("session", "s"), True) and again.changes(Hold("all"), False)
    assert not again.changes(Hold("project", "/w"), True)
    assert again.all() == [Hold("all"), Hold("project", "/w")]
    again.set(Hold("all"), False)
    assert [again.changes(one, False) for one in (Hold("session", "s"), Hold("all"))] == [False, False]
    assert again.all() == [] and _holds(tmp_path).all() == [], "resuming all resumes everything"


def test_a_hold_applies_to_its_own(tmp_path: Path) -> None:
    """A project's, a session's, one for everything."""
    holds = _holds(tmp_path)
    assert holds.held(ROOT, "s") is None
    holds.set(Hold("project", "/w"), True)
    assert holds.held(ROOT, "t") == Hold("project", "/w") and holds.held(Path("/x"), "t") is None
    holds.set(Hold("session", "s"), True)
    assert holds.held(None, "s") == Hold("session", "s") and holds.held(None, "") is None


def test_choices_are_read_by_a_running_daemon(tmp_path: Path) -> None:
    """Issue "Command line": `tacitd share` is another process; `off` in the configuration overrides every choice."""
    here = Choices(Log(tmp_path / "projects.jsonl"), FakeClock())
    there = Choices(Log(tmp_path / "projects.jsonl"), FakeClock())
    off = Choices(Log(tmp_path / "projects.jsonl"), FakeClock(), "off")
    project = Project(ROOT, True)
    modes = []
    for choice in ("shared", "off", "nonsense", ""):
        there.choose(ROOT, choice)  # type: ignore[arg-type]
        modes.append(here.mode(project))
    assert modes == ["shared", "off", "local", "local"] and here.all() == {} and off.mode(project) == "off"


def _prompt(id: str, text: str = "use pnpm") -> Prompt:
    return Prompt("typed", text, "s", id, 5.0, "/w")


def test_rescued_words_leave_when_they_were_handled_or_dropped(tmp_path: Path) -> None:
    """DESIGN "Consumers": a 0600 log; text stays on disk no longer than needed."""
    path = tmp_path / "rescue.jsonl"
    rescue = Rescue(Log(path), FakeClock())
    rescue.keep("learning", [_prompt("u1"), _prompt("u2", "second")], "no model")
    rescue.keep("learning", [_prompt("u1")], "again")
    rescue.keep("other", [_prompt("u1")], "no model")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [(one["handler"], one["id"]) for one in Rescue(Log(path), FakeClock()).kept()] == [
        ("learning", "u1"),
        ("learning", "u2"),
        ("other", "u1"),
    ]
    rescue.handled("learning", ["u2", "unknown"])
    assert b"second" not in path.read_bytes()
    assert rescue.drop("u1") == 2 and rescue.drop("u1") == 0
    assert b"pnpm" not in path.read_bytes() and Rescue(Log(path), FakeClock()).kept() == []


def test_secrets_are_blanked_in_what_is_rescued(tmp_path: Path) -> None:
    """DESIGN "Model": text that looks like a secret is not stored."""
    rescue = Rescue(Log(tmp_path / "rescue.jsonl"), FakeClock())
    secret = "ghp_" + "a1B2" * 9
    rescue.keep("learning", [_prompt("u1", f"the token is {secret}")], "no model")
    assert secret.encode() not in (tmp_path / "rescue.jsonl").read_bytes()
