"""The program `lesson` in a home of its own, run in this process; and the fixtures with the seed's ids."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from support_cli import Cli
from tacitd.contract import Task
from tacitd.events import NoProject, Project
from tacitd.handler import StoredItem
from tacitd.session_context.context_request import ContextRequest
from tacitd.session_context.plugin_view import make_section
from tacitd.testing import HandlerBench
from tacitd.work.messages import send_message
from tacitd.work.project_rows import store_project
from tacitd_handlers.lessons import make_plugin
from tacitd_handlers.lessons.cli import main
from tacitd_handlers.lessons.lesson_log import LessonLog
from tacitd_handlers.lessons.lesson_origins import Origin, load_origins, put_origin

FIXTURES = Path(__file__).parent / "fixtures" / "lessons"


class Lessons(Cli):
    """A home with lessons, and the program `lesson`."""

    program, main = "lesson", staticmethod(main)

    def __init__(self, tmp: Path, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        super().__init__(tmp, patch, capsys)
        self.directory = self.config_dir / "lessons"
        self.log = self.directory / "lessons.jsonl"
        self._bench: HandlerBench | None = None
        self._told = 0

    @property
    def bench(self) -> HandlerBench:
        """The plugin in the real engine, from now on beside the commands."""
        if self._bench is None:
            self._bench = HandlerBench(self.home.parent, make_plugin())
        return self._bench

    def close(self) -> None:
        """Stop the engine, if there is one."""
        if self._bench is not None:
            self._bench.close()

    def tell(self, data: Mapping[str, Any], root: Path | None = None, session: str = "s1") -> list[str]:
        """A message of learning that is handled; the ids of the lessons that it added."""
        before = set(self.store.read_lessons().all)
        self.queue(data, root, session)
        self.bench.settle(0.001)
        assert self.bench.rows("SELECT reason FROM task WHERE kind = 'message'") == []
        return [id for id in self.store.read_lessons().all if id not in before]

    def queue(self, data: Mapping[str, Any], root: Path | None = None, session: str = "s1") -> None:
        """A message of learning, as its commit queues it."""
        app = self.bench._app
        self._told += 1
        place = Project(root, git=True) if root is not None else NoProject(str(self.home), "it is the home")
        now = app.clock.now()
        with app.store.write() as tx:
            number = store_project(tx, place, now) if isinstance(place, Project) else None
            about = Task(0, "session-ended", session, place, number, session)
            send_message(tx, "learning", "lessons", str(self._told), about, data, now)

    def draft(
        self, text: str, root: Path | None = None, *, scope: str = "global", session: str = "s1"
    ) -> list[str]:
        """A synthesis of a correction drafts a lesson; the ids of those that it added."""
        told = {"found": [{"drafts": [[text, scope]]}], "corrected": ["x"], "words": ["no"]}
        return self.tell(told, root, session)

    def start(self, cwd: Path, budget: int = 9000, loaded: frozenset[str] = frozenset()) -> str:
        """What a session gets at its start."""
        request = ContextRequest(cwd, budget, loaded=loaded)
        return make_section(self.bench.plugin, request)

    def items(self) -> dict[str, StoredItem]:
        """The items that a person can decide about, by id."""
        return {one.id: one for one in self.bench.list_items()}

    def note(self, id: str, origin: Origin) -> None:
        """Store where a lesson came from."""
        with self.bench._app.store.write() as tx:
            put_origin(tx, self.store, id, origin)

    def origin(self, id: int) -> Origin:
        """Where a lesson came from; an empty one if that is not known."""
        return load_origins(self.store).get(id, Origin())

    def given(self, fixture: str) -> Lessons:
        """Use a fixture as the log."""
        self.directory.mkdir(parents=True, exist_ok=True)
        shutil.copy(FIXTURES / f"{fixture}.jsonl", self.log)
        return self

    def out(self, *arguments: str) -> str:
        """The standard output of a command that must succeed."""
        said = self.run(*arguments)
        assert said.code == 0, said
        return said.out

    def json(self, *arguments: str) -> dict[str, Any]:
        """The same with `--json`."""
        document: dict[str, Any] = json.loads(self.out(*arguments, "--json"))
        assert document["schema"] == 1
        return document

    @property
    def store(self) -> LessonLog:
        """The lessons' store."""
        return LessonLog.from_environ(os.environ)

    def records(self) -> list[dict[str, Any]]:
        """The log's lines, each of which must be a record; none without a log."""
        if not self.log.exists():
            return []
        return [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def lessons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Lessons]:
    """An empty home."""
    made = Lessons(tmp_path, monkeypatch, capsys)
    yield made
    made.close()
