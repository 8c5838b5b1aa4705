"""When the lines of open sessions will be written, in `status` and in the banner."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support_engine import Scene, Scripted, done, gathered, grew
from tacitd.cli.status_command import format_status
from tacitd.clock import parse_utc
from tacitd.dispatch.pauses import Pause, Scope
from tacitd.dispatch.waiting_lines import local_time
from tacitd.events import Due, Event, Project
from tacitd.handler import Later, Outcome
from tacitd.service.banner import banner_lines
from tacitd.status import build_status

IDLE = 1800.0


@pytest.fixture(autouse=True)
def utc() -> Iterator[None]:
    """Local times are UTC, so that no test depends on the time zone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path, gathered())


def rows(scene: Scene) -> list[tuple[str, float]]:
    """The listed sessions, and in how many seconds their lines are written."""
    found = build_status(scene.app)["sessions"]
    return [(one["session"], (parse_utc(one["lines_about"]) or 0.0) - scene.clock.wall) for one in found]


def facts_wait(scene: Scene, number: int = 0) -> None:
    """From now on, a handler reports facts of the project that wait for the session's end."""
    row = {"project": str(scene.root), "what": "1 fact", "until": "its session ends", "job": "synthesize"}
    scene.handlers[number].says = lambda: {"waits": [row]}
    scene.engine.dispatcher.outcomes.statuses.renew_all()


def test_a_session_with_prompts_is_listed_until_its_lines_are_written(scene: Scene) -> None:
    """Issue "`status` says when a session's lines will come": while prompts are gathered, and afterwards."""
    scene.begin("opened")
    scene.settle()
    assert rows(scene) == [], "it contains no prompt"
    scene.type("s", "use pnpm")
    scene.settle()
    assert rows(scene) == [("s", IDLE)]
    (line,) = [text for text in format_status(build_status(scene.app)) if text.startswith("waits ")]
    when = f"at {local_time(scene.clock.wall + IDLE)}, if it stays idle until then"
    assert line == f"waits     prompts of 1 session in {scene.root}: until its session ends ({when})"
    assert f"waits: {line[10:]}" in list(banner_lines(scene.app))
    facts_wait(scene)
    assert scene.sync().done() and rows(scene) == [("s", IDLE)], (
        "the prompts are handled, the lines are not written"
    )
    scene.begin("opened later in the same project")
    scene.settle(0)
    assert rows(scene) == [("s", IDLE)]
    scene.settle(IDLE)
    assert scene.handler.ends and rows(scene) == []
    assert not any("prompts of" in text for text in format_status(build_status(scene.app)))


def test_open_sessions_are_known_after_a_restart(scene: Scene) -> None:
    """The banner of the next start lists the sessions that were open."""
    scene.type("s", "use pnpm")
    scene.settle()
    scene.sync()
    scene.restart()
    facts_wait(scene)
    assert any(text.startswith(f"waits: 1 fact in {scene.root}: until") for text in banner_lines(scene.app))


def test_a_session_without_a_project_is_not_listed(scene: Scene) -> None:
    """Nor one in an excluded project."""
    scene.type("s", "use pnpm")
    scene.type("t", "use ruff", cwd=Path("/nowhere"))
    scene.settle()
    assert [session for session, _ in rows(scene)] == ["s"]
    scene.app.write_modes.set_mode(scene.root, "off")
    assert rows(scene) == []


def test_a_session_without_facts_is_not_listed(scene: Scene) -> None:
    """Everything was handled, and nothing waits for the session's end: no line will be written."""
    scene.type("s", "thanks, looks good")
    scene.settle()
    assert scene.sync().done()
    assert rows(scene) == []
    assert not any(text.startswith("waits") for text in banner_lines(scene.app))


@pytest.mark.parametrize("gathered", [True, False])
@pytest.mark.parametrize("scope", ["all", "project", "session"])
def test_a_paused_session_is_not_listed(scene: Scene, scope: Scope, gathered: bool) -> None:
    """Paused work waits for `tacitd resume`, not for the session's end."""
    scene.type("s", "use pnpm")
    scene.settle()
    if not gathered:
        facts_wait(scene)
        assert scene.sync().done()
    assert rows(scene) == [("s", IDLE)]
    pause = Pause(scope, {"project": str(scene.root), "session": "s"}.get(scope, ""))
    scene.engine.set_pause(pause, held=True)
    assert rows(scene) == []
    scene.engine.set_pause(pause, held=False)
    assert rows(scene) == [("s", IDLE)]


def test_a_session_whose_work_is_parked_is_not_listed(tmp_path: Path) -> None:
    """There is no model, so no line is written at the session's end."""
    scene = Scene(tmp_path, grew(lambda _: Later("no model", "install it")))
    scene.type("s", "use pnpm")
    scene.settle()
    assert scene.parked() == ["no model"] and rows(scene) == []


def test_a_session_whose_project_has_a_parked_job_is_not_listed(tmp_path: Path) -> None:
    """The job that writes the lines is parked, so no line is written at the session's end."""

    def answer(event: Event) -> Outcome:
        return Later("no model", "install it") if isinstance(event, Due) else done(event)

    scene = Scene(tmp_path, Scripted(answer))
    scene.type("s", "use pnpm")
    scene.settle()
    facts_wait(scene)
    assert rows(scene) == [("s", IDLE)]
    project = scene.engine.project_of(str(scene.root))
    assert isinstance(project, Project)
    scene.dispatcher.post_event(Due("synthesize", project))
    scene.settle(0)
    assert scene.parked() == ["no model"] and rows(scene) == []


def test_a_handler_without_a_model_lists_no_session(tmp_path: Path) -> None:
    """Continuity handles the prompts of each session, and writes no lines."""
    scene = Scene(tmp_path, gathered(), pays=[False])
    scene.type("s", "use pnpm")
    scene.settle()
    assert rows(scene) == []
