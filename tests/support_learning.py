"""A bench for the learning handler: real files, real git, a real history, a fake clock and a scripted model.

`Bench` offers events as the engine does: a `Done` becomes a record in a log, and then `committed` is called. `restart`
makes a new handler from that log, as after a crash.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from support_commits import CommitStore
from support_git import init
from support_heard import list_facts, write_heard, write_proposals
from tacitd.errors import FileBusyError, TacitdError
from tacitd.events import (
    Due,
    Event,
    NoProject,
    Project,
    Prompt,
    PromptKind,
    Record,
    SessionEnded,
    SessionStarted,
    SourceChanged,
    ToolUse,
    TranscriptGrew,
)
from tacitd.files.disk import Disk
from tacitd.files.git import find_repository
from tacitd.files.log import Log
from tacitd.files.transaction import History
from tacitd.handler import Commit, Degradation, Done, Later, Outcome, Rejected, Tools
from tacitd.model.port import ModelRequest, NoAnswer
from tacitd.plugins import find_plugins
from tacitd.testing import FakeClock, ScriptedModel
from tacitd_handlers.learning.handler import LearningHandler
from tacitd_handlers.learning.raw_facts import RawLine, parse_raw_file
from tacitd_handlers.learning.settings import ExtractionSettings, LearningSettings
from tacitd_handlers.learning.status_text import format_status_lines
from tacitd_handlers.learning.store import ProjectPaths

EXTRACTION, SYNTHESIS, SUMMARY = "opinion mining", "knowledge synthesis", "following directive documents"
EXTENSIONS = find_plugins().collect_prompt_extensions()
"""What the other plugins add to the prompts."""
MORNING = 1_795_149_000.0
"""2026-11-20T04:30:00Z, for tests that check a written date."""
PNPM = "Use pnpm, never npm"
SHORT = "Prefers short answers"


_FOLDERS = re.compile(r"^FILE: (.+)/AGENTS\.md$", re.MULTILINE)


def read_in(folder: Path) -> ToolUse:
    """The use of a tool that reads a file of a folder."""
    return ToolUse("t1", "Read", json.dumps({"file_path": str(folder / "x.py")}).encode())


def lines(*facts: str, file: str = "LEARNED.md", section: str = "Coding") -> str:
    """The smart model's answer with these lines, see `support_heard`."""
    return "\n\n".join(f"FILE: {file}\nSECTION: {section}\nFACT: {fact}" for fact in facts)


def git(directory: Path, *arguments: str) -> str:
    """Run real git, as a person named Dev."""
    who = ["-c", "user.name=Dev", "-c", "user.email=dev@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(
        ["git", *who, *arguments], cwd=directory, capture_output=True, text=True, check=True
    )
    return done.stdout


def every_fact(ask: ModelRequest) -> str:
    """A model that returns a line for each fact in its prompt."""
    return lines(*list_facts(ask.prompt).values())


