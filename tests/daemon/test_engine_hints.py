"""What a client's hooks say, in the engine: a prompt is known soon, also where no watch reports its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_engine import Scene, Scripted
from tacitd.plugin import GatherRule
from tacitd.sources.follow import HOT_EVERY


def say(scene: Scene, event: str, session: str = "s") -> None:
    """A hook says this."""
    data = {
        "hook_event_name": event,
        "session_id": session,
        "transcript_path": str(scene.path(session)),
        "cwd": "/w",
    }
    scene.engine.take_hook_inputs([data])


def test_a_prompt_is_in_the_status_within_two_seconds(tmp_path: Path) -> None:
    """The hook runs before the client writes the prompt. No watch, and the hour is over in which a file is compared often."""
    scene = Scene(tmp_path, Scripted(rule=GatherRule(quiet=600.0)))
    scene.type("s", "hello")
    scene.settle()
    scene.settle(7200)
    before = scene.app.read_status()["handlers"]["a"]["waiting"]
    say(scene, "UserPromptSubmit")
    scene.engine.run_pass()
    scene.type("s", "no, use pnpm")
    assert scene.engine.sleep_seconds() <= HOT_EVERY
    scene.clock.advance(HOT_EVERY)
    for _ in range(3):
        scene.engine.run_pass()
    assert scene.app.read_status()["handlers"]["a"]["waiting"] == before + 1


@pytest.mark.parametrize("last", ["PreCompact", "SessionEnd"])
def test_what_a_client_wrote_last_is_read_at_once(tmp_path: Path, last: str) -> None:
    """When it leaves or compacts, also where no watch reports the file."""
    scene = Scene(tmp_path)
    scene.type("s", "hello")
    scene.settle()
    scene.type("s", "no, use pnpm")
    scene.engine.run_pass()
    assert ["no, use pnpm"] not in scene.handlers[0].words
    say(scene, last)
    for _ in range(3):
        scene.engine.run_pass()
    assert scene.handlers[0].words[-1:] == [["no, use pnpm"]]


def test_garbage_has_no_effect(tmp_path: Path) -> None:
    """Another form, another path, an event that is not known, and a path that no file can have."""
    scene = Scene(tmp_path)
    scene.engine.take_hook_inputs(
        [{}, {"hook_event_name": 7}, {"hook_event_name": "PreCompact", "session_id": "s"}]
    )
    path = str(tmp_path / "elsewhere.jsonl")
    say(scene, "PreCompact", "unknown")
    scene.engine.take_hook_inputs(
        [{"hook_event_name": "PreCompact", "session_id": "s", "transcript_path": path, "cwd": "/w"}]
    )
    scene.engine.take_hook_inputs(
        [{"hook_event_name": "Stop", "session_id": "s", "transcript_path": f"{scene.path('s')}\ud800.jsonl"}]
    )
    scene.settle(0)
    assert scene.app.read_status()["degraded"] == []
