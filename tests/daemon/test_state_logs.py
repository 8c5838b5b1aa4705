"""The logs of pauses, write modes and rescued texts."""

from __future__ import annotations

import stat
from pathlib import Path

from tacitd.consumers.rescue import RescueLog
from tacitd.dispatch.pauses import Pause, PausedScopes
from tacitd.events import Project, Prompt
from tacitd.files.log import Log
from tacitd.state.write_modes import WriteModes
from tacitd.testing import FakeClock

ROOT = Path("/w")


def _holds(folder: Path) -> PausedScopes:
    return PausedScopes(Log(folder / "paused.jsonl"), FakeClock())


def test_holds_survive_a_restart(tmp_path: Path) -> None:
    """Issue "Command line": `pause` lasts until `resume`, also after a restart."""
    holds = _holds(tmp_path)
    for hold in (Pause("all"), Pause("project", "/w"), Pause("session", "s")):
        holds.set_paused(hold, True)
    holds.set_paused(Pause("session", "s"), False)
    again = _holds(tmp_path)
    assert again.would_change(Pause("session", "s"), True) and again.would_change(Pause("all"), False)
    assert not again.would_change(Pause("project", "/w"), True)
    assert again.list_pauses() == [Pause("all"), Pause("project", "/w")]
    again.set_paused(Pause("all"), False)
    assert [again.would_change(one, False) for one in (Pause("session", "s"), Pause("all"))] == [False, False]
    assert again.list_pauses() == _holds(tmp_path).list_pauses() == [Pause("project", "/w")], "others stay"


def test_an_end_of_all_that_an_earlier_version_wrote_ended_every_pause(tmp_path: Path) -> None:
    """Nothing becomes paused by an update."""
    log = Log(tmp_path / "paused.jsonl")
    for at, scope, held in ((1.0, "project", True), (2.0, "all", True), (3.0, "all", False)):
        log.append({"at": at, "scope": scope, "name": "/w" if scope == "project" else "", "held": held})
    assert PausedScopes(log, FakeClock()).list_pauses() == []


def test_a_hold_applies_to_its_own(tmp_path: Path) -> None:
    """A project's, a session's, one for everything."""
    holds = _holds(tmp_path)
    assert holds.find_pause(ROOT, "s") is None
    holds.set_paused(Pause("project", "/w"), True)
    assert holds.find_pause(ROOT, "t") == Pause("project", "/w") and holds.find_pause(Path("/x"), "t") is None
    holds.set_paused(Pause("session", "s"), True)
    assert holds.find_pause(None, "s") == Pause("session", "s") and holds.find_pause(None, "") is None


def test_choices_are_read_by_a_running_daemon(tmp_path: Path) -> None:
    """Issue "Command line": `tacitd share` is another process; `off` in the configuration overrides every choice."""
    here = WriteModes(Log(tmp_path / "projects.jsonl"), FakeClock())
    there = WriteModes(Log(tmp_path / "projects.jsonl"), FakeClock())
    off = WriteModes(Log(tmp_path / "projects.jsonl"), FakeClock(), "off")
    project = Project(ROOT, True)
    modes = []
    for choice in ("shared", "off", "nonsense", ""):
        there.set_mode(ROOT, choice)  # type: ignore[arg-type]
        modes.append(here.get_mode(project))
    assert modes == ["shared", "off", "local", "local"] and off.get_mode(project) == "off"


def _prompt(id: str, text: str = "use pnpm") -> Prompt:
    return Prompt("typed", text, "s", id, 5.0, "/w")


def test_rescued_words_leave_when_they_were_handled_or_dropped(tmp_path: Path) -> None:
    """DESIGN "Consumers": a 0600 log; text stays on disk no longer than needed."""
    path = tmp_path / "rescue.jsonl"
    rescue = RescueLog(Log(path), FakeClock())
    rescue.keep_prompts("learning", [_prompt("u1"), _prompt("u2", "second")], "no model")
    rescue.keep_prompts("learning", [_prompt("u1")], "again")
    rescue.keep_prompts("other", [_prompt("u1")], "no model")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [(one["handler"], one["id"]) for one in RescueLog(Log(path), FakeClock()).list_entries()] == [
        ("learning", "u1"),
        ("learning", "u2"),
        ("other", "u1"),
    ]
    rescue.remove_handled("learning", ["u2", "unknown"])
    assert b"second" not in path.read_bytes()
    assert rescue.drop_prompt("u1") == 2 and rescue.drop_prompt("u1") == 0
    assert b"pnpm" not in path.read_bytes() and RescueLog(Log(path), FakeClock()).list_entries() == []


def test_secrets_are_blanked_in_what_is_rescued(tmp_path: Path) -> None:
    """DESIGN "Model": text that looks like a secret is not stored."""
    rescue = RescueLog(Log(tmp_path / "rescue.jsonl"), FakeClock())
    secret = "ghp_" + "a1B2" * 9
    rescue.keep_prompts("learning", [_prompt("u1", f"the token is {secret}")], "no model")
    assert secret.encode() not in (tmp_path / "rescue.jsonl").read_bytes()
