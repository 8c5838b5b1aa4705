"""A machine on which the daemon has learned something, and sessions of real clients there: which lines arrive in them.

The daemon's model is the stand-in, so that what is learned is known. The clients are the real ones, with homes of their
own, and ask the stand-in API. A session asks once, reads a file of a module, and asks again.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from real_tui import KEY, VERSION, RealClient, client_environment, wait_for
from real_world import FakeApi, Request

from support_daemon import ECHO_FACTS, SYNTHESIS, Daemon, append, bullets, line, tool_record

MODULE = "pkg/cart"
PROJECT_LINE, MODULE_LINE, PERSON_LINE = "Prefers amber-1", "Prefers amber-1 in the cart", "Editor: zebra-3"
ROOMS = {
    MODULE: "cart",
    "app/[id]": "kitchen",
    "app/{a,b}": "garden",
    "app/(auth)": "harbour",
    "app/a b": "library",
}
ROOMS |= {"app/größe": "museum"}
"""By module, the word that tells its line from the others."""
ODD_MODULES = tuple(ROOMS)[1:]
DIALOGS = ("external CLAUDE.md", "Do you trust", "Enter to confirm", "Yes, proceed")


@dataclass(frozen=True, slots=True)
class Place:
    """A directory in which sessions work, and the top of the tree that it is in."""

    cwd: Path
    tree: Path


@dataclass(frozen=True, slots=True)
class Loaded:
    """How often each line is in the first and in the last request of a session, and a dialog that it showed."""

    first: Mapping[str, int]
    last: Mapping[str, int]
    dialog: str = ""


class LearnedWorld:
    """Two projects, with git and without, in which the daemon learned a line for each and one for a module of each."""

    def __init__(
        self,
        root: Path,
        *,
        claude_md: bool,
        version: str = "2.0.76",
        modules: Sequence[str] = (MODULE,),
        instructions: Sequence[str] = (),
    ) -> None:
        """`version`: of the client that the transcripts name. The default is one that needs all copies. `instructions`: other
        instruction files, relative to the project or absolute in the home."""
        self.claude_md = claude_md
        self.version = version
        self.modules = modules
        self.daemon = Daemon(root, [ECHO_FACTS, _answer_with_lines(modules)])
        self.daemon.project = self._project("app", claude_md=claude_md, git=True)
        self.plain = self._project("plain", claude_md=claude_md, git=False)
        for name in instructions:
            path = self.daemon.home / name[2:] if name.startswith("~/") else self.daemon.project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("# Words of the person\n")
        self.worktree = self.daemon.home / "work" / "linked"
        self.daemon.git("worktree", "add", "-q", str(self.worktree), "-b", "linked")
        self.root = self.daemon.root
        self._learn()

    def _project(self, name: str, *, claude_md: bool, git: bool) -> Path:
        project = self.daemon.home / "work" / name
        files = {"web/app.py": "y = 1\n"} | ({"CLAUDE.md": "# Shop\n"} if claude_md else {})
        files |= {f"{module}/cart.py": "x = 1\n" for module in self.modules}
        for path, text in files.items():
            (project / path).parent.mkdir(parents=True, exist_ok=True)
            (project / path).write_text(text)
        if git:
            person = ["-c", "user.name=dev", "-c", "user.email=dev@localhost"]
            for arguments in (["init", "-q"], ["add", "-A"], [*person, "commit", "-qm", "begin"]):
                subprocess.run(["git", *arguments], cwd=project, env=self.daemon.environ, check=True)
        return project

    def _learn(self) -> None:
        """Learn a line for each project and each module, and one about the person; the daemon stops afterwards."""
        daemon = self.daemon
        assert daemon.cli("profile", "set", "tools.editor", "zebra-3").returncode == 0
        daemon.start()
        for number, project in enumerate((daemon.project, self.plain)):
            session = f"s{number}"
            for module in self.modules:
                used = tool_record(session, project / module / "cart.py", str(project))
                append(daemon.begin(session, project), line(used | {"version": self.version}))
            daemon.type_(session, PROJECT_LINE, project, version=self.version)
            daemon.synthesize(project)
            assert bullets(project / "LEARNED.md") == [PROJECT_LINE]
            for module in self.modules:
                assert bullets(project / module / "AGENTS.md") == [module_line(module)]
        daemon.sync()
        daemon.wait_until(lambda _: self.person_rules.exists(), "the person's rules file")
        daemon.stop()

    @property
    def person_rules(self) -> Path:
        """The file for every session."""
        return self.daemon.home / ".claude" / "rules" / "tacitd.md"

    @property
    def places(self) -> dict[str, Place]:
        """The directories in which sessions are tried."""
        app = self.daemon.project
        return {
            "root": Place(app, app),
            "module": Place(app / MODULE, app),
            "other folder": Place(app / "web", app),
            "linked worktree": Place(self.worktree, self.worktree),
            "its module": Place(self.worktree / MODULE, self.worktree),
            "without git": Place(self.plain, self.plain),
            "its module, without git": Place(self.plain / MODULE, self.plain),
        }

    def close(self) -> None:
        """What must hold after every scenario."""
        self.daemon.finish()


def module_line(module: str) -> str:
    """The line that is learned for a module."""
    return f"{PROJECT_LINE} in the {ROOMS[module]}"


def _answer_with_lines(modules: Sequence[str]) -> dict[str, str]:
    """The stand-in's answer: a line for the project and one for each module."""
    parts = ["FILE: LEARNED.md\nFACT: \\g<1>"]
    for module in modules:
        parts.append(f"FILE: {module}/AGENTS.md\nFACT: \\g<1> in the {ROOMS[module]}")
    return {
        "match": SYNTHESIS,
        "each": r"^(?:-|\d+\.) (Prefers \S+)(?: \([-\d]+\))?$",
        "reply": "\n\n".join(parts) + "\n",
    }


