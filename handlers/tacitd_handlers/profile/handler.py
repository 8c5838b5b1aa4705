"""The profile's handler: stores findings of the learning's model call, applies decay, publishes `.processed_turns`.

It never calls the model itself. Without the learning plugin there are no findings, and the profile only decays. How a
finding changes the profile belongs to `profile_changes`; how it is written belongs to `store`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from loguru import logger

from tacitd.clock import utc_seconds
from tacitd.errors import FileBusyError, FileRefusedError, LogDamagedError, TacitdError
from tacitd.events import Due, Event, Message, SessionEnded, TranscriptGrew
from tacitd.files.log import Log
from tacitd.files.replaced import UNGUARDED
from tacitd.handler import BaseHandler, Commit, Degradation, Done, Later, Outcome, Tools
from tacitd.work.commit_rows import SNAPSHOT
from tacitd_handlers.profile import changelog
from tacitd_handlers.profile import profile_confidence as metas
from tacitd_handlers.profile.parse import parse_finding
from tacitd_handlers.profile.processed_turns import TurnPublisher
from tacitd_handlers.profile.profile_notices import describe_commit
from tacitd_handlers.profile.store import ProfileStore
from tacitd_handlers.shared import decay

FADE, PRUNE, TURNS = "fade", "changelog", "turns"
"""Its jobs. Decay is checked every hour and written every day, which is enough: it depends on the time passed (P-16)."""
BROKEN, CLOCK = "profile.broken", "profile.clock"


class ProfileHandler(BaseHandler):
    """The handler of seed 001's profile."""

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self._env = os.environ if env is None else env
        self._store: ProfileStore
        self._turns: TurnPublisher
        self._newest: float | None = None
        self._counts: Counter[str] = Counter()
        self._clock_doubt = ""

    def open(self, commits: Iterable[Commit], tools: Tools) -> None:
        """Count earlier findings, and finish a change that a crash interrupted."""
        self._store = ProfileStore.from_environ(self._env, tools.clock, tools.home, tools.guards or UNGUARDED)
        self._turns = TurnPublisher(self._store.directory, tools.list_sessions, tools.home / "turns.json")
        for commit in commits:
            self._count(commit)
        self._turns.resume_positions(tools.list_positions())  # known when the log was read to its end
        with suppress(FileBusyError):  # an editor has the file open: the next change settles it
            self._guarded(self._store.finish_pending, tools)

    def handle(self, event: Event, tools: Tools) -> Outcome:
        """Handle one event. Raises OSError or FileBusyError; the engine then offers the event again."""
        match event:
            case Message():
                return self._learn_findings(event, tools)
            case TranscriptGrew():
                self._read(event, tools)
            case SessionEnded():
                self._turns.publish_counts()
            case Due(job="fade"):
                return self._guarded(lambda: self._fade(tools), tools)
            case Due(job="changelog"):
                return self._guarded(lambda: self._prune(tools), tools)
            case Due(job="turns"):
                self._turns.publish_counts()
            case _:
                pass
        return Done()

    def committed(self, commit: Commit, tools: Tools) -> None:
        """Announce what was learned. The files were written in `handle`, so nothing is written here."""
        self._count(commit)
        for notice in describe_commit(commit):
            tools.announce(notice)

    def status(self) -> Mapping[str, Any]:
        """Return `directory`, `found` (counts), `learned` (a number of paths), `own`, `next` and `suspended`.

        `own` has the paths that are the person's, also in part. `next` is the path that decay removes next, with the time and the days until then;
        `suspended` says why nothing decays. An unreadable profile has `unreadable` with the reason instead of these.
        """
        made: dict[str, Any] = {"directory": str(self._store.directory), "found": dict(self._counts)}
        try:
            confidences = metas.read_confidences(self._store.read_metadata())
            owned = self._store.find_ownership()
        except (OSError, TacitdError) as error:
            return made | {"unreadable": str(error)}
        now, own = self._store.clock.now(), sorted({*owned.paths, *owned.elements})
        ends = sorted(
            (one.days_left(now), one.path) for one in confidences.values() if one.path not in owned.paths
        )
        following = None
        if ends:
            days, path = ends[0]
            following = {"path": path, "days": round(days, 2), "at": _format_end(now + days * decay.DAY)}
        return made | {
            "learned": len(ends),
            "own": own,
            "next": following,
            "suspended": self._clock_doubt,
        }

    # findings

    def _learn_findings(self, event: Message, tools: Tools) -> Outcome:
        what = parse_finding(event.data)
        if not what:
            return Done(data={"kind": "nothing"})
        self._store.newest_vouched = self._newest
        made: dict[str, Any] = {}

        def learn() -> None:
            plan = self._store.learn_finding(what, event.session, event.id)
            if plan is None:
                made.update(kind="again")
            else:
                made.update(kind="learned", changed=bool(plan.ops))
                made["paths"] = list(dict.fromkeys(str(op["path"]) for op in plan.ops))

        outcome = self._guarded(learn, tools)
        return Done(data=made) if isinstance(outcome, Done) else outcome

    def take_snapshot(self) -> Mapping[str, Any]:
        """The counts."""
        return {"counts": dict(self._counts)}

    def _count(self, commit: Commit) -> None:
        if commit.event == SNAPSHOT:
            self._counts = Counter(commit.data["counts"])
        if commit.data.get("kind") in ("nothing", "learned"):
            self._counts[str(commit.data["kind"])] += 1

    # positions in transcripts

    def _read(self, event: TranscriptGrew, tools: Tools) -> None:
        limit = tools.clock.now() + decay.DAY  # a record from the future does not confirm the clock
        times = [one.time for one in event.records if one.time is not None and one.time <= limit]
        self._newest = max([*times, *([self._newest] if self._newest is not None else [])], default=None)
        self._turns.note_read(event.session, event.transcript, event.end)
        if (
            self._clock_doubt
            and self._newest is not None
            and not decay.doubt_clock(tools.clock.now(), self._newest)
        ):
            self._clock_doubt = ""
            # A fresh record confirms the clock: files that were not touched for long do not count.
            tools.post(Due(FADE))

    # jobs

    def _fade(self, tools: Tools) -> None:
        self._store.newest_vouched = self._newest
        self._store.finish_pending()
        if not self._store.directory.is_dir():
            return
        self._clock_doubt = self._store.find_clock_doubt()
        if self._clock_doubt:
            hint = "set the clock; until then nothing decays or is pruned"
            tools.degrade(Degradation(CLOCK, self._clock_doubt, hint))
            return
        tools.clear(CLOCK)
        plan = self._store.apply_decay()
        if plan.removed:
            logger.info("decay removed {} paths of the profile", len(plan.removed))

    def _prune(self, tools: Tools) -> None:
        self._turns.publish_counts(tidy=True)
        self._store.newest_vouched = self._newest
        if not self._store.log.size or self._store.find_clock_doubt():
            return
        quarantine = Log(self._store.directory / changelog.QUARANTINE)
        try:
            changelog.prune_changelog(self._store.log, tools.clock.now(), quarantine)
        finally:
            quarantine.close()

    def _guarded(self, work: Any, tools: Tools) -> Done | Later:
        """Trigger: a file cannot be parsed or written. Why: a person may be editing it. Outcome: a degradation, and the
        event waits and is tried again; nothing is overwritten, and no finding is lost. Raises FileBusyError."""
        try:
            work()
        except FileBusyError:
            raise
        except (FileRefusedError, LogDamagedError) as error:
            tools.degrade(Degradation(BROKEN, error.what, error.hint))
            return Later(error.what, error.hint)
        tools.clear(BROKEN)
        return Done()


def _format_end(at: float) -> str | None:
    """ISO 8601; None for a time that cannot be expressed: the stored times are a person's to edit."""
    try:
        return utc_seconds(at)
    except (ValueError, OverflowError, OSError):
        return None
