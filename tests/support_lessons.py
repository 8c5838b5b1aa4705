"""The program `lesson` in a home of its own, run in this process; and the fixtures with the seed's ids."""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tacitd_handlers.lessons.cli import main
from tacitd_handlers.lessons.lesson_log import LessonLog

FIXTURES = Path(__file__).parent / "fixtures" / "lessons"


@dataclass(frozen=True, slots=True)
class Said:
    """A command's exit code and output."""

    code: int
    out: str
    err: str


class Lessons:
    """A home with lessons."""

    def __init__(
        self, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.home = home
        self.directory = home / ".claude" / "lessons"
        self.log = self.directory / "lessons.jsonl"
        self._monkeypatch, self._capsys = monkeypatch, capsys
        for name in list(os.environ):
            if name.startswith(("TACITD_", "CLAUDE", "XDG_")):
                monkeypatch.delenv(name)
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("TACITD_STATE_DIR", str(home / "state"))

    def given(self, fixture: str) -> Lessons:
        """Use a fixture as the log."""
        self.directory.mkdir(parents=True, exist_ok=True)
        shutil.copy(FIXTURES / f"{fixture}.jsonl", self.log)
        return self

    def run(self, *arguments: str) -> Said:
        """Run a command."""
        self._monkeypatch.setattr(sys, "argv", ["lesson", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        said = self._capsys.readouterr()
        code = ended.value.code
        return Said(code if isinstance(code, int) else 0, said.out, said.err)

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
        """The log's lines, each of which must be a record."""
        return [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def lessons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Lessons:
    """An empty home."""
    return Lessons(tmp_path, monkeypatch, capsys)