class Bench:
    """One home, its projects, and one handler."""

    def __init__(
        self, box: Path, *rules: tuple[str, Any], write: str = "local", disk: Disk | None = None
    ) -> None:
        self.box = box.resolve()
        self.disk = disk
        self.clock = FakeClock()
        self.model = ScriptedModel()
        self.touched: dict[str, None] = {}
        """Folders that every session works in: those that the answers of the model name."""
        self.answer(*(rules or [(SYNTHESIS, lines(PNPM)), (EXTRACTION, PNPM)]))
        self.state = self.box / "state"
        self.home = self.state / "handlers" / "learning"
        self.log = CommitStore(self.state, "learning", self.clock)
        self.write = write
        self.modes: dict[Path, str] = {}
        self.history = self.make_history()
        self.degraded: dict[str, Degradation] = {}
        self.posted: list[Event] = []
        self.live: set[Path] = set()
        self.directives: list[Path] = []
        self.extraction = ExtractionSettings()
        self.learning = LearningSettings()
        self._at = 0
        self._numbers = 0
        self.project = self.new_project("app")
        self.handler = LearningHandler()
        self.open()
        self.see(self.project)

    # the world

    def new_project(self, name: str, *, is_git: bool = True) -> Project:
        """A directory to work in."""
        root = self.box / name
        root.mkdir(parents=True)
        if is_git:
            init(root)
        return Project(root, is_git)

    @property
    def root(self) -> Path:
        return self.project.root

    @property
    def files(self) -> ProjectPaths:
        return ProjectPaths(self.project.root)

    def put(self, name: str, text: str | bytes = "") -> Path:
        """Write a file of the person's into the project."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def tools(self) -> Tools:
        """The tools for the handler."""
        modes: Any = lambda project: self.modes.get(project.root, self.write)  # noqa: E731
        return Tools(
            clock=self.clock,
            model=self.model,
            history=self.history,
            settings={
                "extraction": self.extraction,
                "learning": self.learning,
            },
            home=self.home,
            project_of=self.project_of,
            has_live_session=lambda project: project.root in self.live,
            degrade=lambda what: self.degraded.update({what.id: what}),
            clear=self.clear,
            directives=self.directives,
            write_mode_of=modes,
            post=self.posted.append,
            disk=self.disk,
            prompt_extensions=EXTENSIONS,
        )

    def clear(self, id: str) -> None:
        self.degraded.pop(id, None)

    def project_of(self, cwd: str) -> Project | NoProject:
        path = Path(cwd)
        if not path.is_dir():
            return NoProject(cwd, "the working directory does not exist", gone=True)
        found = find_repository(path)
        return Project(found.top if found else path, found is not None)

    # the handler's life

    def open(self) -> None:
        self.handler.open(list(self.commits()), self.tools())

    def make_history(self) -> History:
        """The history as the daemon makes it."""
        log = Log(self.state / "history.jsonl", self.disk)
        is_local = lambda root: self.modes.get(root, self.write) == "local"  # noqa: E731
        return History(log, self.clock, self.disk, is_local=is_local)

    def restart(self) -> None:
        """Kill the daemon and start it again: only what was written is known."""
        self.history = self.make_history()
        self.degraded.clear()
        self.posted.clear()
        self.history.recover()
        self.handler = LearningHandler()
        self.open()

    def commits(self) -> Iterator[Commit]:
        yield from self.log.read()

    def play(self, event: Event) -> Outcome:
        """Offer an event and apply the outcome, as the engine does. Raises FileBusyError."""
        try:
            outcome = self.handler.handle(event, self.tools())
        except FileBusyError:
            raise  # the engine offers the event again, and counts no attempt
        except (OSError, TacitdError) as error:
            outcome = Later(str(error), getattr(error, "hint", ""))
        if isinstance(outcome, Done | Rejected):
            self.commit(event, outcome)
        return outcome

    def commit(self, event: Event, outcome: Done | Rejected) -> None:
        """One record in the log, then `committed`."""
        upto = outcome.upto if outcome.upto is not None else getattr(event, "end", -1)
        where = str(getattr(event, "transcript", "")), str(getattr(event, "session", ""))
        kind, data = type(event).__name__, json.loads(json.dumps(dict(outcome.data)))
        if not data:
            return
        commit = self.log.append(data, kind, *where, upto)
        self.handler.committed(commit, self.tools())

    def play_posted(self) -> list[Outcome]:
        """Offer the events that the handler posted."""
        posted, self.posted = self.posted, []
        return [self.play(event) for event in posted]

    # what happens

    def record(
        self,
        *words: str,
        kind: PromptKind = "typed",
        session: str = "s1",
        context: str = "",
        tools: Sequence[ToolUse] = (),
        age: float = 3600.0,
        cwd: Path | None = None,
    ) -> Record:
        """One record of a transcript, with what a person typed in it."""
        start, self._at = self._at, self._at + 100
        at, here = self.clock.now() - age, str(cwd or self.root)
        prompts = []
        for text in words:
            self._numbers += 1
            prompts.append(Prompt(kind, text, session, f"u{self._numbers}", at, here, context))
        return Record(
            start,
            self._at,
            "user" if words else "assistant",
            session=session,
            time=at,
            cwd=here,
            prompts=tuple(prompts),
            tools=tuple(tools),
        )

    def grew(
        self, *records: Record, due: bool = False, project: Project | NoProject | None = None
    ) -> TranscriptGrew:
        """Growth of a transcript by these records."""
        session = records[-1].session
        path = self.box / f"{session}.jsonl"
        start, end = records[0].start, records[-1].end
        return TranscriptGrew(path, session, project or self.project, records, start, end, due)

    def type(self, *words: str, session: str = "s1", project: Project | None = None) -> Outcome:
        """Type a text and let the quiet period pass."""
        place = project or self.project
        uses = [read_in(place.root / folder) for folder in self.touched]
        records = [self.record(text, session=session, cwd=place.root, tools=uses) for text in words]
        return self.play(self.grew(*records, project=place))

    def see(self, project: Project, session: str = "s0") -> Outcome:
        """Begin a session in the project. Files that exist in it now count as not tacitd's."""
        path = self.box / f"{session}.jsonl"
        return self.play(SessionStarted(session, path, project, self.clock.now()))

    def begin(self, session: str = "s1", project: Project | None = None) -> Outcome:
        """Note a session of a project."""
        path = self.box / f"{session}.jsonl"
        return self.play(SessionStarted(session, path, project or self.project, self.clock.now()))

    def end(self, session: str = "s1", project: Project | None = None) -> Outcome:
        """End the session."""
        path = self.box / f"{session}.jsonl"
        return self.play(SessionEnded(session, path, project or self.project, self.clock.now(), "idle"))

    def due(self, job: str, project: Project | None = None) -> Outcome:
        """Run a job."""
        return self.play(Due(job, project))

    def changed(self, path: Path) -> Outcome:
        """Offer the change of a source."""
        return self.play(SourceChanged(self.project, path))

    def learn(self, *words: str, session: str = "s1") -> Outcome:
        """Type a text, extract its facts, and make lines of them."""
        self.type(*(words or ("use pnpm, not npm",)), session=session)
        return self.end(session)

    # what came of it

    @property
    def learned(self) -> str:
        path = self.files.learned_file
        return path.read_text(encoding="utf-8") if path.exists() else ""

    @property
    def bullets(self) -> list[str]:
        return [text[2:] for text in self.learned.splitlines() if text.startswith("- ")]

    @property
    def raw(self) -> tuple[RawLine, ...]:
        path = self.files.raw_file
        return parse_raw_file(path.read_bytes()).lines if path.exists() else ()

    @property
    def claimed(self) -> list[Path]:
        return sorted(self.files.tmp_dir.glob("learning-raw.*.processing.jsonl"))

    @property
    def status(self) -> Mapping[str, Any]:
        part = self.handler.status()
        return {**part, "says": list(format_status_lines(part))}

    def count_said(self, line: str = PNPM) -> tuple[int, int, int]:
        """How often a line was said, in how many sessions, and how many of these were corrections."""
        self.restart()
        known = self.handler._state.line_confidences[self.root][line]
        return known.seen_count, len(known.sessions), known.corrections

    def asked(self, about: str) -> list[str]:
        """The prompts of calls with this purpose."""
        return [prompt for prompt in self.model.prompts if about in prompt]

    def excluded(self) -> list[str]:
        """The local git excludes that tacitd added."""
        path = self.root / ".git/info/exclude"
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        return [line for line in text.splitlines() if line and not line.startswith("#")]

    def answer(self, *rules: tuple[str, str | NoAnswer | Callable[[ModelRequest], str | NoAnswer]]) -> None:
        """Change the model's answers from now on. Facts and lines become JSON lines, see `support_heard`."""
        named = (folder for _, reply in rules if isinstance(reply, str) for folder in _FOLDERS.findall(reply))
        self.touched |= dict.fromkeys(named)
        self.model.rules = [(about, _hear(reply)) for about, reply in rules]


def _hear(
    reply: str | NoAnswer | Callable[[ModelRequest], str | NoAnswer],
) -> Callable[[ModelRequest], str | NoAnswer]:
    def said(ask: ModelRequest) -> str | NoAnswer:
        answer = reply(ask) if callable(reply) else reply
        if isinstance(answer, NoAnswer):
            return answer
        if SYNTHESIS in ask.prompt:
            return write_proposals(answer, ask.prompt)
        return write_heard(answer, ask.prompt) if EXTRACTION in ask.prompt else answer

    return said
