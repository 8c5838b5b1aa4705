"""Learning's rows without a model: lines and facts as its calls leave them, in the real engine with a fake clock."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self
from unittest import mock

from msgspec.structs import replace

from support_git import init
from tacitd.contract import Cause, Done, FileChange, Outcome, Task, Tools, Tx
from tacitd.events import Project, Prompt
from tacitd.files.formats import bullet
from tacitd.handler import StoredItem
from tacitd.model.port import Model
from tacitd.testing import FakeClock, HandlerBench
from tacitd.work.project_rows import store_project
from tacitd.work.prompt_rows import insert_prompt
from tacitd_handlers.learning import line_items, make_plugin, task_dispatch
from tacitd_handlers.learning.learned_rows import (
    FactState,
    LineState,
    NewFact,
    count_said,
    insert_fact,
    put_line,
)
from tacitd_handlers.learning.sources import Place, make_format
from tacitd_handlers.reach.copies import queue_copies
from tacitd_handlers.reach.hiding import hide

PNPM, SHORT = "Use pnpm, never npm", "Prefers short answers"
SPEC = replace(make_plugin(), run="support_learned_rows:run")


def run(task: Task, tools: Tools) -> Outcome:
    """The tasks of learning, and "put" of these tests, which writes lines as a synthesis would."""
    if task.kind == "command" and task.data["do"] == "put":
        path, texts, heading = Path(task.data["path"]), task.data["texts"], task.data["heading"]
        cause = Cause(task.key, "prompt", prompts=task.data.get("prompts", ()))
        project = (
            task.project if isinstance(task.project, Project) and "everywhere" not in task.data else None
        )
        number, now = task.project_number if project is not None else None, tools.clock.now()
        facts, contrary = task.data.get("facts", ()), task.data.get("contrary", "")
        lines = {bullet(heading, text): text for text in texts}
        format = make_format(path, project.root if project is not None else path.parent)
        change = FileChange(path, format, lambda there, edits: lines, cause)
        if project is not None:
            hide(project, [path], tools)

        def apply(tx: Tx) -> None:
            for text in texts:
                put_line(tx, now, number, str(path), heading, text, facts=facts, contrary=contrary)
            if project is not None:
                queue_copies(tx, Place(number, project.root, project), now)

        return Done(apply, [change])
    return task_dispatch.run(task, tools)


class LearnedRows:
    """A person with a project, and what was learned there. Enter it: commands take their places from the environment."""

    def __init__(self, tmp: Path, model: Model | None = None) -> None:
        self.clock = FakeClock()
        self.home = tmp.resolve() / "home"
        self.root = self.home / "app"
        self._tmp, self._model, self._serial = tmp, model, 0
        named = {"HOME": str(self.home), "PATH": "/usr/bin:/bin"}
        self._environ = mock.patch.dict(os.environ, named, clear=True)
        self._time = mock.patch.object(line_items, "time", SimpleNamespace(time=self.clock.now))
        self.bench: HandlerBench

    def __enter__(self) -> Self:
        self._environ.start()
        self._time.start()
        self.make_project("app")
        self.bench = HandlerBench(self._tmp, SPEC, clock=self.clock, model=self._model)
        return self

    def __exit__(self, *_: object) -> None:
        self.bench.close()
        self._time.stop()
        self._environ.stop()

    def notice(self) -> None:
        """Let the minutes pass in which an edit is noticed."""
        for _ in range(3):
            self.bench.settle(60.0)

    def make_project(self, name: str) -> Path:
        """A git work tree below the home."""
        root = self.home / name
        init(root)
        return root

    # --- what happens

    def hear(
        self,
        text: str,
        words: str = "",
        *,
        state: FactState = "waiting",
        reason: str = "",
        line: str = "",
        corrected: bool = False,
        session: str = "s1",
        root: Path | None = None,
        about_person: bool = False,
        typed: bool = True,
    ) -> int:
        """A prompt, and the fact that was heard in it; return the fact's number. `line`: that it repeats. `typed`: whether there is a
        prompt, otherwise another program wrote the fact."""
        self._serial += 1
        said, now = words or f"please: {text}", self.clock.now()
        with self.bench._app.store.write() as tx:
            number = store_project(tx, self.bench._app.projects.find_project(str(root or self.root)), now)  # type: ignore[arg-type]
            prompt = Prompt("typed", said, session, f"u{self._serial}", now, str(root or self.root))
            stored = insert_prompt(tx, prompt, "claude-code", "/t.jsonl", number, now) if typed else None
            known = tx.rows("SELECT number FROM learning_line WHERE text = ?", line)
            repeats = known[0][0] if line else None
            insert_fact(
                tx,
                NewFact(
                    None if about_person else number,
                    session,
                    stored.number if stored else None,
                    number,
                    now,
                    text,
                    said,
                    corrected,
                    repeats,
                    state,
                    reason,
                ),
            )
            if repeats is not None:
                count_said(tx, repeats)
            ((fact,),) = tx.rows("SELECT max(number) FROM learning_fact")
        return int(fact)

    def learn(
        self,
        text: str,
        words: str = "",
        *,
        heading: str = "Coding",
        file: str = "LEARNED.md",
        root: Path | None = None,
        everywhere: bool = False,
        contrary: str = "",
        **more: Any,
    ) -> str:
        """A fact becomes a line in its file; return the line's id."""
        fact = self.hear(text, words, root=root, about_person=everywhere, **more)
        path = (self.home / ".agents" if everywhere else root or self.root) / file
        prompts = [
            number for (number,) in self.rows("SELECT prompt FROM learning_fact WHERE number = ?", fact)
        ]
        data = {
            "do": "put",
            "path": str(path),
            "texts": [text],
            "heading": heading,
            "facts": [fact],
            "prompts": [one for one in prompts if one is not None],
            "contrary": contrary,
            **({"everywhere": True} if everywhere else {}),
        }
        self.bench.run_command(f"put {self._serial}", data, cwd=root or self.root)
        return str(
            self.rows("SELECT id FROM learning_line WHERE text = ? AND path = ?", text, str(path))[0][0]
        )

    def mark(self, id: str, state: LineState) -> None:
        """A line is in this state."""
        self.change("UPDATE learning_line SET state = ? WHERE id = ?", state, id)

    def change(self, sql: str, *values: Any) -> None:
        """Change rows."""
        with self.bench._app.store.write() as tx:
            tx.execute(sql, *values)

    def choose_trust(self, value: str) -> None:
        """What the person said of the text that came with the project."""
        choice = "INSERT OR REPLACE INTO choice VALUES('project', ?, 'trust', ?, 1)"
        self.change(choice, str(self.root), value)

    def command(self, do: str, root: Path | None = None) -> list[str]:
        """A command of the person; return what its notices say, `share` and `exclude` only of the files that stay."""
        self._serial += 1
        done = self.bench.run_command(f"{do} {self._serial}", {"do": do}, cwd=root or self.root)
        return [one.text for one in done.notices if do == "init" or one.did == "kept"]

    # --- what came of it

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """All rows of a SELECT."""
        return self.bench.rows(sql, *values)

    def items(self, root: Path | None = None) -> list[StoredItem]:
        """The items of the project and of the person."""
        return self.bench.list_items(root or self.root)

    def find(self, text: str, state: str = "") -> StoredItem:
        """The item with this text."""
        (found,) = [one for one in self.items() if one.text == text and state in ("", one.state)]
        return found

    def reviewed(self) -> dict[str, str]:
        """By text, why `review` asks."""
        return {one.text: one.review for one in self.items() if one.review}

    def bullets(self, name: str = "LEARNED.md") -> list[str]:
        """The list items of a file of the project."""
        path = self.root / name
        return [
            line[2:]
            for line in (path.read_text().splitlines() if path.exists() else ())
            if line.startswith("- ")
        ]

    def is_never(self, text: str) -> bool:
        """Whether a text is never learned again, also by a store that is made anew."""
        from tacitd_handlers.learning.learned_rows import digest_same, list_forgotten

        in_file = (self.bench._app.paths.state_dir / "choices.jsonl").exists()
        forgotten = list_forgotten(self.bench.rows, str(self.root))
        return any(digest_same(text) in one.sames for one in forgotten) and in_file


def find_texts(items: Sequence[StoredItem], state: str) -> list[str]:
    """The texts of the items in a state."""
    return [one.text for one in items if one.state == state]
