"""The state of a year of use, written by the stores themselves with a clock of their own.

A day has 50 sessions of five prompts in 15 projects, after the first start of the daemon. Each handler commits each
prompt, as it does in the daemon; learning makes one fact of each session, and a line of two facts of three. The other
third repeats a line. The daemon starts once a month: then, and while it runs, the logs are shortened as it shortens them.
The client removes transcripts after 30 days.

Nothing is measured here, and no test uses this module.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacitd_handlers.learning.refusals import RefusalLog, RefusedText
from tacitd_handlers.learning.state_snapshot import encode_state, fold_commits

from tacitd.clock import utc_millis
from tacitd.config.model_settings import BudgetSettings
from tacitd.contract import Tx
from tacitd.events import Message, Prompt, SessionEnded, TranscriptGrew
from tacitd.files.disk import RealDisk
from tacitd.files.log import Log
from tacitd.files.operations import Operation, PutLine, RewriteFile, SwapLine, TakeLine, digest_of
from tacitd.files.transaction import History
from tacitd.handler import Commit, Plugin
from tacitd.model.budget import Budget, mark_used
from tacitd.model.call_caps import make_call
from tacitd.model.port import ModelRequest, Tier
from tacitd.plugins import find_plugins
from tacitd.session_context.shown_texts import ShownTexts
from tacitd.sources.position import Position, position_at
from tacitd.state.layout import StateLayout
from tacitd.store import Store
from tacitd.testing import FakeClock
from tacitd.work.commit_rows import SCHEMA, insert_commit, list_unfolded
from tacitd.work.commit_rows import fold_commits as fold_commits_of
from tacitd.work.prompt_rows import NewPrompt, finish_prompts, insert_prompt, queue_prompt

DAY = 86_400.0
SESSIONS, PROMPTS, PROJECTS = 50, 5, 15
"""Sessions a day, prompts in a session, and projects."""
KEPT_DAYS = 30
"""Days for which the client keeps a transcript."""
LINES = 150
"""Lines that a project's LEARNED.md has at most, as by default."""
START_DAYS = 30
"""Days between two starts of the daemon."""
WORDS = "use tabs and not spaces in generated files, and keep the header that the build script writes there "


class UnsyncedDisk(RealDisk):
    """A disk that does not wait: nothing that is written here has to survive a power cut."""

    def sync(self, fd: int) -> None:
        """Nothing."""

    def sync_data(self, fd: int) -> None:
        """Nothing."""

    def sync_dir(self, directory: Path) -> None:
        """Nothing."""


@dataclass(slots=True)
class SimulatedProject:
    """A project, and the lines of its LEARNED.md in their order."""

    root: Path
    lines: list[str] = field(default_factory=list)


