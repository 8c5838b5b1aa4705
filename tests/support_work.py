"""`WorkBench`: a `Scene` for tests of reading and of tasks, with plugins that fold records, and a store or a pool that fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from support_engine import Scene, Scripted
from tacitd.contract import Batch, Done, Outcome, Row, Task, Tx
from tacitd.plugin import GatherRule
from tacitd.work.reader import PASS_BYTES

MINUTE = 60.0
OPEN: list[WorkBench] = []
"""Those that are closed after the test."""


class Toy(Scripted):
    """A plugin that records what it gets. `outcome` decides what a task returns, `fold` takes records."""

    def __init__(
        self,
        name: str = "toy",
        outcome: Callable[[Task], Outcome] = lambda task: Done(),
        observe: Callable[[Batch, Tx], None] | None = None,
        rule: GatherRule | None = None,
    ) -> None:
        super().__init__(lambda task: self.outcome(task), rule or GatherRule(quiet=600.0), name=name)
        self.outcome, self.fold = outcome, observe

    def observe(self, batch: Batch, tx: Tx, settings: Mapping[str, Any]) -> None:
        if self.fold is not None:
            self.fold(batch, tx)

    def texts(self) -> list[list[str]]:
        """The prompts of each task of prompts."""
        return [[one.text for one in task.prompts] for task in self.tasks if task.kind == "prompts"]

    def kinds(self) -> list[str]:
        return [task.kind for task in self.tasks]


class WorkBench(Scene):
    """A scene whose sessions work in `root` unless another directory is named, and whose clock goes on by a second for each prompt."""

    def __init__(
        self,
        tmp: Path,
        *toys: Toy,
        threads: bool = False,
        on_step: Callable[[str], None] = lambda step: None,
        pass_bytes: int = PASS_BYTES,
        pool: Executor | None = None,
        on_done: Callable[[], None] | None = None,
    ) -> None:
        """`threads`: projects are found in threads, as a daemon does. `on_step`: at each durable step of the store. `on_done`: at the end
        of each task."""
        self.toys = toys or (Toy(),)
        self.threads, self.on_step, self.pass_bytes, self.on_done = threads, on_step, pass_bytes, on_done
        OPEN.append(self)
        super().__init__(tmp, *self.toys, pool=pool)

    def prepare(self) -> None:
        self.store, self.reader, self.runner = self.app.store, self.engine.reader, self.engine.runner
        self.store._on_step = self.on_step
        self.reader._pass_bytes = self.pass_bytes
        self.app.stalls.threads = self.threads
        if self.on_done is not None:
            self.runner.on_done = self.on_done

    def crash(self) -> None:
        """End as `kill -9` would, and start again."""
        self.restart(*self.toys)

    def say(self, text: str, session: str = "s1") -> WorkBench:
        self.append(session, self.said(session, text))
        return self

    def tell(self, *texts: str, session: str = "s1", cwd: Path | None = None) -> WorkBench:
        """A person types these."""
        for text in texts:
            self.type(session, text, cwd=cwd)
            self.clock.advance(1.0)
        return self

    def record(self, session: str = "s1", **fields: Any) -> WorkBench:
        """Write a record with these fields."""
        self.append(session, {**self.typed(session, ""), **fields})
        return self

    def advance(self, seconds: float = 0.0, *, asked: bool = False) -> WorkBench:
        """Let time pass, and run passes until nothing is left to do now."""
        self.clock.advance(seconds)
        for number in range(500):
            self.engine.run_pass(full=not number, asked=asked)
            if self.engine.problem or not (self.reader.has_unread or self.runner.list_ready()):
                return self
        raise RuntimeError("there is still work")

    def leave(self) -> WorkBench:
        """All sessions fall silent for half an hour."""
        return self.advance().advance(31 * MINUTE).advance(MINUTE)

    def rows(self, sql: str, *values: Any) -> list[Row]:
        return self.store.rows(sql, *values)

    def states(self) -> Mapping[str, str]:
        """The state of each prompt by its text, for the first plugin."""
        return dict(
            self.rows(
                "SELECT w.text, t.state FROM prompt_text w JOIN prompt_task t ON t.prompt = w.prompt WHERE t.plugin = ?",
                self.toys[0].name,
            )
        )
