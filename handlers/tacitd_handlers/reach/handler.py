"""The handler that keeps the person's rules file in step with what the plugins know of the person.

It looks at the files that the lines come from every 20 seconds, so a person's edit there, or in the rules file, is followed
within a minute. How the file changes belongs to `rules_plan`, how it is written to `rules_file`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from loguru import logger

from tacitd.clock import utc_seconds
from tacitd.errors import FileBusyError, TacitdError
from tacitd.events import Due, Event, SessionStarted
from tacitd.files.replaced import UNGUARDED
from tacitd.handler import BaseHandler, Commit, Degradation, Done, Outcome, Tools, load_hook
from tacitd.session_context.person_rules import PersonRules
from tacitd.state.known_projects import list_known_projects
from tacitd_handlers.reach.reach_checks import check_projects
from tacitd_handlers.reach.rules_file import UserRulesFile
from tacitd_handlers.reach.rules_history import describe_rules_change
from tacitd_handlers.reach.rules_plan import (
    LeaveFile,
    RemoveRulesFile,
    WithdrawRules,
    WriteText,
    plan_removal,
    plan_update,
)
from tacitd_handlers.reach.rules_text import RuleSection, choose_lines, make_section

JOB, CHECK = "user-rules", "reach-check"
PROBLEMS = ("reach.committed", "reach.excluded", "reach.linked", "reach.old-client", "reach.twice")
BLOCKED, INCOMPLETE = "reach.blocked", "reach.incomplete"
AGAIN = 3600.0
"""Seconds after which the lines are made again though no file changed: confidences decay."""
MINUTE = 60.0
ROUNDS = 5
"""How often the file is looked at again after lines were withdrawn."""

Stamp = tuple[tuple[int, int, int] | None, ...]


class ReachHandler(BaseHandler):
    """Keeps the file. It reads no transcript and calls no model."""

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self._env = os.environ if env is None else env
        self._file: UserRulesFile | None = None
        self._sources: dict[str, PersonRules] = {}
        self._stamp: Stamp | None = None
        self._looked_at = float("-inf")
        self._due_at: float | None = None
        self._restore = False
        self._state = "none"
        self._left_out = 0
        self._lock = threading.Lock()
        """Held while the file is brought up to date: a purge does that in another thread."""

    def open(self, commits: Iterable[Commit], tools: Tools) -> None:
        """Read what was written before."""
        if tools.client_home is not None:
            self._file = UserRulesFile(tools.client_home, tools.home, tools.guards or UNGUARDED)

    def handle(self, event: Event, tools: Tools) -> Outcome:
        """Bring the file up to date when the job is due, and make it again if it is missing when a session starts.

        Changed lines are the commit's data, for `tacitd history`.
        """
        before = self._file.memory.written.rules if self._file is not None else ()
        if isinstance(event, SessionStarted):
            self._restore = True
        if isinstance(event, SessionStarted) or (isinstance(event, Due) and event.job == JOB):
            try:
                with self._lock:
                    self._update(tools)
            except FileBusyError:
                self._stamp = None  # the job comes again in 20 s
            except (OSError, TacitdError) as error:
                self._stamp, self._state = None, "blocked"
                what = error.what if isinstance(error, TacitdError) else str(error)
                where = f"{self._file.path}: " if self._file and str(self._file.path) not in what else ""
                hint = error.hint if isinstance(error, TacitdError) else "make it writable by your user"
                tools.degrade(Degradation(BLOCKED, f"{where}{what}", hint))
        elif isinstance(event, Due) and event.job == CHECK:
            self._report_problems(tools)
        if self._file is None:
            return Done()
        return Done(data=describe_rules_change(str(self._file.path), before, self._file.memory.written.rules))

    def update_now(self, tools: Tools) -> list[Path]:
        """Bring the file up to date for a person's command, and return it if it changed. Any thread.

        Raises OSError, FileBusyError and other TacitdErrors. `tacitd history` does not show this change.
        """
        if self._file is None:
            return []
        with self._lock:
            before = self._file.read_bytes()
            self._stamp = None
            self._update(tools)
            return [self._file.path] if self._file.read_bytes() != before else []

    def _report_problems(self, tools: Tools) -> None:
        """Report what does not reach the sessions of known projects, until it is gone."""
        if tools.client_home is None:
            return
        roots = list_known_projects(tools.home.parent.parent)
        found = {one.id: one for one in check_projects(tools.client_home, roots, tools.clock.now())}
        for id in PROBLEMS:
            if id in found:
                tools.degrade(Degradation(id, found[id].what, found[id].hint))
            else:
                tools.clear(id)

    def status(self) -> Mapping[str, Any]:
        """`file`; `state`: `current`, `waits` (for the next day), `missing` or `incomplete` (made again at the next session),
        `none` (nothing to write), `off`, `git`, `merging` or `tracked` (deletions are not followed), or `blocked`; `lines`; `left_out` (more than fit); `written` (ISO 8601)."""
        if self._file is None:
            return {"file": None, "state": "none", "lines": 0, "left_out": 0, "written": None}
        memory = self._file.memory
        return {
            "file": str(self._file.path),
            "state": self._state,
            "lines": len(memory.written.rules),
            "left_out": self._left_out,
            "written": utc_seconds(memory.at) if memory.at else None,
        }

    # the file

    def _update(self, tools: Tools) -> None:
        file = self._file
        if file is None or not file.path.parent.parent.is_dir():
            return  # Claude Code was never used with this directory
        settings = tools.settings["reach"]
        now, stamp = tools.clock.now(), self._take_stamp(file, tools, settings)
        quiet = stamp == self._stamp and tools.clock.monotonic() - self._looked_at < AGAIN
        if quiet and not self._restore and (self._due_at is None or now < self._due_at):
            return
        self._stamp, self._looked_at, self._due_at = None, tools.clock.monotonic(), None
        if not settings.user_rules:
            self._take_out(file)
            self._state = "off"
        elif file.find_work_tree() is not None and not settings.user_rules_in_git:
            self._state = "git"
        else:
            file.check_place()
            self._follow(file, tools, now)
        tools.clear(BLOCKED)
        self._restore = False
        # The stamp from before: what changed meanwhile, also by this write, is looked at once more.
        self._stamp = stamp

    def _take_stamp(self, file: UserRulesFile, tools: Tools, settings: Any) -> Stamp:
        """What shows whether anything changed: size, time and inode of each file, and the settings."""
        if not self._sources:
            self._sources = _load_sources(tools, self._env)
        files = [file.path, *(path for one in self._sources.values() for path in one.list_files())]
        return (*map(_stat_file, files), (settings.user_rules, settings.user_rules_in_git, 0))

    def _follow(self, file: UserRulesFile, tools: Tools, now: float) -> None:
        """Look at the file, withdraw what was deleted in it, and write what is due."""
        handled: set[tuple[str, str]] = set()
        for _ in range(ROUNDS):
            sections = self._list_sections(file, tools, handled)
            seen = file.read_bytes()
            plan = plan_update(seen, file.memory, sections, now, restore=self._restore, handled=handled)
            match plan:
                case WithdrawRules(rules):
                    if (doubt := file.find_git_doubt()) is not None:
                        self._state = doubt
                        self._due_at = now + MINUTE if doubt == "merging" else None
                        return
                    for line in rules:
                        logger.info("a deleted line of {} is withdrawn: {} {}", file.path, *line.key)
                        if line.plugin in self._sources:
                            self._sources[line.plugin].withdraw_rule(line.id)
                        handled.add(line.key)
                    continue
                case WriteText(memory, text):
                    if not file.write_text(memory, text, seen, now, handled):
                        continue
                    self._state = "current" if text.rules else "none"
                case RemoveRulesFile():
                    file.remove_file(seen or b"")
                    self._state = "none"
                case LeaveFile(why, until):
                    self._due_at = until
                    self._state = why or ("current" if file.memory.written.rules else "none")
            fit = sum(len(one.lines) for one in choose_lines(sections))
            self._left_out = sum(len(one.lines) for one in sections) - fit
            return
        self._due_at = now  # it changed each time: the next run of the job looks again

    def _take_out(self, file: UserRulesFile) -> None:
        """Take tacitd's lines out of the file."""
        if file.memory.at == 0.0 and file.memory.pending is None:
            return
        file.check_place()
        seen = file.read_bytes()
        match plan_removal(seen, file.memory):
            case WriteText(memory, text):
                file.write_text(memory, text, seen, memory.at, {line.key for line in memory.certain_rules})
                file.forget_file()
            case RemoveRulesFile():
                file.remove_file(seen or b"")
            case _:
                file.forget_file()

    def _list_sections(
        self, file: UserRulesFile, tools: Tools, handled: Collection[tuple[str, str]]
    ) -> list[RuleSection]:
        """The lines of each plugin that hold now, without those that were withdrawn just now.

        Trigger: a plugin cannot read its files. Why: its lines may still hold. Outcome: they stay as they were written, and a
        degradation names the reason.
        """
        sections, failed = [], []
        for plugin, source in self._sources.items():
            try:
                rules = [one for one in source.list_rules() if (plugin, one.id) not in handled]
                sections.append(make_section(plugin, source.title, rules))
            except Exception as error:  # noqa: BLE001  a third-party hook may raise anything
                failed.append(f"what {plugin} knows of you cannot be read: {error}")
                kept = tuple(one for one in file.memory.written.rules if one.plugin == plugin)
                sections.append(RuleSection(source.title, kept))
        if failed:
            tools.degrade(Degradation(INCOMPLETE, "; ".join(failed), "`tacitd doctor` checks the files"))
        else:
            tools.clear(INCOMPLETE)
        return sections


def _load_sources(tools: Tools, env: Mapping[str, str]) -> dict[str, PersonRules]:
    """By plugin name, what its hook made. A hook that fails is logged and left out."""
    found: dict[str, PersonRules] = {}
    for plugin, where in tools.person_rules.items():
        try:
            found[plugin] = load_hook(where)(env, tools.clock)
        except Exception as error:  # noqa: BLE001  a third-party hook may raise anything
            logger.warning("the person rules of {} are left out: {}", plugin, error)
    return found


def _stat_file(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino
