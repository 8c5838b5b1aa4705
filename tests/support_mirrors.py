"""What tests of mirrors have in common: a bench that learns lines, and the mirrors by name."""

from __future__ import annotations

import json
import os
from pathlib import Path

from msgspec.structs import replace

from support_learning import EXTRACTION, SYNTHESIS, Bench, git, lines
from tacitd.events import Due
from tacitd.handler import Outcome, Tools
from tacitd_handlers.learning.mirrors.mirror_names import MODULE_MIRRORS, PROJECT_MIRROR
from tacitd_handlers.shared.reach_settings import ReachSettings


class MirrorBench(Bench):
    """A bench whose clock moves with each event, as times do."""

    _sessions = 0
    project_rules = True
    """The setting `reach.project_rules`."""

    client_home: Path | None = None
    """The client's directory, if a test has transcripts there."""

    def tools(self) -> Tools:
        """The tools, with the section `reach`."""
        made = super().tools()
        settings = {**made.settings, "reach": ReachSettings(project_rules=self.project_rules)}
        return replace(made, settings=settings, client_home=self.client_home)

    def use_client(self, version: str, name: str = "a", cwd: Path | None = None) -> None:
        """A client of this version writes into a transcript of the project."""
        self.client_home = self.box / "home" / ".claude"
        path = self.client_home / "projects" / "p" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        said = {
            "type": "user",
            "version": version,
            "cwd": str(cwd or self.root),
            "message": {"content": "hi"},
        }
        path.write_text('{"type":"summary","summary":"before"}\n' + json.dumps(said) + "\n")
        os.utime(path, (self.clock.now(), self.clock.now()))

    def commit_file(self, name: str, text: str) -> None:
        """Put a file that git tracks."""
        self.put(name, text)
        git(self.root, "add", name)
        git(self.root, "commit", "-qm", "base")

    def learn_line(self, line: str, file: str = "LEARNED.md") -> None:
        """Learn one line in a session of its own."""
        self.clock.advance(60)
        self._sessions += 1
        if file != "LEARNED.md":
            (self.root / file).parent.mkdir(parents=True, exist_ok=True)
        self.answer((SYNTHESIS, lines(line, file=file)), (EXTRACTION, line))
        self.learn(line, session=f"learn-{self._sessions}")

    def mirror(self, folder: str = "", tree: Path | None = None) -> Path:
        """The mirror of LEARNED.md, or of a module."""
        name = f"{MODULE_MIRRORS}/{folder.replace('/', '-')}.md" if folder else PROJECT_MIRROR
        return (tree or self.root) / name

    def shown(self, folder: str = "", tree: Path | None = None) -> list[str]:
        """The bullets that a mirror shows."""
        path = self.mirror(folder, tree)
        text = path.read_text(encoding="utf-8") if path.is_file() and not path.is_symlink() else ""
        return [line[2:] for line in text.splitlines() if line.startswith("- ")]

    def edit(self, path: Path, old: str, new: str = "") -> Outcome:
        """A person replaces text in a file, and the daemon notices it."""
        text = path.read_bytes().decode()
        assert old in text
        path.write_bytes(text.replace(old, new, 1).encode())
        return self.notice(path)

    def notice(self, path: Path | None = None) -> Outcome:
        """A minute passes, and the daemon finds that a file has changed."""
        self.clock.advance(60)
        return self.changed(path or self.files.learned_file)

    def start_session(self) -> Outcome:
        """A session begins."""
        self.clock.advance(60)
        self._sessions += 1
        return self.begin(f"session-{self._sessions}")

    def run_jobs(self) -> None:
        """A minute, in which the regular job runs twice."""
        for _ in range(2):
            self.clock.advance(30)
            self.due("unfinished-mirrors")
            self.play_posted()

    def do_mirror(self) -> Outcome:
        """What the commands ask for after a person's choice."""
        self.clock.advance(60)
        return self.play(Due("mirror", self.project))


def make_branch(root: Path, name: str, file: str, text: str) -> None:
    """Make a branch of HEAD with one commit that has this file too. The work tree and the index stay as they are."""
    source = root.parent / f"{name}-branch"
    git(root, "worktree", "add", "-q", "--detach", str(source))
    (source / file).parent.mkdir(parents=True, exist_ok=True)
    (source / file).write_text(text)
    git(source, "add", "-f", file)
    git(source, "commit", "-qm", name)
    git(root, "branch", "-f", name, git(source, "rev-parse", "HEAD").strip())
    git(root, "worktree", "remove", "--force", str(source))
