"""Transcripts without a prompt are given to a worker together: each record is handled once and in order all the same."""

from __future__ import annotations

import random
import tempfile
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_engine import Scene, busy, grew
from support_examples import examples
from tacitd.dispatch import lanes as lanes_module
from tacitd.dispatch import pool as pool_module
from tacitd.dispatch.pauses import Pause
from tacitd.events import TranscriptGrew
from tacitd.handler import Done, Later
from tacitd.sources.transcript import read_records

SESSIONS, STEPS = 12, 40


class World:
    """Sessions in three projects in which little is typed, and two handlers that often decline or do a part."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.calm = False
        self.handled: list[dict[Path, list[tuple[int, int]]]] = [defaultdict(list), defaultdict(list)]
        handlers = [grew(partial(self._answer, number)) for number in range(2)]
        single = self.random.random() < 0.3
        self.scene = Scene(
            folder,
            *handlers,
            held=True,
            lanes=self.random.choice([1, 2]),
            single_store=single,
            pays=(False, False),
        )
        self.places = [self.scene.root, self.scene.project("b"), self.scene.project("c")]

    def _answer(self, number: int, event: TranscriptGrew) -> Any:
        upto, mood = event.end, self.random.random()
        if not self.calm and mood < 0.3:
            if mood < 0.1:
                return busy(self.random.choice([0.0, 5.0]))
            if mood < 0.2:
                raise OSError("mood")
            return Later("mood")
        if not self.calm and mood < 0.5:
            upto = self.random.choice(event.records).end
        taken = [(one.start, one.end) for one in event.records if one.end <= upto]
        self.handled[number][event.transcript] += taken
        return Done(upto)

    def step(self) -> None:
        scene = self.scene
        for _ in range(self.random.choice([0, 1, SESSIONS])):
            number = self.random.randrange(SESSIONS)
            moved = self.random.random() < 0.1
            cwd = self.random.choice(self.places) if moved else self.places[number % 3]
            write = scene.typed if self.random.random() < 0.1 else scene.said
            made = [write(f"s{number}", "words" * 20, cwd=cwd) for _ in range(self.random.randint(1, 3))]
            scene.append(f"s{number}", *made)
        pause = Pause("project", str(self.places[1]))
        match self.random.randrange(10):
            case 0:
                scene.engine.set_pause(pause, held=True)
            case 1:
                scene.engine.set_pause(pause, held=False)
            case 2:
                scene.engine._begin_sync()
            case 3:
                scene.engine._next_housekeeping = 0.0
            case 4:  # what was given to workers and did not begin is lost
                scene.app.close()
                scene.start(*scene.handlers)
            case _:
                scene.work(self.random.randint(0, 3))
        scene.settle(self.random.choice([0.0, 1.0, 40.0]))

    def end(self) -> None:
        """Everybody is calm, and all parked work has its time."""
        self.calm, self.scene.pool.held = True, False
        self.scene.engine.set_pause(Pause("project", str(self.places[1])), held=False)
        for _ in range(4):
            self.scene.work(1000)
            self.scene.settle(25000)
        assert self.scene.sync().done() and self.scene.parked() == []


@given(st.integers(0, 10**9), st.sampled_from([1, 2, lanes_module.JOINING]))
@examples(12)
def test_every_record_is_handled_once_and_in_order(seed: int, joining: int) -> None:
    """By handlers that fail in the middle of a group, with transcripts that go to another project, pauses and restarts."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(lanes_module, "JOINING", joining)
        world = World(Path(folder), seed)
        patch.setattr(pool_module, "KEPT", world.random.choice([4000, 20_000, pool_module.KEPT]))
        patch.setattr(pool_module, "SLICE", world.random.choice([2000, pool_module.SLICE]))
        for _ in range(STEPS):
            world.step()
        world.end()
        for path in world.scene.folder.iterdir():
            whole = read_records(world.scene.engine.source, path, 0, path.stat().st_size)
            kept = world.scene.dispatcher.unhandled.drop_paused(whole)
            expected = [(one.start, one.end) for one in kept]
            assert [handled[path] for handled in world.handled] == [expected, expected]
        world.scene.app.close()
