"""Why work must wait although its handler could begin."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_engine import Scene, Scripted
from tacitd.dispatch.pauses import Pause, Scope
from tacitd.dispatch.work_item import WorkItem
from tacitd.events import Due, Project
from tacitd.model.port import Why

LANE = ("a", "")


def item_of(scene: Scene, handler: str, session: str = "s") -> WorkItem:
    """The item of a handler for a session's transcript."""
    return scene.dispatcher.work_queue.get_item(scene.engine.consumers[handler], scene.path(session))


@pytest.mark.parametrize("scope", ["all", "project", "session"])
def test_paused_work_is_refused_with_the_scope(tmp_path: Path, scope: Scope) -> None:
    """`status` shows what a person paused and how to resume it."""
    scene = Scene(tmp_path)
    scene.type("s", "one")
    scene.settle()
    refusals, item = scene.dispatcher.refusals, item_of(scene, "a")
    assert refusals.get_refusal(item, str(scene.root)) is None
    name = {"project": str(scene.root), "session": "s"}.get(scope, "")
    scene.engine.set_pause(Pause(scope, name), held=True)
    later = refusals.get_refusal(item, str(scene.root))
    assert later is not None and "tacitd resume" in later.hint
    assert later.reason == f"paused by you ({f'{scope} {name}'.strip()})"


def test_a_closed_breaker_refuses_paid_work_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DESIGN "Model": the growth breaker bounds the cost; a handler that asks no model goes on."""
    scene = Scene(tmp_path, Scripted(), Scripted(), pays=[True, False])
    scene.type("s", "one")
    scene.settle()
    refusals, cwd = scene.dispatcher.refusals, str(scene.root)
    monkeypatch.setattr(type(scene.engine.breaker), "get_reason", lambda *_: ("in here", 5.0))
    monkeypatch.setattr(type(scene.engine.breaker), "closed_places", lambda _: [cwd])
    later = refusals.get_refusal(item_of(scene, "a"), cwd)
    assert later is not None and later.reason.startswith(Why.MANY_SESSIONS)
    assert later.not_before == scene.clock.wall + 60.0, "at least a minute, so that it is not tried in a loop"
    assert refusals.get_refusal(item_of(scene, "b"), cwd) is None
    job = WorkItem(scene.engine.consumers["a"], None, LANE, LANE, Due("j", Project(scene.root, True)))
    assert refusals.get_refusal(job, "") is None, "a job begins: perhaps it does not ask the model"
    assert refusals.get_model_refusal(job, "") is not None
    elsewhere = WorkItem(
        scene.engine.consumers["a"], None, LANE, LANE, Due("j", Project(scene.project("b"), True))
    )
    assert refusals.get_model_refusal(elsewhere, "") is None