def run_session(
    world: LearnedWorld,
    box: Path,
    client: Path,
    mode: str,
    place: Place,
    settings: Mapping[str, Any] | None = None,
    module: str = MODULE,
) -> Loaded:
    """Run one session of a client. `mode`: `p` or `terminal`. `box`: an empty directory. `settings`: the person's. `module`:
    where it reads a file."""
    home = world.daemon.home
    _forget_sessions(home)
    if settings is not None:
        (home / ".claude" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    _accept_everything(home, [one.cwd for one in world.places.values()])
    api = FakeApi(box)
    env = client_environment(home, api.url)
    prompt = f"Look. [[tool:Read {json.dumps({'file_path': str(place.tree / module / 'cart.py')}, ensure_ascii=False)}]] [[reply:done]]"
    dialog = ""
    try:
        if mode == "p":
            command = [str(client), "-p", prompt, "--model", "haiku", "--allowedTools", "Read"]
            done = subprocess.run(
                command, cwd=place.cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                check=False,
            )  # fmt: skip
            assert done.stdout.strip() == "done", done.stdout + done.stderr
        else:
            dialog = _type_prompt(client, home, place, env, prompt, api)
        asked = _conversation(api)
    finally:
        api.close()
    assert len(asked) >= 2 or dialog, f"{len(asked)} requests"
    if not asked:
        return Loaded(_count_lines(None), _count_lines(None), dialog)
    return Loaded(_count_lines(asked[0]), _count_lines(asked[-1]), dialog)


def _type_prompt(
    client: Path, home: Path, place: Place, env: Mapping[str, str], prompt: str, api: FakeApi
) -> str:
    with RealClient(client, home, place.cwd, env, ("--allowedTools", "Read")) as terminal:
        screen = terminal.screen()
        dialog = next((text for text in DIALOGS if text in screen), "")
        if not dialog:
            terminal.enter(prompt)
            terminal.press_enter_until(lambda: len(_conversation(api)) > 0)
            wait_for(lambda: len(_conversation(api)) >= 2, 60, "the answer to the read", terminal.screen)
            screen = terminal.screen()
            dialog = next((text for text in DIALOGS if text in screen), "")
            threading.Event().wait(0.5)  # the last request is written completely
    return dialog


def _forget_sessions(home: Path) -> None:
    """Remove what other clients left in the home, so that each finds only what the person has there."""
    for path in [*home.glob(".claude.json*"), *(home / ".claude").iterdir()]:
        if path.name in ("rules", "CLAUDE.md"):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:  # a client that is just ending removes its own locks
            path.unlink(missing_ok=True)


def _accept_everything(home: Path, directories: list[Path]) -> None:
    """Past the first-run questions: theme, key, trust in each directory."""
    trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    said: dict[str, Any] = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "lastOnboardingVersion": VERSION,
        "customApiKeyResponses": {"approved": [KEY], "rejected": []},
        "projects": {str(one.resolve()): trusted for one in directories},
    }
    (home / ".claude.json").write_text(json.dumps(said), encoding="utf-8")


def _conversation(api: FakeApi) -> list[Request]:
    """The requests of the conversation, without those for titles and the like, which offer no tools."""
    try:
        return [one for one in api.requests() if one.body.get("tools")]
    except ValueError:  # a request is still being written
        return []


def _count_lines(request: Request | None) -> dict[str, int]:
    """How often each learned line is in a request; never, if there was none."""
    lines = [x.strip() for x in request.text.splitlines()] if request is not None else []
    names = (PROJECT_LINE, PERSON_LINE, *map(module_line, ROOMS))
    return {name: lines.count(f"- {name}") for name in names}
