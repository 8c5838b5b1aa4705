"""A bench for the copies of learned lines: rows and sources are written by hand, as a synthesis would, and real git looks on."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tacitd.contract import Cause, Done, FileChange, Outcome, Task, Tools, Tx
from tacitd.events import Project
from tacitd.files.formats import bullet
from tacitd.plugin import PluginSpec
from tacitd.testing import FakeClock, HandlerBench
from tacitd_handlers.learning import make_plugin, task_dispatch
from tacitd_handlers.learning.learned_rows import find_line, put_line
from tacitd_handlers.learning.sources import Place, make_format
from tacitd_handlers.reach.copies import queue_copies
from tacitd_handlers.reach.hiding import hide

RULES = Path(".claude/rules/tacitd-learned.md")
MODULES = Path(".claude/rules/tacitd")
MINUTE = 60.0


def make_bench_plugin() -> PluginSpec:
    """Learning, with a task that puts lines without a model."""
    return replace(make_plugin(), run=f"{__name__}:run", gather="")


def run(task: Task, tools: Tools) -> Outcome:
    """As learning's own."""
    return _put(task, tools) if task.key.startswith("put ") else task_dispatch.run(task, tools)


def _put(task: Task, tools: Tools) -> Done:
    assert isinstance(task.project, Project)
    project, root = task.project, task.project.root
    path = root / task.data["file"]
    hide(project, [path], tools)
    lines = {bullet(heading, text): text for heading, text in task.data["lines"]}

    def apply(tx: Tx) -> None:
        for heading, text in task.data["lines"]:
            put_line(tx, tools.clock.now(), task.project_number, str(path), heading, text)
        queue_copies(tx, Place(task.project_number, root, project), tools.clock.now())

    change = FileChange(path, make_format(path, root), lambda now, edits: lines, Cause(task.key, "prompt"))
    return Done(apply, (change,))


class RulesBench(HandlerBench):
    """A project under real git in which lines are put."""

    serial = 0

    def __init__(self, tmp: Path, **settings: str) -> None:
        made = {f"TACITD_{name}": value for name, value in settings.items()}
        super().__init__(tmp, make_bench_plugin(), clock=FakeClock(), settings=made)

    def make_project(self, name: str) -> Path:
        """A repository with one commit."""
        root = self.home / name
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main", cwd=root)
        self.git("commit", "-q", "--allow-empty", "-m", "begin", cwd=root)
        return root

    def git(self, *arguments: str, cwd: Path | None = None) -> str:
        """Run git, and return what it prints."""
        done = subprocess.run(
            ["git", "-c", "user.name=dev", "-c", "user.email=dev@example.org", *arguments],
            cwd=cwd or self.project,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout

    def put(
        self, *lines: str, file: str = "LEARNED.md", heading: str = "Coding", root: Path | None = None
    ) -> None:
        """Have lines learned; then the copies follow."""
        self.serial += 1
        path = (root or self.project) / file
        path.parent.mkdir(parents=True, exist_ok=True)
        data: Mapping[str, Any] = {"file": file, "lines": [[heading, line] for line in lines]}
        self.run_command(f"put {self.serial}", data, cwd=root)
        self.pass_minutes()

    def pass_minutes(self, minutes: int = 3) -> None:
        """Files are compared once a minute, and a removal counts at the second look."""
        for _ in range(minutes):
            self.settle(MINUTE)

    def begin_session(self, session: str, cwd: Path | None = None) -> None:
        """A session starts."""
        self.type("hello", session=session, cwd=cwd)
        self.pass_minutes(1)

    def edit(self, path: Path, old: str, new: str) -> None:
        """A person saves a file."""
        text = path.read_text()
        assert old in text, text
        path.write_text(text.replace(old, new, 1))
        self.pass_minutes()

    def rule(self, tree: Path | None = None, module: str = "") -> Path:
        """A copy."""
        return (tree or self.project) / (MODULES / f"{module}.md" if module else RULES)

    def bullets(self, path: Path | str) -> list[str]:
        """The list items of a file; none if it is missing."""
        found = self.project / path
        text = found.read_text() if found.exists() else ""
        return [line[2:] for line in text.splitlines() if line.startswith("- ")]

    @property
    def problems(self) -> list[str]:
        """What is not in order with the copies."""
        return [
            what for (what,) in self.rows("SELECT what FROM degradation WHERE owner = 'learning' ORDER BY id")
        ]

    def states(self) -> dict[str, str]:
        """The states of the rows, by text."""
        return dict(self.rows("SELECT text, state FROM learning_line ORDER BY number"))

    def choose(self, what: str, value: str = "", name: str | None = None) -> None:
        """A person's choice about the project."""
        from tacitd.state.person_choices import Choice, choose

        with self._app.store.write() as tx:
            choose(
                tx,
                self._app.paths.state_dir,
                Choice("project", name or str(self.project), what, value, self.clock.now()),  # type: ignore[arg-type]
            )

    def copy_now(self) -> Done:
        """What a command does after a choice."""
        return self.run_command("follow", {"do": "follow"})


def find(bench: RulesBench, text: str) -> str:
    """The id of a line."""
    ((id,),) = bench.rows("SELECT id FROM learning_line WHERE text = ? AND state = 'present'", text)
    assert find_line(bench.rows, id) is not None
    return str(id)