@dataclass(slots=True)
class SimulatedUse:
    """The stores of one state directory."""

    home: Path
    state: Path
    days: int
    clock: FakeClock = field(default_factory=lambda: FakeClock(wall=time.time()))
    disk: UnsyncedDisk = field(default_factory=UnsyncedDisk)
    projects: list[SimulatedProject] = field(default_factory=list)
    plugins: dict[str, Plugin] = field(default_factory=dict)

    def write(self) -> None:
        """Write everything. The clock ends now."""
        now = self.clock.now()
        self.clock = FakeClock(wall=now - self.days * DAY)
        layout = StateLayout(self.state)
        self.projects = [SimulatedProject(self._make_project(n)) for n in range(PROJECTS)]
        for plugin in find_plugins().plugins:
            layout.make_handler_dir(plugin.name)
            self.plugins[plugin.name] = plugin
        stores = Stores(
            History(Log(self.state / "history.jsonl", self.disk), self.clock, self.disk),
            store := Store.open(self.state, self.clock, SCHEMA),
            Budget(store, _CAPS, self.clock),
            RefusalLog(layout.make_handler_dir("learning"), self.disk),
            Log(layout.make_handler_dir("learning") / "quarantine.jsonl", self.disk),
            ShownTexts(Log(self.state / "session-context.jsonl", self.disk), self.clock),
        )
        for day in range(self.days):
            for number in range(day * SESSIONS, (day + 1) * SESSIONS):
                self._run_session(number, stores, kept=day >= self.days - KEPT_DAYS)
                self.clock.advance(DAY / SESSIONS)
            if day % START_DAYS == START_DAYS - 1:
                self._shorten_logs(stores)
        with stores.store.write() as tx:
            tx.execute("INSERT INTO setting VALUES('first start', ?)", repr(now - self.days * DAY))
        stores.store.close()

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
        ends = _measure_transcript(prompts, path if kept else None)
        batch, facts = f"{number:016x}", [f"Prefers the option {number} of the tool {number % 97}: {WORDS}"]
        made = self._write_lines(number, project, prompts, facts, stores)
        with stores.store.write() as tx:
            numbers = self._store_prompts(tx, path, prompts, ends[-1], kept=kept)
            for name, plugin in self.plugins.items():
                if not plugin.reads_records:
                    continue
                for upto, _, data in _list_commits(plugin, prompts, ends, batch, facts, project.root):
                    if data:
                        commit = Commit(
                            self.clock.now(), TranscriptGrew.stored_name, str(path), session, upto, data
                        )
                        insert_commit(tx, name, commit)
                finish_prompts(tx, name, numbers, self.clock.now())
                tx.execute(
                    "INSERT INTO adapter_position VALUES(?, ?, ?, ?, ?)", name, str(path), *[ends[-1]] * 3
                )
                if name == "learning" and made:
                    insert_commit(
                        tx,
                        name,
                        Commit(self.clock.now(), SessionEnded.stored_name, str(path), session, -1, made),
                    )
                if name == "profile":
                    found = Commit(
                        self.clock.now(),
                        Message.stored_name,
                        "",
                        f"learning:{number}",
                        -1,
                        {"kind": "nothing"},
                    )
                    insert_commit(tx, name, found)
        _note_calls(number, session, prompts, project.root, stores)
        if number % 50 == 0:
            with stores.store.write() as tx:
                finish_prompts(
                    tx,
                    "learning",
                    numbers[:1],
                    self.clock.now(),
                    state="rejected",
                    reason="the answer cannot be used",
                )
            stores.quarantine.append({"project": str(project.root), "line": WORDS})
        if number % 5 == 0:
            refused = [RefusedText("fact", f"{number} {WORDS}", "nobody typed it")]
            stores.refusals.add(refused, project.root, batch, [p.text for p in prompts], self.clock.now())
        stores.shown.note_sections(session, {"learning": f"{number}", "profile": "p", "lessons": "l"})

    def _store_prompts(self, tx: Tx, path: Path, prompts: list[Prompt], end: int, *, kept: bool) -> list[int]:
        at = position_at(path, end) if kept else Position(end, 1)
        tx.execute(
            "INSERT INTO transcript(path, source, offset, crc, session, cwd) VALUES(?, 'claude-code', ?, ?, ?, ?)",
            str(path),
            at.offset,
            at.crc,
            prompts[0].session,
            prompts[0].cwd,
        )
        reading = [name for name, plugin in self.plugins.items() if plugin.reads_records]
        numbers = list[int]()
        for prompt in prompts:
            stored = insert_prompt(tx, NewPrompt(prompt, "claude-code", str(path), None), self.clock.now())
            if stored is not None:
                queue_prompt(tx, stored.number, reading)
                numbers.append(stored.number)
        return numbers

    def _write_lines(
        self, number: int, project: SimulatedProject, prompts: list[Prompt], facts: list[str], stores: Stores
    ) -> Mapping[str, Any]:
        """Run the transactions of one synthesis, and return the data of its commit."""
        root, batch, line = project.root, f"{number:016x}", facts[0].rstrip()
        learned, ids = root / "LEARNED.md", [p.id for p in prompts]
        made: dict[str, Any] = {
            "kind": "synthesis",
            "project": str(root),
            "batches": [batch],
            "usd": 0.01,
            "from": 5,
        }
        if number // PROJECTS % 3 == 2 and project.lines:
            return made | {"lines": 0, "again": [project.lines[number % len(project.lines)]], "sessions": []}
        operations: list[Operation] = []
        heading = ("Coding", "Testing", "Tools", "Style")[number % 4]
        if number // PROJECTS % 3 == 1 and project.lines:
            old = project.lines.pop(0)
            operations.append(SwapLine(learned, old, line, heading, "Learned Preferences"))
            made["swapped"] = {line: old}
        else:
            operations.append(PutLine(learned, heading, line, "Learned Preferences"))
        project.lines.append(line)
        copy = "".join(f"- {one}\n" for one in project.lines)
        path = root / ".claude/rules/tacitd-learned.md"
        seen = path.read_bytes() if path.exists() else None
        operations.append(RewriteFile(path, copy, digest_of(seen)))
        origin = {line: {"prompts": ids, "sessions": [prompts[0].session], "said": 1, "corrections": 0}}
        cause: dict[str, Any] = {
            "by": "learning",
            "what": "synthesis",
            "batches": [batch],
            "files": [],
            "whole": {},
        }
        cause |= {"sessions": [prompts[0].session], "prompts": ids, "facts": facts, "lines": origin}
        gone = project.lines.pop(0) if len(project.lines) > LINES else None
        if gone is not None:
            operations.append(TakeLine(learned, gone))
            made["merged"] = {gone: line}
        stores.history.run_transaction(
            root, operations, cause | {"made_of": {line: facts}}, f"synthesis:{batch}"
        )
        made |= {"lines": 1, "put": [line], "origins": origin, "files": {line: "LEARNED.md"}, "used": facts}
        return made

    def _shorten_logs(self, stores: Stores) -> None:
        """What a start of the daemon does with its logs."""
        state = encode_state(fold_commits(list_unfolded(stores.store.rows, "learning")))
        with stores.store.write() as tx:
            fold_commits_of(tx, "learning", state, self.clock.now())
        stores.history.compact_log()
        stores.refusals.load()
        stores.refusals.prune(self.clock.now())


