"""The loop and the growth breaker: what it stops, what goes on, who opens it, and whom it must not stop."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import pytest

from support_engine import Paying, Scene, Scripted, ids
from tacitd.contract import Done, Later, Outcome, Task, Tools
from tacitd.handler import Degradation
from tacitd.model.port import ModelRequest, NoAnswer, Why
from tacitd.plugin import TimedJob
from tacitd.work.stored_problems import LIMIT


class Asking(Scripted):
    """A plugin that asks the model at each end of a session and for each job, and waits where it gets no answer."""

    def run(self, task: Task, tools: Tools) -> Outcome:
        self.tasks.append(task)
        if task.kind not in ("session-ended", "job"):
            return Done()
        said = tools.ask(ModelRequest("words", "fast"))
        return Later(said.reason, said.hint, said.retry_at) if isinstance(said, NoAnswer) else Done()


def breakers(scene: Scene) -> list[Degradation]:
    return [one for one in scene.app.list_degradations() if one.id == "breaker.closed"]


def loop(scene: Scene, count: int, *, places: int = 1, first: int = 0, **fields: Any) -> list[str]:
    """A program starts sessions, one a second, in so many directories one after the other; returns the prompts' ids."""
    made = []
    for i in range(first, first + count):
        root = scene.project(f"loop{i % places}")
        record = scene.typed(f"loop-{i}", f"words {i}", cwd=root) | fields
        scene.append(f"loop-{i}", record)
        scene.settle(1)
        made.append(str(record["uuid"]))
    return made


def test_a_loop_waits_with_one_line_and_goes_on_when_it_stops(tmp_path: Path) -> None:
    """RELIABILITY 16: parked with one reason and one line; what costs nothing goes on."""
    scene = Scene(tmp_path, Paying(), Scripted(rule=None))
    made = loop(scene, LIMIT + 20)
    assert ids(scene) == made[:LIMIT]
    seen = [one.id for batch in scene.handlers[1].batches for one in batch.prompts]
    assert seen == made, "what costs nothing goes on"
    parked = scene.app.read_status()["parked"]
    assert len(parked) == 20
    assert len({(one["reason"], one["hint"]) for one in parked}) == 1 and "tacitd resume" in parked[0]["hint"]
    assert len(breakers(scene)) == 1 and scene.sync().done()
    for _ in range(9):
        scene.settle(700)
    assert sorted(ids(scene)) == sorted(made) and breakers(scene) == []


@pytest.mark.parametrize("scope", ["project", "session"])
def test_resume_of_a_part_opens_that_part(tmp_path: Path, scope: Any) -> None:
    """`tacitd resume --project` and `--session`."""
    scene = Scene(tmp_path, Paying())
    here = loop(scene, LIMIT + 5)
    there = [str(r["uuid"]) for i in range(LIMIT + 5) for r in scene.type(f"t{i}", f"t {i}", cwd=scene.root)]
    scene.settle(1)
    offered = ids(scene)
    assert [id for id in offered if id in here] == here[:LIMIT]
    # Of the other directory's, all of which were there, some may have been offered before the last was read.
    assert there[LIMIT + 1] not in offered and len(offered) <= 2 * LIMIT
    name = {"project": str(scene.root), "session": f"t{LIMIT + 1}"}[scope]
    assert scene.pause(scope, name, held=False)["changed"]
    scene.settle(1)
    expected = {"project": there, "session": [there[LIMIT + 1]]}[scope]
    assert sorted(ids(scene)) == sorted({*offered, *expected})


def test_a_pause_stays_where_the_breaker_is_opened(tmp_path: Path) -> None:
    """What a person paused is not resumed by the resume of something else."""
    scene = Scene(tmp_path, Paying())
    made = loop(scene, LIMIT + 1)
    scene.pause("all", held=True)
    root = str(scene.project("loop0"))
    assert scene.pause("project", root, held=False)["changed"]
    scene.settle(1)
    assert ids(scene) == made[:LIMIT]
    scene.pause("all", held=False)
    scene.settle(1)
    assert ids(scene) == made


