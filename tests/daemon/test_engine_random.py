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
from support_engine import Scene, Scripted, busy, prompts_of
from support_examples import examples
from tacitd.errors import UnwritableError
from tacitd.events import Event, TranscriptGrew
from tacitd.handler import Done, Gather, Later
from tacitd.state.person_choices import Scope
from tacitd.work import reader as reader_module
from tacitd.work import record_cache, task_runner
from tacitd.work.commit_rows import list_commits_since
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
        self.did: list[str] = []
        self.queued = 0
        self.scene = Scene(folder, self._handler(), held=True, lanes=2)
        self.other = self.scene.project("other")
        self.last: dict[str, int] = {}

    def _handler(self) -> Scripted:
        gather = self.random.choice([None, Gather(quiet=600.0, prompts=3), Gather(delay=20.0)])
        return Scripted(self._answer, project=self._project, gather=gather)

    def _project(self, commit: Any) -> None:
        if not self.calm and self.random.random() < 0.05:
            raise OSError(28, "No space left on device")

    def _answer(self, event: Event) -> Any:
        """In a mood: anything. When it is calm: everything that it is asked."""
        if self.calm:
            return Done(data={"did": prompts_of(event)})
        mood = self.random.random()
        if not isinstance(event, TranscriptGrew):
            return Later("mood") if mood < 0.3 else Done()
        if mood < 0.15:
            return busy(self.random.choice([0.0, 5.0, 600.0]))
        if mood < 0.3:
            return Later("mood", not_before=self.random.choice([None, 0.0, self.scene.clock.wall + 100]))
        if mood < 0.35:
            raise OSError("mood")
        if mood < 0.6:
            upto = self.random.choice(event.records).end
            return Done(upto, {"did": [p.uuid for r in event.records if r.end <= upto for p in r.prompts]})
        return Done(data={"did": prompts_of(event)})

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
        for scope, name in list_pauses(scene.app.store.rows):
            scene.pause(cast(Scope, scope), name, held=False)
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
        log = list_commits_since(scene.app.store.rows, "a", 0.0)
        did = [word for commit in log for word in commit.data.get("did", ()) if word]
        assert len(did) == len(set(did)) and set(did) <= set(self.all), "no prompt twice"
        assert set(self.all) - set(did) <= self._list_paused(), "each prompt that was not paused"
        assert scene.parked() == [] and scene.engine.fault is None and not scene.engine.runner.running
        live = {id for (id,) in scene.app.store.rows("SELECT id FROM prompt WHERE priority = 'live'")}
        for session in "stuvw":
            own = [one["uuid"] for one in self.typed.get(session, []) if one["type"] == "user"]
            mine = [
                word
                for commit in log
                if commit.transcript == str(scene.path(session))
                for word in commit.data.get("did", ())
            ]
            order = [own.index(w) for w in mine if w in own and w in live]
            assert order == sorted(order), "in order within a session"


@given(st.integers(0, 10**9), st.lists(st.sampled_from(STEPS), min_size=5, max_size=60))
@example(2, ["type"] * 6 + ["eio", "type", "type", "jump", "type"])  # clock set back while the store refuses
@example(
    2, ["type", "type", "type", "queue", "type", "type", "type", "type"]
)  # read in slices, without a kept reader
@examples(12)
def test_every_prompt_exactly_once(seed: int, steps: list[str]) -> None:
    """RELIABILITY row 1: 0 lost, 0 twice, in order; forks, kills, rewrites, torn lines, moods of a handler, little
    memory."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        world = World(Path(folder), seed)
        patch.setattr(task_runner, "AGAIN", (0.0,))
        patch.setattr(reader_module, "TAILS", world.random.choice([0, 1, reader_module.TAILS]))
        patch.setattr(reader_module, "SLICE", world.random.choice([200, 1000, reader_module.SLICE]))
        kept = random.Random(seed).choice([0, 3000, record_cache.REMEMBERED])
        patch.setattr(record_cache, "REMEMBERED", kept)
        for step in steps:
            world.step(step)
        world.end()
        world.check()
        world.scene.app.close()
