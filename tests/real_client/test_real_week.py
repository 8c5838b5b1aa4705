"""A person's week with the real client, by script: every command with its output goes into a diary (issue 39, "It must show" 2).

`TACITD_WEEK=/tmp/week.txt pytest -m real_client tests/real_client/test_real_week.py` keeps the diary.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from real_install import need_terminal, real_client
from real_tui import RealClient, wait_for
from real_world import Machine, Request

from support_daemon import EXTRACTION, SYNTHESIS, bullets
from support_heard import say_fact, say_lines
from support_waiting import PATIENCE

pytest_plugins = ["real_asked"]
pytestmark = [pytest.mark.real_client, pytest.mark.timeout(1200)]
VERSION = "2.1.331"
SAID = {
    "Use pnpm instead of npm": "no, we use pnpm here, never npm",
    "Tests go next to the module": "no, tests go next to the module, not into tests/",
    "Write dates in ISO form": "please write dates in ISO form everywhere in this site",
    "Keep functions under forty lines": "keep functions under forty lines from now on",
    "Name branches after the ticket": "always name branches after the ticket",
    "Log with structlog": "we log with structlog here, not with print",
}
"""What the person types, and the fact that the model makes of it."""
PNPM, TESTS, DATES, SHORT, BRANCHES, PAUSED = SAID
RULES: list[dict[str, Any]] = [
    *(
        {"match": f"{EXTRACTION}.*{re.escape(words)}", "steps": [{"text": say_fact(words, fact)}]}
        for fact, words in SAID.items()
    ),
    *({"match": rf"{SYNTHESIS}.*\b{fact}", "steps": [{"text": say_lines(fact)}]} for fact in SAID),
    {"match": EXTRACTION, "steps": [{"text": "NONE"}]},
]


class Week:
    """The machine, the person's commands, and the diary of both."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.diary: list[str] = []

    def note(self, text: str) -> None:
        """A line of the diary."""
        self.diary.append(text)

    def run(self, *arguments: str, cwd: Path | None = None, code: int = 0) -> str:
        """A command of tacitd's, in the project; returns both outputs."""
        place = cwd or self.machine.project
        done = self.machine.cli(*arguments, cwd=place)
        said = done.stdout + done.stderr
        self._write(f"tacitd {' '.join(arguments)}", place, said, done.returncode)
        assert done.returncode == code, said
        return said

    def shell(self, *arguments: str, cwd: Path) -> str:
        """A command of another program; returns its output."""
        environ = self.machine.person_environ | {"npm_config_update_notifier": "false"}
        done = subprocess.run(arguments, cwd=cwd, env=environ, capture_output=True, text=True, check=False)
        self._write(" ".join(arguments), cwd, done.stdout + done.stderr, done.returncode)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _write(self, command: str, cwd: Path, said: str, code: int) -> None:
        end = f"(exit {code})\n" if code else ""
        self.note(f"{cwd.name}$ {command}\n{said}{end}".replace(str(self.machine.root), ""))

    def learn(self, fact: str, project: Path, file: Path | None = None, end: str = "/exit") -> None:
        """A session in which the person says it; returns when the line stands."""
        with self.machine.person(project) as client:
            client.say(SAID[fact])
            wait_for(lambda: client.recorded(b'"type":"assistant"'), PATIENCE, "an answer", client.screen)
            if end != "/exit":
                client.enter(end)
                client.press_enter_until(lambda: len(list_sessions(self.machine, project)) > 1)
                self.wait_for_line(fact, file or project / "LEARNED.md")
            client.leave("/exit")
        self.wait_for_line(fact, file or project / "LEARNED.md")
        self.note(f"[{project.name}: typed {SAID[fact]!r}, then {end}; the line {fact!r} stands]")

    def wait_for_line(self, fact: str, file: Path) -> None:
        """Until the file has the line."""
        wait_for(lambda: fact in bullets(file), 2 * PATIENCE, f"{fact} in {file}", self.describe)

    def describe(self) -> str:
        """What a person would look at."""
        return self.machine.cli("status").stdout + self.machine.cli("review").stdout

    def ask(self, project: Path, *arguments: str) -> Request:
        """The first request of a new session there."""
        before = len(self.machine.asked_by_person())
        words = f"hello number {before} [[reply:hi]]"
        with RealClient(
            self.machine.client, self.machine.home, project, self.machine.person_environ, arguments
        ) as client:
            client.enter(words)
            client.press_enter_until(lambda: self._find(before, words) is not None)
            client.leave("/exit")
        request = self._find(before, words)
        assert request is not None
        return request

    def _find(self, before: int, words: str) -> Request | None:
        new = self.machine.asked_by_person()[before:]
        return next((one for one in new if words in one.text and one.body.get("tools")), None)


def list_sessions(machine: Machine, project: Path) -> list[Path]:
    """The transcripts of a project."""
    folder = machine.projects / re.sub(r"[^A-Za-z0-9]", "-", str(project))
    return sorted(folder.glob("*.jsonl"))