@dataclass(frozen=True, slots=True)
class Stores:
    """The logs that are not a handler's."""

    history: History
    store: Store
    budget: Budget
    refusals: RefusalLog
    quarantine: Log
    shown: ShownTexts


_CAPS = BudgetSettings(calls_per_minute=10_000, calls_per_day=100_000, usd_per_day=1e6, usd_per_month=1e6)


def _make_prompt(session: str, number: int, at: float, root: Path) -> Prompt:
    uuid = f"{session[:8]}-{number:04x}-4000-8000-111111111111"
    return Prompt("typed", f"prompt {number}: {WORDS}", session, uuid, at, str(root))


def _measure_transcript(prompts: list[Prompt], path: Path | None) -> list[int]:
    """The byte offset after each prompt. With a path, the transcript is written."""
    ends, data = list[int](), b""
    for prompt in prompts:
        record = {"type": "user", "message": {"role": "user", "content": prompt.text}, "uuid": prompt.uuid}
        record |= {
            "sessionId": prompt.session,
            "cwd": prompt.cwd,
            "timestamp": utc_millis(prompt.time or 0.0),
        }
        data += json.dumps(record).encode() + b"\n"
        ends.append(len(data))
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        # What changed within the hour is compared every 2 s, and of a year these are the last five or six sessions.
        at = prompts[-1].time or 0.0
        os.utime(path, (at, at))
    return ends


def _list_commits(
    plugin: Plugin, prompts: list[Prompt], ends: list[int], batch: str, facts: list[str], root: Path
) -> Iterator[tuple[int, list[Prompt], Mapping[str, Any]]]:
    """The commits of one session: learning gathers its prompts, the others get each one when it is typed."""
    if plugin.name != "learning":
        yield from ((upto, [prompt], {}) for upto, prompt in zip(ends, prompts, strict=True))
        return
    data: dict[str, Any] = {
        "kind": "batch",
        "id": batch,
        "project": str(root),
        "prompts": [p.id for p in prompts],
    }
    data |= {"times": [p.time for p in prompts], "new": facts, "again": [], "folders": [], "usd": 0.003}
    data |= {"words": [p.text for p in prompts], "seen": 5, "asked": 5, "facts": 1, "dropped": 0}
    yield ends[-1], prompts, data


def _note_calls(number: int, session: str, prompts: list[Prompt], root: Path, stores: Stores) -> None:
    """The two calls of the model for a session."""
    calls: list[tuple[Tier, str, list[str]]] = [("fast", "extraction", [p.id for p in prompts])]
    calls.append(("smart", "synthesis", []))
    for tier, key, parts in calls:
        ask = ModelRequest("?", tier, f"{key}:{number}", parts=tuple(parts), purpose=key, project=str(root))
        call = stores.budget.begin_call(make_call(ask))
        assert isinstance(call, int), call
        stores.budget.end_call(
            call, "answered", usd=0.003, tokens_in=4000, tokens_out=100, model="m", session=f"{session}-{key}"
        )
        with stores.store.write() as tx:
            mark_used(tx, [call])
