"""The state of a year of use, written into the store with a clock of its own.

A day has 50 sessions of five prompts in 15 projects, after the first start of the daemon. Learning makes one fact of each session, and a line of two facts of three. The other
third repeats a line. The client removes transcripts after 30 days.

Nothing is measured here, and no test uses this module.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from tacitd.clock import utc_millis
from tacitd.config.settings import BudgetSettings
from tacitd.contract import Part, Tx
from tacitd.events import Project, Prompt
from tacitd.files.disk import Disk
from tacitd.files.formats import Bullets, bullet
from tacitd.files.row_history import make_change_key
from tacitd.handler import Notice
from tacitd.model.budget import Budget, mark_used
from tacitd.model.port import ModelRequest, Tier
from tacitd.plugin import PluginSpec
from tacitd.plugins import find_plugins
from tacitd.session_context.session_texts import KEPT
from tacitd.sources.lines import Position, position_at
from tacitd.store import Store
from tacitd.testing import FakeClock
from tacitd.work.activities import forget_old_activities, insert_activities
from tacitd.work.project_rows import store_project
from tacitd.work.prompt_rows import (
    finish_prompts,
    forget_old_sessions,
    forget_old_texts,
    insert_prompt,
    queue_prompt,
)
from tacitd_handlers.learning.learned_rows import (
    NewFact,
    count_said,
    insert_fact,
    mark_line,
    put_line,
)
from tacitd_handlers.learning.task_dispatch import forget_old

DAY = 86_400.0
SESSIONS, PROMPTS, PROJECTS = 50, 5, 15
"""Sessions a day, prompts in a session, and projects."""
KEPT_DAYS = 30
"""Days for which the client keeps a transcript."""
LINES = 150
"""Lines that a project's LEARNED.md has at most, as by default."""
WORDS = "use tabs and not spaces in generated files, and keep the header that the build script writes there "


class UnsyncedDisk(Disk):
    """A disk that does not wait: nothing that is written here has to survive a power cut."""

    def sync(self, fd: int) -> None:
        """Nothing."""

    def sync_data(self, fd: int) -> None:
        """Nothing."""

    def sync_dir(self, directory: Path) -> None:
        """Nothing."""


@dataclass(slots=True)
class SimulatedProject:
    """A project, and the lines of its LEARNED.md in their order: number, heading and text."""

    root: Path
    lines: list[tuple[int, str, str]] = field(default_factory=list)


