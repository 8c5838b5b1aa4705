"""A bench for learning alone: the real engine, and a scripted model that hears what a test says and makes a line of each fact."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any
from unittest import mock

from support_heard import list_facts, write_heard, write_proposals
from tacitd.model.port import ModelRequest, NoAnswer
from tacitd.testing import FakeClock, HandlerBench, ScriptedModel
from tacitd_handlers.learning import make_plugin
from tacitd_handlers.learning.learned_rows import LineRow, LineState, read_lines

EXTRACTION, SYNTHESIS, SUMMARY = "opinion mining", "knowledge synthesis", "following directive documents"
MORNING = 1_795_149_000.0
"""2026-11-20T04:30:00Z."""
QUIET, IDLE = 601.0, 1861.0
"""Seconds after which prompts are due, and after which a session has ended."""


def lines(*facts: str, file: str = "LEARNED.md", section: str = "Coding") -> str:
    """The second call's answer with these lines, see `support_heard`."""
    return "\n\n".join(f"FILE: {file}\nSECTION: {section}\nFACT: {fact}" for fact in facts)


def git(directory: Path, *arguments: str) -> str:
    """Run real git, as a person named Dev."""
    who = ["-c", "user.name=Dev", "-c", "user.email=dev@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(
        ["git", *who, *arguments], cwd=directory, capture_output=True, text=True, check=True
    )
    return done.stdout


class LearningBench:
    """A person who types in the project of a `HandlerBench`."""

    def __init__(self, tmp: Path, settings: Mapping[str, str] | None = None) -> None:
        self.heard: str | NoAnswer = "NONE"
        """The first call's answer, see `support_heard`."""
        self.proposed: str | NoAnswer | None = None
        """The second call's answer; None: a line of LEARNED.md for each fact."""
        rules = [(EXTRACTION, self._hear), (SYNTHESIS, self._propose)]
        self.model = ScriptedModel(rules)
        self._home = mock.patch.dict("os.environ", {"HOME": str(tmp.resolve() / "home")})
        self._home.start()
        self.bench = HandlerBench(
            tmp, make_plugin(), model=self.model, clock=FakeClock(MORNING), settings=settings
        )

    def __enter__(self) -> LearningBench:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.bench.close()
        self._home.stop()

    def _hear(self, request: ModelRequest) -> Any:
        if isinstance(self.heard, NoAnswer):
            return self.heard
        return write_heard(self.heard, request.prompt)

    def _propose(self, request: ModelRequest) -> Any:
        if isinstance(self.proposed, NoAnswer):
            return self.proposed
        facts = list_facts(request.prompt).values()
        made = lines(*facts)
        return write_proposals(made if self.proposed is None else self.proposed, request.prompt)

    # --- what happens

    def say(self, words: str, heard: str | NoAnswer, session: str = "s1", cwd: Path | None = None) -> None:
        """The person types, and the model hears this in it."""
        self.heard = heard
        self.bench.type(words, session=session, cwd=cwd)
        self.bench.settle(QUIET)

    def end(self) -> None:
        """All sessions end, and what is to be written is written."""
        self.bench.settle(IDLE)
        self.bench.settle(60.0)

    def learn(self, words: str, heard: str, session: str = "s1", proposed: str | None = None) -> None:
        """A session in which this is typed and heard, until its lines are written. `proposed`: the second call's answer."""
        self.proposed = proposed
        self.say(words, heard, session)
        self.end()
        self.proposed = None

    def edit(self, old: str, new: str, name: str = "LEARNED.md") -> None:
        """The person replaces a text in a file, and the daemon notices it."""
        path = self.root / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
        self.look()

    def look(self) -> None:
        """Let the daemon compare the files until what it saw is concluded."""
        for _ in range(3):
            self.bench.settle(61.0)

    # --- what came of it

    @property
    def root(self) -> Path:
        """The project."""
        return self.bench.project

    @property
    def text(self) -> str:
        """LEARNED.md; "" without one."""
        path = self.root / "LEARNED.md"
        return path.read_text() if path.exists() else ""

    @property
    def bullets(self) -> list[str]:
        """The lines of LEARNED.md."""
        return [line[2:] for line in self.text.splitlines() if line.startswith("- ")]

    @property
    def person(self) -> list[str]:
        """The lines of the person's own file."""
        path = self.bench.home / ".agents" / "LEARNED.md"
        text = path.read_text() if path.exists() else ""
        return [line[2:] for line in text.splitlines() if line.startswith("- ")]

    @property
    def raw(self) -> list[dict[str, Any]]:
        """The lines of the raw file."""
        path = self.root / "tmp" / "learning-raw.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    @property
    def number(self) -> int:
        """The project's row."""
        ((number,),) = self.bench.rows("SELECT number FROM project WHERE root = ?", str(self.root))
        return int(number)

    def facts(self, *columns: str) -> list[tuple[Any, ...]]:
        """These columns of all facts, in order."""
        return self.bench.rows(f"SELECT {', '.join(columns)} FROM learning_fact ORDER BY number")

    def line(self, text: str) -> LineRow:
        """The row of a line, whatever its state."""
        states: tuple[LineState, ...] = ("present", "removed", "gone", "replaced", "forgotten", "withheld")
        found = [
            *read_lines(self.bench.rows, self.number, states),
            *read_lines(self.bench.rows, None, states),
        ]
        (row,) = [one for one in found if one.text == text]
        return row

    def count_calls(self, purpose: str) -> int:
        """How often the model was asked for this."""
        return sum(one.purpose == purpose for one in self.model.asked)
