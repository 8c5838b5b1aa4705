"""A machine whose locale is not UTF-8: the daemon and each command are processes of their own in it (cases/latin-locale)."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support_daemon import PROGRAM, Daemon

pytestmark = pytest.mark.scenario
NAME, WORDS = "работа-日本", "Prefers amber in naïve cafés → 東京"
LOOKS = (
    "status", "prompts .", "learned", "learned --json", "history", "log", "log --json", "reach", "statusline", "why amber", "review", "report -o -",
    "doctor", "profile", "sessions", "lesson", "tutor map", "learner review", "context", "--help",
)  # fmt: skip


@pytest.fixture(params=["latin-1", "ascii"])
def daemon(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Daemon]:
    made = Daemon(tmp_path / "machine")
    places = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    if request.param == "ascii":
        made.environ |= places | {"LC_ALL": "C", "LANG": "C"}
    else:
        if shutil.which("localedef") is None:
            pytest.skip("localedef is not installed")
        name = "en_US.ISO-8859-1"
        done = subprocess.run(
            ["localedef", "-i", "en_US", "-f", "ISO-8859-1", str(tmp_path / name)],
            capture_output=True, check=False,
        )  # fmt: skip
        if done.returncode:
            pytest.skip("this system has no source of the locale")
        made.environ |= places | {"LOCPATH": str(tmp_path), "LC_ALL": name, "LANG": name}
    yield made
    made.finish()


def test_a_locale_without_utf8_changes_no_file_and_stops_no_command(daemon: Daemon) -> None:
    """What is learned is as anywhere, in UTF-8; what a terminal cannot show is `?`, and no command ends in a traceback."""
    encoding = "utf-8" if daemon.environ["LANG"] == "C" else "latin-1"  # click takes ASCII for a mistake
    project = daemon.new_project(NAME)
    daemon.project = project
    daemon.start()
    daemon.type_("s1", WORDS)
    daemon.synthesize()
    assert daemon.learned == [WORDS] and (project / "LEARNED.md").read_text("utf-8").count(WORDS) == 1
    assert WORDS in (project / ".claude/rules/tacitd-learned.md").read_text("utf-8")
    shown = WORDS.encode(encoding, "replace").decode(encoding)
    for command in LOOKS:
        given = b"{}" if command == "statusline" else b""
        done = subprocess.run(
            [*PROGRAM, *command.split()],
            env=daemon.environ,
            cwd=project,
            input=given,
            capture_output=True,
            check=False,
        )
        assert b"Traceback" not in done.stderr and done.returncode in (0, 1), (command, done)
        said = done.stdout.decode("utf-8" if command in ("report -o -", "statusline") else encoding)
        if command in ("learned", "log", "why amber", "status", "context"):
            assert shown in said, (command, said)
        if command == "learned --json":
            assert json.loads(said)[0]["line"] == WORDS
        if command == "log --json":
            assert WORDS in str(json.loads(said))