@dataclass(slots=True)
class SimulatedUse:
    """The stores of one state directory."""

    home: Path
    state: Path
    days: int
    clock: FakeClock = field(default_factory=lambda: FakeClock(wall=time.time()))
    disk: UnsyncedDisk = field(default_factory=UnsyncedDisk)
    projects: list[SimulatedProject] = field(default_factory=list)
    plugins: dict[str, PluginSpec] = field(default_factory=dict)
    _kept: set[str] = field(default_factory=set)
    """The transcripts that exist now."""

    def write(self) -> None:
        """Write everything. The clock ends now."""
        now = self.clock.now()
        self.clock = FakeClock(wall=now - self.days * DAY)
        self.projects = [SimulatedProject(self._make_project(n)) for n in range(PROJECTS)]
        for plugin in find_plugins().plugins:
            self.plugins[plugin.name] = plugin
        schemas = {one.name: one.schema for one in self.plugins.values()}
        stores = Stores(
            store := Store.open(self.state, self.clock, schemas),
            Budget(store, _CAPS, self.clock),
        )
        for day in range(self.days):
            for number in range(day * SESSIONS, (day + 1) * SESSIONS):
                self._run_session(number, stores, kept=day >= self.days - KEPT_DAYS)
                self.clock.advance(DAY / SESSIONS)
            with stores.store.write() as tx:  # what the daemon forgets each day
                forget_old_texts(tx, self.clock.now())
                forget_old_sessions(tx, self._kept, (), self.clock.now())
                forget_old_activities(tx, self.clock.now())
                forget_old(tx, self.clock.now())
        with stores.store.write() as tx:
            tx.execute("INSERT INTO setting VALUES('first start', ?)", repr(now - self.days * DAY))
            tx.execute("INSERT INTO setting VALUES('sources', '[\"Claude Code\", \"Codex\"]')")
        stores.store.close()
        for project in self.projects:
            _write_files(project)

    def _make_project(self, number: int) -> Path:
        root = self.home / "work" / f"project{number:02}"
        (root / ".git" / "info").mkdir(parents=True)
        (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (root / ".claude" / "rules").mkdir(parents=True)
        return root

    def _run_session(self, number: int, stores: Stores, *, kept: bool) -> None:
        project = self.projects[number % PROJECTS]
        session = f"{number:08x}-0000-4000-8000-000000000000"
        folder = self.home / ".claude" / "projects" / str(project.root).replace("/", "-")
        path = folder / f"{session}.jsonl"
        prompts = [_make_prompt(session, n, self.clock.now(), project.root) for n in range(PROMPTS)]
        end = _measure_transcript(prompts, path if kept else None)
        now = self.clock.now()
        with stores.store.write() as tx:
            place = store_project(tx, Project(project.root, git=True), now)
            numbers = self._store_prompts(tx, path, prompts, end, place, kept=kept)
            for name in self._list_gathering():
                finish_prompts(tx, name, numbers, now)
            if number % 50 == 0:
                why = "the answer cannot be used"
                finish_prompts(tx, "learning", numbers[:1], now, state="rejected", reason=why)
            insert_activities(tx, now, "", [Notice("read", f"{PROMPTS} prompts", project.root.name)])
            heard = Notice("extracted", f"1 fact from {PROMPTS} prompts", project.root.name, "<$0.01")
            insert_activities(tx, now, "learning", [heard])
            facts = _learn(tx, number, project, place, session, numbers[0], now)
        calls = _note_calls(prompts, numbers, facts, project.root, stores.budget)
        with stores.store.write() as tx:
            mark_used(tx, calls)
        with stores.store.write() as tx:
            tx.executemany(
                "INSERT INTO shown(session, name, digest, at) VALUES(?, ?, ?, ?)",
                [(session, name, b"0000", now) for name in ("learning", "profile", "lessons")],
            )
            tx.execute("DELETE FROM shown WHERE at < ?", now - KEPT)

    def _store_prompts(
        self, tx: Tx, path: Path, prompts: list[Prompt], end: int, project: int, *, kept: bool
    ) -> list[int]:
        at = position_at(path, end) if kept else Position(end, 1)
        tx.execute(
            "INSERT INTO transcript(path, source, offset, crc, session, cwd) VALUES(?, 'claude-code', ?, ?, ?, ?)",
            str(path),
            at.offset,
            at.crc,
            prompts[0].session,
            prompts[0].cwd,
        )
        if kept:
            self._kept.add(str(path))
        now = self.clock.now()
        tx.execute(
            "INSERT INTO session(id, source, transcript, project, cwd, started, last, ended, ended_by) "
            "VALUES(?1, 'claude-code', ?2, ?3, ?4, ?5, ?5, ?5, 'idle')",
            *(prompts[0].session, str(path), project, prompts[0].cwd, now),
        )
        numbers = list[int]()
        for prompt in prompts:
            stored = insert_prompt(tx, prompt, "claude-code", str(path), project, now)
            if stored is not None:
                queue_prompt(tx, stored.number, self._list_gathering())
                numbers.append(stored.number)
        return numbers

    def _list_gathering(self) -> list[str]:
        return [name for name, plugin in self.plugins.items() if plugin.gather]


@dataclass(frozen=True, slots=True)
class Stores:
    """What is written to."""

    store: Store
    budget: Budget


_CAPS = BudgetSettings(calls_per_minute=10_000, calls_per_day=100_000, usd_per_day=1e6, usd_per_month=1e6)


def _make_prompt(session: str, number: int, at: float, root: Path) -> Prompt:
    uuid = f"{session[:8]}-{number:04x}-4000-8000-111111111111"
    return Prompt("typed", f"prompt {number}: {WORDS}", session, uuid, at, str(root))


def _measure_transcript(prompts: list[Prompt], path: Path | None) -> int:
    """The size of the transcript in bytes. With a path, it is written."""
    data = b""
    for prompt in prompts:
        record = {"type": "user", "message": {"role": "user", "content": prompt.text}, "uuid": prompt.uuid}
        record |= {
            "sessionId": prompt.session,
            "cwd": prompt.cwd,
            "timestamp": utc_millis(prompt.time or 0.0),
        }
        data += json.dumps(record).encode() + b"\n"
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        # What changed within the hour is compared every 2 s, and of a year these are the last five or six sessions.
        at = prompts[-1].time or 0.0
        os.utime(path, (at, at))
    return len(data)


def _learn(
    tx: Tx, number: int, project: SimulatedProject, place: int, session: str, prompt: int, now: float
) -> list[int]:
    """The rows of what a session taught. Returns the fact that a line was made of, if it is a new one."""
    path, text = (
        str(project.root / "LEARNED.md"),
        f"Prefers the option {number} of the tool {number % 97}: {WORDS}".rstrip(),
    )
    new = NewFact(place, session, prompt, place, now, text, text)
    if number % 5 == 0:
        refused = replace(new, text=f"{number} {WORDS}", state="refused", reason="nobody typed it")
        insert_fact(tx, refused)
    turn = number // PROJECTS % 3
    if turn == 2 and project.lines:
        known, _, said = project.lines[number % len(project.lines)]
        insert_fact(tx, replace(new, text=said, line=known, state="known"))
        count_said(tx, known)
        return []
    insert_fact(tx, new)
    ((fact,),) = tx.rows("SELECT max(number) FROM learning_fact")
    heading = ("Coding", "Testing", "Tools", "Style")[number % 4]
    line = put_line(tx, now, place, path, heading, text, facts=[fact])
    change = tx.execute(
        "INSERT INTO change(id, key, at, plugin, project, by, cause, session, state) "
        "VALUES(?, ?, ?, 'learning', ?, 'prompt', 'synthesis', ?, 'done')",
        f"simulated-{number}",
        make_change_key(f"synthesis {number}", Path(path)),
        now,
        place,
        session,
    ).row
    gone = [project.lines.pop(0)] if project.lines and (turn == 1 or len(project.lines) >= LINES) else []
    for old, old_heading, old_text in gone:
        mark_line(tx, old, "replaced", line)
        tx.execute("DELETE FROM shared_leaf WHERE path = ? AND leaf = ?", path, bullet(old_heading, old_text))
    project.lines.append((line, heading, text))
    leaf = bullet(heading, text)
    tx.execute(
        "INSERT INTO change_line(change, number, path, leaf, heading, taken, put) VALUES(?, 0, ?, ?, ?, ?, ?)",
        change,
        path,
        leaf,
        heading,
        gone[0][2] if gone else None,
        text,
    )
    tx.execute("INSERT OR IGNORE INTO change_prompt(change, prompt) VALUES(?, ?)", change, prompt)
    tx.execute(
        "INSERT OR IGNORE INTO shared_file(path, plugin, format, project, changes) VALUES(?, 'learning', 'bullets', ?, 1)",
        path,
        place,
    )
    tx.execute("INSERT OR REPLACE INTO shared_leaf VALUES(?, ?, ?, ?)", path, leaf, text, len(project.lines))
    root, name = str(project.root), project.root.name
    learned = Notice("learned", text, f"{name}/LEARNED.md", "from 1 prompt, <$0.01", root=root)
    insert_activities(tx, now, "learning", [learned])
    insert_activities(
        tx, now, "", [Notice("changed", "LEARNED.md +1", name, f"tacitd show simulated-{number}")]
    )
    return [fact]


def _write_files(project: SimulatedProject) -> None:
    """LEARNED.md with its lines."""
    leaves: dict[str, str | None] = {bullet(heading, text): text for _, heading, text in project.lines}
    data = Bullets("Learned Preferences").splice(None, leaves)
    (project.root / "LEARNED.md").write_bytes(data)


def _note_calls(
    prompts: Sequence[Prompt], numbers: Sequence[int], facts: Sequence[int], root: Path, budget: Budget
) -> list[int]:
    """The two calls of the model for a session."""
    words = zip(numbers, prompts, strict=True)
    heard = [Part("prompt", at, str(row), one.text) for at, (row, one) in enumerate(words, 1)]
    shown = [Part("fact", at, str(row), WORDS) for at, row in enumerate(facts, 1)]
    asked: list[tuple[Tier, str, list[Part]]] = [("fast", "extraction", heard), ("smart", "synthesis", shown)]
    calls = list[int]()
    for tier, key, parts in asked:
        about = (*parts, Part("work", 0, key, WORDS))
        call = budget.begin_call(
            ModelRequest("?", tier, plugin="learning", purpose=key, about=about, project=str(root))
        )
        assert isinstance(call, int), call
        session = str(uuid.UUID(int=call))
        budget.end_call(
            call, "answered", usd=0.003, tokens_in=4000, tokens_out=100, model="claude-haiku", session=session
        )
        calls.append(call)
    return calls
