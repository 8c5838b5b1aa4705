"""The whole way under random hands: everything typed is handled exactly once, whatever happens in between."""

from __future__ import annotations

import json
import random
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support_beginnings import is_new
from support_engine import Scene, Scripted, busy, ids
from support_examples import examples
from tacitd.contract import Done, Later, Outcome, Task
from tacitd.errors import UnwritableError
from tacitd.plugin import GatherRule
from tacitd.state.person_choices import Scope
from tacitd.work import reader as reader_module
from tacitd.work.work_status import list_pauses

STEPS = ["type", "type", "fork", "torn", "queue", "work", "work", "pass", "long", "kill", "close", "sync", "rewrite",
         "pause", "resume", "title", "said", "said", "jump", "housekeeping", "touch", "scan", "move", "eio"]  # fmt: skip


class World:
    """One scene and what must be true of it in the end."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.calm = False
        self.typed: dict[str, list[dict[str, Any]]] = {}
        self.torn: dict[str, bytes] = {}
        self.all: list[str] = []
        self.answered: list[tuple[str, str]] = []
        """Session and id of each prompt that the plugin said it has done, in order."""
        self.queued = 0
        self.broken = False
        self.scene = Scene(folder, self._handler(), held=True)
        self.other = self.scene.project("other")
        self.last: dict[str, int] = {}

    def _handler(self) -> Scripted:
        rule = self.random.choice([GatherRule(quiet=0.0), GatherRule(quiet=600.0, prompts=3)])
        return Scripted(self._answer, rule)

    def _answer(self, task: Task) -> Outcome:
        """In a mood: anything. When it is calm: everything that it is asked."""
        mood = 1.0 if self.calm else self.random.random()
        if mood < 0.15 and task.prompts:
            return cast(Outcome, busy(self.random.choice([0.0, 5.0, 600.0])))
        if mood < 0.3:
            return Later("mood", not_before=self.random.choice([None, 0.0, self.scene.clock.wall + 100]))
        if mood < 0.35 and task.prompts:
            raise OSError("mood")
        used = [one.number for one in task.prompts]
        if mood < 0.6 and used:
            used = used[: self.random.randint(1, len(used))]
        self.answered += [(task.session, one.id) for one in task.prompts if one.number in used]
        return Done(used=used)

    def step(self, what: str) -> None:
        scene, session = self.scene, self.random.choice("stuvw")
        if what in ("type", "fork", "torn", "queue", "title", "said", "move"):
            self._write(what, session)
        elif what == "work":
            scene.work(self.random.randint(1, 3))
        elif what in ("pass", "long"):
            scene.clock.advance(
                self.random.choice([1, 20, 61]) if what == "pass" else self.random.choice([700, 2000])
            )
        elif what == "jump":
            scene.clock.jump(self.random.choice([-86400, -60, 3600]))
        elif what in ("kill", "close"):
            if what == "close":
                scene.app.close()
            else:
                scene.kill()
            scene.start(self._handler())
        elif what == "sync":
            scene.engine.begin_sync()
        elif what == "rewrite" and session in self.typed and session not in self.torn:
            scene.path(session).write_bytes(b"")
            self.typed[session] = [scene.title(session), *self.typed[session]]
            scene.append(session, *self.typed[session])
        elif what in ("pause", "resume"):
            held = what == "pause"
            places: list[tuple[Scope, str]] = [
                ("all", ""),
                ("session", session),
                ("project", str(self.other)),
            ]
            scope, name = self.random.choice(places)
            with suppress(UnwritableError):
                scene.pause(scope, name, held=held)
        elif what == "housekeeping":
            scene.engine._next_housekeeping = 0.0
        elif what == "eio":
            self._break_a_sync()
        elif what == "touch":
            for path in scene.folder.iterdir():
                path.chmod(self.random.choice([0o600, 0o640]))
        elif what == "scan":
            with suppress(UnwritableError):
                scene.scan([scene.path(session)], 0.0)
        scene.settle(0)

    def _break_a_sync(self) -> None:
        """The next commit of the store fails, or it is durable and its caller is told that it is not."""
        self.broken = True
        left, when = [1], self.random.choice(["before commit", "committed"])

        def fail(step: str) -> None:
            if step == when and left[0] and not self.calm:
                left[0] = 0
                raise UnwritableError("Input/output error", "wait")

        store: Any = self.scene.app.store
        store._on_step = fail

    def _write(self, what: str, session: str) -> None:
        scene = self.scene
        if is_new(scene.path(session)):
            scene.begin(session)
            if self.random.random() < 0.5:
                scene.settle(0)
        if session in self.torn:
            with scene.path(session).open("ab") as out:
                out.write(self.torn.pop(session))
        if what == "fork" and self.typed.get(session):
            new = f"{session}{self.random.randint(0, 3)}"
            if new in self.torn:
                return
            copied = [{**one, "sessionId": new} for one in self.typed[session]]
            self.typed.setdefault(new, []).extend(copied)
            scene.append(new, *copied)
            return
        made = (
            scene.title(session)
            if what == "title"
            else scene.typed(session, f"words {len(self.all)}", cwd=self.other if what == "move" else None)
        )
        if what == "said":
            made = scene.said(session, "words")
        elif what == "queue":
            self.queued += 1
            made = scene.queued(session, f"queued {self.queued}")
        elif what != "title":
            self.all.append(made["uuid"])
        self.typed.setdefault(session, []).append(made)
        if what == "torn":
            whole = json.dumps(made).encode() + b"\n"
            cut = self.random.randint(1, len(whole) - 1)
            with scene.path(session).open("ab") as out:
                out.write(whole[:cut])
            self.torn[session] = whole[cut:]
        else:
            scene.append(session, made)

    def end(self) -> None:
        """Everybody is calm, everything is written, and all parked work has its time."""
        scene = self.scene
        self.calm = True
        for session, rest in self.torn.items():
            with scene.path(session).open("ab") as out:
                out.write(rest)
        for one in list_pauses(scene.app.store.rows):
            scene.pause(cast(Scope, one["scope"]), one["name"], held=False)
        scene.pool.held = False
        for _ in range(4):
            scene.work(1000)
            scene.settle(0)
            scene.settle(25000)
        future = scene.sync()
        assert future.done(), "sync never hangs"

    def _list_paused(self) -> set[str]:
        """The prompts that were typed while a pause was in force. A `scan` may have asked for them."""
        rows = self.scene.app.store.rows("SELECT id FROM prompt WHERE passed = 'paused'")
        return {id for (id,) in rows}

    def check(self) -> None:
        scene = self.scene
        rejected = [one["id"] for one in scene.rescued()]
        did = [id for id in ids(scene) if not id.startswith("~")]
        assert set(did) <= set(self.all), "nothing but what was typed"
        assert set(self.all) - set(did) - set(rejected) <= self._list_paused(), (
            "each prompt that was not paused"
        )
        answered = [id for _, id in self.answered]
        if (
            not self.broken
        ):  # otherwise an outcome that the disk refused is lost with a kill, and its work is done again
            assert len(answered) == len(set(answered)), "no prompt twice"
        assert scene.parked() == [] and scene.engine.fault is None and not scene.engine.runner.running
        sql = "SELECT id FROM prompt LEFT JOIN prompt_text ON prompt = number WHERE priority IS NOT 'scan'"
        live = {id for (id,) in scene.app.store.rows(sql)}
        for session in "stuvw":
            own = [one["uuid"] for one in self.typed.get(session, []) if one["type"] == "user"]
            mine = [id for where, id in self.answered if where == session]
            if self.broken:
                continue
            order = [own.index(w) for w in mine if w in own and w in live]
            assert order == sorted(order), "in order within a session"


@given(st.integers(0, 10**9), st.lists(st.sampled_from(STEPS), min_size=5, max_size=60))
@example(2, ["type"] * 6 + ["eio", "type", "type", "jump", "type"])  # clock set back while the store refuses
@example(
    2, ["type", "type", "type", "queue", "type", "type", "type", "type"]
)  # read in slices, without a kept reader
@example(
    0, ["queue", "type", "type", "type", "move"]
)  # a session's end waits in the lane of its last project
@examples(12)
def test_every_prompt_exactly_once(seed: int, steps: list[str]) -> None:
    """RELIABILITY row 1: 0 lost, 0 twice, in order; forks, kills, rewrites, torn lines, moods of a plugin, little
    memory."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        world = World(Path(folder), seed)
        patch.setattr(reader_module, "TAILS", world.random.choice([0, 1, reader_module.TAILS]))
        patch.setattr(reader_module, "SLICE", world.random.choice([200, 1000, reader_module.SLICE]))
        for step in steps:
            world.step(step)
        world.end()
        world.check()
        world.scene.app.close()