@pytest.fixture
def week(tmp_path: Path) -> Iterator[Week]:
    """A machine on which a session would only end after an hour. The diary goes where TACITD_WEEK says."""
    need_terminal()
    machine = Machine(tmp_path, real_client(VERSION), RULES)
    machine.environ["TACITD_SESSION__IDLE"] = "1h"
    one = Week(machine)
    try:
        machine.start()
        yield one
    finally:
        if place := os.environ.get("TACITD_WEEK"):
            Path(place).write_text("\n".join(one.diary), encoding="utf-8")
        machine.finish()


def make_package(week: Week) -> Path:
    """A package for npm, in git."""
    package = week.machine.new_project("package")
    (package / "package.json").write_text(json.dumps({"name": "leftish", "version": "1.0.0"}))
    (package / "index.js").write_text("module.exports = 1\n")
    commit(week, package)
    return package


def make_bare(week: Week) -> Path:
    """A bare repository with two work trees in its folder."""
    site = week.machine.home / "work" / "site"
    site.mkdir()
    week.shell("git", "clone", "-q", "--bare", str(week.machine.project), ".bare", cwd=site)
    (site / ".git").write_text("gitdir: ./.bare\n")
    branch = week.shell("git", "symbolic-ref", "--short", "HEAD", cwd=site).strip()
    week.shell("git", "worktree", "add", "-q", branch, branch, cwd=site)
    week.shell("git", "worktree", "add", "-q", "-b", "topic", "topic", cwd=site)
    return site / branch


def commit(week: Week, project: Path) -> None:
    person = ("-c", "user.name=dev", "-c", "user.email=dev@localhost")
    week.shell("git", "add", "-A", cwd=project)
    week.shell("git", *person, "commit", "-qm", "begin", cwd=project)


def test_a_week(week: Week) -> None:
    """Installed, corrected in three projects, paused, scanned, shared and back, taken out and put in again."""
    machine = week.machine
    # Monday: installed; a correction holds in the next session.
    machine.add_plugin()
    week.run("plugin", "status")
    week.run("doctor", code=1 if "error" in machine.cli("doctor", "--json").stdout else 0)
    assert PNPM not in week.run("learned")
    week.learn(PNPM, machine.project)
    assert PNPM in week.run("learned") and "never npm" in week.run("why", "--no-pager", "pnpm")
    assert week.ask(machine.project).text.count(PNPM) == 1
    assert week.shell("git", "status", "--porcelain", cwd=machine.project) == ""
    # Tuesday: a package for npm has nothing of tacitd's folders, and doctor names the file that it would publish.
    package = make_package(week)
    week.learn(TESTS, package)
    packed = json.loads(week.shell("npm", "pack", "--dry-run", "--json", cwd=package))
    assert sorted(one["path"] for one in packed[0]["files"]) == ["LEARNED.md", "index.js", "package.json"]
    assert "LEARNED.md" in week.run("doctor", cwd=package)
    # Wednesday: a bare repository; what was said in one work tree holds in the other, once. `/clear` ends a session.
    tree = make_bare(week)
    week.learn(DATES, tree, tree.parent / "LEARNED.md", end="/clear")
    for one in (tree, tree.with_name("topic")):
        assert week.ask(one).text.count(DATES) == 1, one
        assert week.shell("git", "status", "--porcelain", cwd=one) == ""
    # Thursday: a session in a work tree of its own, which has no file of tacitd's yet.
    week.learn(SHORT, machine.project)
    assert week.ask(machine.project, "--worktree", "try").text.count(SHORT) == 1
    # Friday: paused is private; a scan takes what was typed meanwhile, asked for, and says so.
    week.run("pause")
    with machine.person() as client:
        client.say(SAID[PAUSED])
        client.leave("/exit")
    assert "1 prompt" in week.run("resume")
    week.run("sync")
    assert not any(SAID[PAUSED] in one.text for one in machine.calls())
    assert "while paused" in week.run("scan", "--since", "30d", "--dry-run")
    week.run("scan", "--since", "30d", "--yes")
    week.run("sync")
    # Shared with a team, and back.
    week.learn(BRANCHES, machine.project)
    week.run("share")
    assert "LEARNED.md" in week.shell("git", "status", "--porcelain", cwd=machine.project)
    week.run("share", "--undo")
    assert week.shell("git", "status", "--porcelain", cwd=machine.project) == ""
    week.run("history", "--no-pager")
    week.run("status")
    before = bullets(machine.project / "LEARNED.md")
    # Taken out: what was learned stays, and is the person's own after the next installation.
    assert "@LEARNED.md" in week.run("uninstall", "--purge", "--yes")
    assert machine.process is not None and machine.process.wait(PATIENCE) == 0
    machine.process = None
    assert bullets(machine.project / "LEARNED.md") == before
    named = [path.relative_to(machine.home) for path in machine.home.rglob("*tacitd*")]
    assert [
        path for path in named if path.parts[:2] != (".claude", "plugins") and path.parts[0] != ".cache"
    ] == []
    assert not machine.state.exists()
    machine.start()
    machine.add_plugin()
    said = week.run("learned")
    assert f"LEARNED.md has {len(before)} lines that tacitd did not write" in said
    assert week.ask(machine.project).text.count(PNPM) == 1
    week.run("status")
