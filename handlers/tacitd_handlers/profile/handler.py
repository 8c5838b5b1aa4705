"""The profile in the daemon: takes in what the learning's call found, lets time pass, publishes how far it has read.

It never asks the model itself. Where the learning is not installed, nobody finds anything for it, and it only fades.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from loguru import logger

from tacitd.errors import FileBusyError, FileRefusedError, LogDamagedError, TacitdError
from tacitd.events import Due, Event, Project, SessionEnded, Told, TranscriptGrew
from tacitd.files.log import Log
from tacitd.files.replaced import UNGUARDED
from tacitd.handler import Commit, Degradation, Done, Later, Notice, Outcome, Tools
from tacitd_handlers.profile import changelog
from tacitd_handlers.profile import meta as metas
from tacitd_handlers.profile.publish import Turns
from tacitd_handlers.profile.said import said
from tacitd_handlers.profile.store import PROFILE, Store
from tacitd_handlers.rules.decay import DAY

FADE, PRUNE, TURNS = "fade", "changelog", "turns"
"""Its jobs. Fading is looked at every hour and written every day: it is a function of the time that passed."""
BROKEN, CLOCK = "profile.broken", "profile.clock"


class Profiles:
    """Seed 001, as far as the profile goes."""

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self._env = os.environ if env is None else env
        self._store: Store
        self._turns: Turns
        self._newest: float | None = None
        self._counts: Counter[str] = Counter()
        self._doubt = ""

    def open(self, commits: Iterable[Commit], tools: Tools) -> None:
        """Count what was found before; finish what a crash cut in two."""
        self._store = Store.of(self._env, tools.clock, tools.home, tools.guards or UNGUARDED)
        self._turns = Turns(self._store.directory, self._env)
        for commit in commits:
            self._count(commit)
        with suppress(FileBusyError):  # somebody edits it: the next change settles it
            self._guarded(self._store.settle, tools)

    def handle(self, event: Event, tools: Tools) -> Outcome:
        """Answer one event. Raises OSError; then it is offered again."""
        match event:
            case Told():
                return self._told(event, tools)
            case TranscriptGrew():
                self._read(event, tools)
            case SessionEnded():
                self._turns.publish()
            case Due(job="fade"):
                return self._guarded(lambda: self._fade(tools), tools)
            case Due(job="changelog"):
                return self._guarded(lambda: self._prune(tools), tools)
            case Due(job="turns"):
                self._turns.publish()
            case _:
                pass
        return Done()

    def committed(self, commit: Commit, tools: Tools) -> None:
        """Say what was learned; nothing is projected, because the files were written before.

        Only the path is named: the value is for the person's eyes, and the profile's file is 0600 for that.
        """
        self._count(commit)
        for path in commit.data.get("paths", ()):
            tools.announce(Notice("learned", f"your {path}", PROFILE))

    def status(self) -> Mapping[str, Any]:
        """How much is known, what fades next, and what came of the findings."""
        made: dict[str, Any] = {"directory": str(self._store.directory), "found": dict(self._counts)}
        try:
            standing = metas.standings(self._store.meta())
            own = self._store.own()
        except (OSError, TacitdError) as error:
            return made | {"unreadable": str(error)}
        now = self._store.clock.now()
        ends = sorted((one.days_left(now), one.path) for one in standing.values() if one.path not in own)
        following = {"path": ends[0][1], "days": round(ends[0][0], 2)} if ends else None
        return made | {"learned": len(ends), "own": len(own), "next": following, "suspended": self._doubt}

    def sources(self, project: Project) -> Sequence[Path]:
        """None."""
        return ()

    # what was found

    def _told(self, event: Told, tools: Tools) -> Outcome:
        what = said(event.data)
        if not what:
            return Done(data={"kind": "nothing"})
        self._store.known = self._newest
        made: dict[str, Any] = {}

        def learn() -> None:
            plan = self._store.learn(what, event.session, event.id)
            if plan is None:
                made.update(kind="again")
            else:
                made.update(kind="learned", changed=bool(plan.ops), kept=list(plan.kept))
                made["paths"] = list(dict.fromkeys(str(op["path"]) for op in plan.ops))

        outcome = self._guarded(learn, tools)
        return Done(data=made) if isinstance(outcome, Done) else outcome

    def _count(self, commit: Commit) -> None:
        if commit.data.get("kind") in ("nothing", "learned"):
            self._counts[str(commit.data["kind"])] += 1
            self._counts["kept"] += len(commit.data.get("kept", ()))

    # what was read

    def _read(self, event: TranscriptGrew, tools: Tools) -> None:
        limit = tools.clock.now() + DAY  # a record from the future vouches for nothing
        times = [one.time for one in event.records if one.time is not None and one.time <= limit]
        self._newest = max([*times, *([self._newest] if self._newest is not None else [])], default=None)
        self._turns.read(event.session, event.transcript, event.end)

    # what happens by the clock

    def _fade(self, tools: Tools) -> None:
        self._store.known = self._newest
        self._store.settle()
        if not self._store.directory.is_dir():
            return
        self._doubt = self._store.doubt()
        if self._doubt:
            hint = "set the clock; until then nothing fades, and nothing is pruned"
            tools.degrade(Degradation(CLOCK, self._doubt, hint))
            return
        tools.clear(CLOCK)
        plan = self._store.fade()
        if plan.removed:
            logger.info("{} paths of the profile have faded away", len(plan.removed))

    def _prune(self, tools: Tools) -> None:
        self._turns.publish(tidy=True)
        self._store.known = self._newest
        if not self._store.log.size or self._store.doubt():
            return
        quarantine = Log(self._store.directory / changelog.QUARANTINE)
        try:
            changelog.prune(self._store.log, tools.clock.now(), quarantine)
        finally:
            quarantine.close()

    def _guarded(self, work: Any, tools: Tools) -> Done | Later:
        """Trigger: a file that is not understood, or cannot be written. Why: a person may be in the middle of it. Outcome:
        it is said, and tried again; nothing is overwritten, and what was found waits."""
        try:
            work()
        except FileBusyError:
            raise
        except (FileRefusedError, LogDamagedError) as error:
            tools.degrade(Degradation(BROKEN, error.what, error.hint))
            return Later(error.what, error.hint)
        tools.clear(BROKEN)
        return Done()
