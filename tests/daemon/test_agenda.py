"""Who waits for what: nobody waits for something that is free, and a backlog is not looked at again and again."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_engine import Scene, Scripted, prompts_of
from support_examples import examples
from tacitd.agenda import Agenda
from tacitd.dispatch import Dispatcher
from tacitd.events import Event, TranscriptGrew
from tacitd.handler import Done, Later, Wait
from tacitd.holds import Hold
from tacitd.turns import For, Turn


def waiting(agenda: Agenda) -> dict[tuple[str, ...], list[Any]]:
    """By what they wait for, the turns that wait."""
    found = {
        way: [turn for _, number, turn in heap if turn.number == number]
        for way, heap in agenda._blocked.items()
    }
    return {way: turns for way, turns in found.items() if turns}


def check(scene: Scene) -> None:
    """Whoever waits for a lane or for a place of a handler waits for something that is taken, or somebody of the lane
    waits for a place: he calls the next."""
    agenda, runner = scene.dispatcher.agenda, scene.dispatcher.runner
    blocked = waiting(agenda)
    for way, turns in blocked.items():
        ahead = [turn for turn in blocked.get(way[:1], []) if turn.lane == way] if len(way) == 2 else []
        if len(way) < 3:
            assert runner.taken(way) or way in agenda._freed or ahead, (way, [turn.label for turn in turns])


@examples(150)
@given(st.integers(0, 1 << 30))
def test_nobody_waits_for_what_is_free(seed: int) -> None:
    """DESIGN "It is fast": after every step, with handlers that are done, wait, fail and are rejected in any order."""
    chance, calm = random.Random(seed), [False]

    def answer(event: Event) -> Any:
        mood = 1.0 if calm[0] else chance.random()
        if mood < 0.15:
            return Later("mood")
        if mood < 0.25 and isinstance(event, TranscriptGrew):
            return Wait(chance.choice([0.0, 30.0]))
        return Done(data={"did": prompts_of(event)})

    with tempfile.TemporaryDirectory() as folder:
        handlers = [Scripted(answer) for _ in range(3)]
        scene = Scene(Path(folder), *handlers, held=True, lanes=chance.choice([1, 2]))
        places = [scene.root, *(scene.project(f"p{n}") for n in range(3))]
        for _ in range(60):
            what = chance.choice(["type", "type", "type", "work", "work", "sync", "hold", "pass"])
            if what == "type":
                name = chance.randrange(12)
                scene.type(f"s{name}", f"words {chance.random()}", cwd=places[name % 4])
            elif what == "work" and scene.pool.works:
                scene.pool.works.rotate(chance.randrange(3))
                scene.work(chance.randrange(1, 4))
            elif what == "sync":
                scene.sync()
            elif what == "hold":
                scene.engine.hold(Hold("project", str(chance.choice(places))), held=chance.random() < 0.5)
            scene.settle(chance.choice([0, 0, 1]))
            check(scene)
        calm[0] = True
        scene.engine.hold(Hold("all"), held=False)
        done = scene.sync()
        while scene.pool.works:
            scene.work()
            scene.settle(0)
            check(scene)
        assert done.done() and not [way for way in waiting(scene.dispatcher.agenda) if len(way) < 3]


@pytest.mark.parametrize("lanes", [1, 4])
def test_a_backlog_is_looked_at_in_proportion(
    tmp_path: Path, lanes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELIABILITY row 5, 10: with twice as many projects, each transcript is looked at no oftener."""
    looked = [0]
    real = Dispatcher._offered

    def counted(dispatcher: Dispatcher, turn: Turn) -> For | None:
        looked[0] += 1
        return real(dispatcher, turn)

    monkeypatch.setattr(Dispatcher, "_offered", counted)

    def backlog(count: int) -> float:
        looked[0] = 0
        scene = Scene(tmp_path / str(count), lanes=lanes)
        for n in range(count):
            scene.type(f"s{n}", "one", "two", cwd=scene.project(f"p{n}"))
        assert scene.sync().done() and len(scene.handler.did) == 2 * count
        return looked[0] / count

    assert backlog(80) <= 1.2 * backlog(20) + 1
