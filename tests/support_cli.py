"""The `tacitd` program in this process: arguments in; exit code, standard output and standard error out."""

from __future__ import annotations

import io
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tacitd.cli.program import main

KEPT = ("PATH", "LANG", "LC_ALL", "USER")


@dataclass(frozen=True, slots=True)
class Said:
    """The result of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as one JSON document."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Standard output as one JSON object a line."""
        return [json.loads(text) for text in self.out.splitlines()]


class Cli:
    """A home directory of its own; PATH is the only variable of the real environment."""

    program, main = "tacitd", staticmethod(main)
    has_terminal = False

    def __init__(
        self,
        box: Path,
        patch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        *,
        claude: bool = False,
    ) -> None:
        self.home = box.resolve() / "home"
        self.state = self.home / ".local/state/tacitd"
        self.config_dir = self.home / ".claude"
        self.home.mkdir()
        self._patch = patch
        self._capsys = capsys
        for name in os.environ:
            if name not in KEPT:
                patch.delenv(name)
        patch.setenv("HOME", str(self.home))
        patch.setenv("XDG_CACHE_HOME", str(box.resolve() / "cache"))
        if not claude:
            patch.setenv("PATH", "/usr/bin:/bin")

    def set(self, **variables: str) -> None:
        """Set variables of the environment."""
        for name, value in variables.items():
            self._patch.setenv(name, value)

    def run(self, *arguments: str | Path, typed: str = "", cwd: Path | None = None) -> Said:
        """Run the program to its end."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", [self.program, *map(str, arguments)])
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed.encode())))
            patch.setattr(sys.stdin, "isatty", lambda: self.has_terminal)
            if cwd is not None:
                patch.chdir(cwd)
            self._capsys.readouterr()
            with pytest.raises(SystemExit) as ended:
                self.main()
        said = self._capsys.readouterr()
        return Said(int(ended.value.code or 0), said.out, said.err)
