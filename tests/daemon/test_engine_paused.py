"""Pause is privacy: what is written in a pause reaches no plugin and is not stored, whenever it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support_engine import Scene, ids
from tacitd.state.person_choices import Scope
from tacitd.work.write_modes import set_pause

SCOPES: list[Scope] = ["all", "project", "session"]


def switch(scene: Scene, scope: Scope, *, held: bool) -> dict[str, Any]:
    """Pause or resume while no daemon reads."""
    name = {"all": "", "project": str(scene.root), "session": "s"}[scope]
    scene.clock.advance(5)
    done = set_pause(scene.app.store, scene.app.paths.state_dir, scope, name, scene.clock.now(), held=held)
    scene.clock.advance(5)
    return done


def given(scene: Scene) -> str:
    """Everything that the plugin and the store got of what was not passed over."""
    batches = [batch for batch in scene.handler.batches if not batch.passed]
    return (
        repr([batch.records for batch in batches])
        + repr(scene.handler.tasks)
        + repr(scene.app.store.rows("SELECT text, context FROM prompt"))
    )


def restart(scene: Scene) -> None:
    """A daemon that reads what was written while none ran; what the plugin got before is kept."""
    before = scene.handler.batches
    scene.restart()
    scene.handler.batches[:0] = before


@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize("scope", SCOPES)
def test_what_was_written_in_a_pause_and_is_read_later_is_passed_over(
    tmp_path: Path, scope: Scope, down: bool
) -> None:
    """The words, the assistant's, and what of these is kept as context; not what was typed before or after the pause."""
    scene = Scene(tmp_path)
    scene.append("s", scene.typed("s", "before"), scene.said("s", "well"))
    switch(scene, scope, held=True)
    scene.append("s", scene.typed("s", "hidden one"), scene.said("s", "you said hidden"))
    switch(scene, scope, held=False)
    scene.append("s", scene.typed("s", "after"), scene.said("s", "good"), scene.typed("s", "again"))
    if down:
        restart(scene)
    scene.settle()
    assert ids(scene) == ["u1", "u5", "u7"]
    assert "hidden" not in given(scene) and "well" in given(scene) and "good" in given(scene)
    ((left,),) = scene.app.store.rows("SELECT count(*) FROM prompt WHERE passed = 'paused' AND text IS NULL")
    assert left == 1


@pytest.mark.parametrize("scope", SCOPES)
def test_what_was_typed_before_a_pause_and_is_read_in_it_waits(tmp_path: Path, scope: Scope) -> None:
    """RELIABILITY 1: no daemon had read it when the pause began."""
    scene = Scene(tmp_path)
    scene.append("s", scene.typed("s", "before"))
    switch(scene, scope, held=True)
    scene.append("s", scene.said("s", "you said hidden"), scene.typed("s", "hidden"))
    scene.settle()
    assert ids(scene) == []
    switch(scene, scope, held=False)
    scene.settle()
    assert ids(scene) == ["u1"] and "hidden" not in given(scene)


@pytest.mark.parametrize("split", [False, True])
def test_the_answer_to_a_prompt_of_a_pause_is_of_the_pause(tmp_path: Path, split: bool) -> None:
    """It is written after the resume, and may quote the prompt; it may also be read alone."""
    scene = Scene(tmp_path)
    scene.append("s", scene.typed("s", "before"))
    scene.settle()
    switch(scene, "all", held=True)
    scene.append("s", scene.typed("s", "hidden"))
    switch(scene, "all", held=False)
    if split:
        scene.settle()
    scene.append("s", scene.said("s", "you said hidden"))
    if split:
        restart(scene)
        scene.settle()
    scene.append("s", scene.typed("s", "after"), scene.said("s", "good"))
    scene.settle()
    assert ids(scene) == ["u1", "u4"] and "hidden" not in given(scene) and "good" in given(scene)


@pytest.mark.parametrize("scope", SCOPES)
def test_a_copy_of_a_paused_session_brings_nothing_back(tmp_path: Path, scope: Scope) -> None:
    """CLAUDE_CODE section 0 fact 13: a fork has the history under another session's id."""
    scene = Scene(tmp_path)
    switch(scene, scope, held=True)
    records = [scene.typed("s", "hidden"), scene.said("s", "you said hidden")]
    scene.append("s", *records)
    scene.settle()
    switch(scene, scope, held=False)
    scene.append("fork", *({**one, "sessionId": "fork"} for one in records), scene.typed("fork", "new"))
    scene.settle()
    assert ids(scene) == ["u3"] and "hidden" not in given(scene)


def test_a_pause_holds_while_the_clock_is_set_back(tmp_path: Path) -> None:
    """What is typed then has a time from before the pause."""
    scene = Scene(tmp_path)
    switch(scene, "all", held=True)
    scene.clock.wall -= 3600
    scene.type("s", "hidden")
    scene.settle()
    assert ids(scene) == [] and "hidden" not in given(scene)
    scene.type("s", "hidden too")
    assert switch(scene, "all", held=False)["changed"]
    scene.type("s", "after")
    scene.settle()
    assert ids(scene) == ["u3"] and "hidden" not in given(scene)


def test_a_project_that_was_missing_is_paused_when_it_is_found(tmp_path: Path) -> None:
    """The directory could not be found when its prompt was read; the person had paused it by its name."""
    scene = Scene(tmp_path)
    place = scene.tmp / "work" / "away"
    set_pause(scene.app.store, scene.app.paths.state_dir, "project", str(place), scene.clock.now(), held=True)
    scene.type("s", "hidden", cwd=place)
    scene.settle()
    scene.project("away")
    scene.settle(120)
    scene.pause("project", str(place), held=False)
    scene.settle(120)
    assert ids(scene) == []
    assert scene.app.store.rows("SELECT text, passed FROM prompt") == [(None, "paused")]