@pytest.mark.parametrize("scope", ["all", "session"])
@pytest.mark.parametrize("later", [1.0])
def test_what_a_person_let_go_on_stays_so_after_a_restart(tmp_path: Path, scope: Any, later: float) -> None:
    """The model was absent when the breaker was opened; the daemon is killed, and the rate is counted anew."""
    absent = [True]
    scene = Scene(tmp_path, Paying(lambda task: Later("no model") if absent[0] and task.prompts else Done()))
    made = loop(scene, 2 * LIMIT + 5)
    assert breakers(scene)
    name = f"loop-{2 * LIMIT}" if scope == "session" else ""
    assert scene.pause(scope, name, held=False)["changed"]
    scene.restart()
    absent[0] = False
    scene.settle(later)
    if scope == "all":
        assert breakers(scene) == []
        scene.settle(3600)
        assert sorted(ids(scene)) == sorted(made)
    else:
        assert breakers(scene) and made[2 * LIMIT] in ids(scene) and len(ids(scene)) < len(made)


# what costs nothing goes on


def test_a_plugin_that_asks_now_and_then_goes_on_without_the_model(tmp_path: Path) -> None:
    """Ends are handed over; only the model is not asked, and says why and until when."""
    scene = Scene(tmp_path, Asking(rule=None))
    loop(scene, LIMIT + 5)
    scene.settle(1801)
    assert len({task.session for task in scene.handler.ends}) == LIMIT + 5 and scene.app.model.asked == []  # type: ignore[attr-defined]
    (reason,) = set(scene.parked())
    assert reason == f"{Why.MANY_SESSIONS}: in {scene.project('loop0')}"
    scene.pause("all", held=False)
    scene.settle(1)
    assert len(scene.app.model.asked) == LIMIT + 5 and scene.parked() == []  # type: ignore[attr-defined]


def test_jobs_of_a_closed_project_ask_nothing_either(tmp_path: Path) -> None:
    """Else the recovery of facts would pay for what the end of a session may not."""
    scene = Scene(tmp_path, Asking(), jobs=[TimedJob("synthesize", math.inf)])
    loop(scene, LIMIT + 5)
    closed = scene.project("loop0")
    scene.type("mine", "words")
    scene.settle(1)
    for root in (closed, scene.root):
        scene.queue_job("synthesize", root)
    scene.settle(1)
    assert len(scene.app.model.asked) == 1  # type: ignore[attr-defined]
    assert f"{Why.MANY_SESSIONS}: in {closed}" in scene.parked()


# whom it must not stop


def test_scripts_that_call_the_client(tmp_path: Path) -> None:
    """`claude -p` says that it is a program: its words are nobody's, so it costs nothing and closes nothing."""
    scene = Scene(tmp_path, Paying())
    loop(scene, 3 * LIMIT, entrypoint="sdk-cli", promptSource="sdk", turnOrigin="sdk")
    scene.type("mine", "use pnpm", cwd=scene.project("loop0"))
    scene.settle(1)
    assert scene.handler.words == [["use pnpm"]]
    assert breakers(scene) == []


@pytest.mark.parametrize("newline", [True, False])
@pytest.mark.parametrize("how", ["replaced", "shrunk", "seen before"])
def test_a_sync_after_a_transcript_was_replaced_by_a_smaller_one_answers_when_that_is_handled(
    tmp_path: Path, how: str, newline: bool
) -> None:
    """Every byte that exists at the call is handled or parked when it answers, also below the position."""
    scene = Scene(tmp_path, Paying())
    scene.type("s", *(f"old {number}" for number in range(20)))
    scene.settle()
    if how == "replaced":
        scene.path("s").unlink()
    scene.path("s").write_bytes(b"")
    scene.append("s", scene.typed("s", "new"))
    if not newline:
        os.truncate(scene.path("s"), scene.path("s").stat().st_size - 1)
    if how == "seen before":
        scene.engine._notice(full=True)
    handled: list[list[str]] = []
    future = scene.engine.begin_sync()
    future.add_done_callback(lambda _: handled.append(ids(scene)[20:]))
    scene.settle(0)
    assert handled == [["u21"]]
