"""The profile on disk: every change is made under one lock, and the next change finishes one that a crash interrupted.

The order of writing is: intent, profile.json, profile-meta.json, changelog.jsonl, done. Each step may be repeated. If a
file cannot be parsed, or has another schema version, nothing is written (SPEC P-03, P-06). What a change does belongs to
`profile_changes`, and reading to `profile_reader`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

from msgspec.structs import replace

from tacitd.clock import Clock
from tacitd.files import json_document
from tacitd.files.disk import Disk
from tacitd.files.log import encode_record
from tacitd.files.replaced import UNGUARDED, EditGuards, replace_file
from tacitd.files.write_checks import refuse_other_name
from tacitd_handlers.profile import arrivals, dot_paths, profile_changes
from tacitd_handlers.profile import own_writes as besides
from tacitd_handlers.profile import profile_confidence as metas
from tacitd_handlers.profile.dot_paths import Json
from tacitd_handlers.profile.intents import (
    NewerWrites,
    ProfileIntent,
    choose_stamp,
    find_newer,
    list_removed,
    settle_intent,
)
from tacitd_handlers.profile.merge import PartialProfile
from tacitd_handlers.profile.own_writes import ProfileMemory
from tacitd_handlers.profile.ownership import Ownership
from tacitd_handlers.profile.profile_changes import ProfilePlan, ProfileSnapshot
from tacitd_handlers.profile.profile_operations import apply_ops
from tacitd_handlers.profile.profile_reader import META, PROFILE, ProfileReader
from tacitd_handlers.profile.profile_schema import UserProfile, check_document
from tacitd_handlers.shared import decay


class ProfileStore(ProfileReader):
    """One profile. Several processes may use it at once. Threads must not share an object."""

    def __init__(
        self,
        directory: Path,
        beside: Path,
        user: str,
        clock: Clock | None = None,
        disk: Disk | None = None,
        guards: EditGuards = UNGUARDED,
    ) -> None:
        """`beside`: the file for the state of `own_writes.py`. `guards`: the checks for open editors and late saves."""
        super().__init__(directory, beside, user, clock, disk)
        self.newest_vouched: float | None = None
        """The newest time in a transcript, by which the clock is judged: seconds since 1970, UTC. None: unknown."""
        self.by_person = False
        """Whether a person runs a command. Files that nothing touched for 400 days then do not make the clock doubtful."""
        self._guards = guards

    @classmethod
    def from_environ(
        cls,
        env: Mapping[str, str],
        clock: Clock | None = None,
        home: Path | None = None,
        guards: EditGuards = UNGUARDED,
    ) -> Self:
        """Return the store of this environment. `home`: the handler's state directory; None takes the default one."""
        made = super().from_environ(env, clock, home)
        made._guards = guards
        return made

    def find_clock_doubt(self) -> str:
        """Return why nothing decays now: the clock is not trusted. "" if it is. Raises OSError, NotUnderstoodError."""
        return decay.doubt_clock(self.clock.now(), self._newest_moment(self.read_metadata()))

    # changes
    #
    # Each raises OSError, FileRefusedError, FileBusyError or LogDamagedError, and is then made whole at the next change
    # or not at all.

    def learn_finding(
        self, said: PartialProfile, session: str, id: str, source: str = "minimal/hook"
    ) -> ProfilePlan | None:
        """Merge a finding; return the plan, or None if the finding with this id was merged before (SPEC P-30)."""
        return self._change(
            lambda now: (
                None
                if id and id in now.beside.ids
                else profile_changes.plan_learning(now, said, session, id, source)
            )
        )

    def set_value(self, path: str, value: Any) -> ProfilePlan:
        """Set a person's value. Raises ValueError if the path leads below a leaf."""
        return self._change(lambda now: profile_changes.plan_update(now, path, value)) or _NOTHING

    def add_element(self, path: str, element: str) -> ProfilePlan:
        """Add a person's element to an array. Raises ValueError if the path leads below a leaf, or to no array."""
        return self._change(lambda now: profile_changes.plan_addition(now, path, element)) or _NOTHING

    def remove_value(self, path: str, element: str | None = None) -> ProfilePlan:
        """Remove a path, or one element of its array, for a person."""
        return self._change(lambda now: profile_changes.plan_removal(now, path, element)) or _NOTHING

    def clear_profile(self) -> ProfilePlan:
        """Remove every value for a person."""
        return self._change(profile_changes.plan_clearing) or _NOTHING

    def apply_decay(self, *, forced: bool = False) -> ProfilePlan:
        """Apply decay if it is due, or if `forced`. Does nothing while the clock is not trusted."""

        def due(now: ProfileSnapshot) -> ProfilePlan | None:
            doubted = now.credible != now.at
            return (
                profile_changes.plan_decay(now)
                if not doubted and (forced or metas.is_due(now.meta, now.at))
                else None
            )

        return self._change(due, only_there=True) or _NOTHING

    def preview_decay(self) -> ProfilePlan:
        """Return what `apply_decay` would do now, without writing."""
        return profile_changes.plan_decay(self._take_snapshot(self._read_memory()))

    def finish_pending(self) -> None:
        """Finish a change that a crash interrupted, and note what a person edited since: it stays theirs, also if they
        set it back later."""
        self._change(lambda now: None, only_there=True)

    # the change itself

    def _change(
        self, make: Callable[[ProfileSnapshot], ProfilePlan | None], *, only_there: bool = False
    ) -> ProfilePlan | None:
        """Make a plan under the lock and write it. `only_there`: do nothing if the directory does not exist."""
        if only_there and not self.directory.is_dir():
            return None
        with json_document.lock_directory(self.directory, self.disk):
            for path in (self.directory / PROFILE, self.directory / META, self.log.path):
                refuse_other_name(path, self.disk.resolve(path))
            beside = self._finish_intent(self._read_memory())
            now = self._take_snapshot(beside)
            plan = make(now)
            # A change that has nothing to write notes what a person edited all the same.
            due = plan if plan is not None and plan.writes_to(now) else profile_changes.plan_claims(now)
            if due.ops:
                self._check_editors()
            if due.writes_to(now):
                self._write(now, due)
            return plan

    def _check_editors(self) -> None:
        """Raise FileBusyError if an editor has one of the two documents open, before anything is written."""
        if self._guards.busy_files is not None:
            for name in (PROFILE, META):
                self._guards.busy_files.check_editors(self.disk.resolve(self.directory / name))

    def _take_snapshot(self, beside: ProfileMemory) -> ProfileSnapshot:
        at, profile, meta = self.clock.now(), self.read_profile(), self.read_metadata()
        vouched = self._newest_moment(meta)
        doubted = vouched is not None and decay.doubt_clock(at, vouched)
        credible = vouched if doubted and vouched is not None else at
        log = self._read_changelog()
        owned = self._judge(profile, meta, beside, lambda: log)
        awaited = ""
        if (self.directory / PROFILE).exists():
            awaited = arrivals.find_unexplained(profile, log, beside.written, beside.awaited, at)
        if awaited:
            owned = Ownership(frozenset(dot_paths.list_leaves(profile)), learned=owned.learned)
        waits = bool(awaited) or arrivals.is_profile_older(profile, meta, log, at)
        return ProfileSnapshot(profile, meta, beside, owned, at, credible, awaited, waits)

    def _newest_moment(self, meta: Json) -> float | None:
        """The newest known time. A transcript's is preferred: a wrong clock may have written those in `meta`."""
        if self.newest_vouched is not None:
            return self.newest_vouched
        known = metas.newest_moment(meta)
        old = known is not None and self.clock.now() > known + decay.LATEST_AFTER
        return None if old and self.by_person else known

    def _write(self, now: ProfileSnapshot, plan: ProfilePlan) -> None:
        after = check_document(apply_ops(now.profile, plan.ops), UserProfile, self.directory / PROFILE)
        intent = ProfileIntent.from_plan(now, plan, after, (self.directory / PROFILE).exists())
        beside = replace(
            now.beside,
            ids=(*now.beside.ids, plan.id)[-besides.IDS :] if plan.id else now.beside.ids,
            awaited=now.awaited,
            intent=intent.as_data(),
        )
        self._save_memory(beside)
        self._carry_out(beside, intent)

    def _finish_intent(self, beside: ProfileMemory) -> ProfileMemory:
        """Trigger: an intent that is not marked as done. Why: the process ended in the middle. Outcome: it is finished
        now, except for the paths that a person or another program changed since."""
        intent = ProfileIntent.from_data(beside.intent)
        if intent is None:
            return beside
        newer = find_newer(intent, self.read_metadata(), self._read_changelog())
        since = self.read_profile().get("lastUpdated")
        if intent.ops and since != intent.at and not newer.is_done:  # it is written now
            intent = intent.move_to(choose_stamp(self.clock.now(), since))
            beside = replace(beside, intent=intent.as_data())
            self._save_memory(beside)
        return self._carry_out(beside, intent, newer)

    def _carry_out(
        self, beside: ProfileMemory, intent: ProfileIntent, newer: NewerWrites | None = None
    ) -> ProfileMemory:
        """Write what is missing of an intent, and mark it as done; return the state after it."""
        path, found = self.directory / PROFILE, intent

        def changed(before: Json | None) -> Json | None:
            nonlocal found
            old = self._new_profile() if before is None else check_document(before, UserProfile, path)
            found = settle_intent(intent, old, newer, exists=before is not None)
            new = apply_ops(old, found.ops)
            # A command that finds its value there is a change too: the value is the person's from then on.
            return None if new == old and found.entry is None else self._with_head(new, intent.at)

        if intent.ops:
            json_document.change_document(path, changed, self.disk, self._guards)
        has_meta = (self.directory / META).exists() or bool(intent.meta["preferences"])
        if not (newer is not None and newer.is_done) and (intent.ops or has_meta):
            json_document.change_document(self.directory / META, found.join_meta, self.disk, self._guards)
        self._log(found.entry)
        outdated = {
            path: one.without(list_removed(intent, path))  # they may be there because a person put them back
            for path, one in beside.learned.items()
            if path in intent.meta_before and path not in found.meta_before
        }
        beside = replace(
            beside,
            learned=outdated | dict(found.learned),
            written=intent.at if intent.ops else beside.written,
            intent=None,
        )
        self._save_memory(beside)
        return beside

    def _log(self, entry: Mapping[str, Any] | None) -> None:
        if entry is not None and encode_record(entry) not in json_document.read_tail(
            self.log.path, disk=self.disk
        ).split(b"\n"):
            self.log.append(entry, sync=True)

    # documents

    def _with_head(self, profile: Json, stamp: str) -> Json:
        """The profile with its head: missing keys are added at the end, `lastUpdated` is set (SPEC P-02 to P-04)."""
        head = {"userId": self.user, "schemaVersion": 1, "lastUpdated": stamp}
        missing = {key: value for key, value in head.items() if key not in profile}
        return profile | missing | {"lastUpdated": stamp}

    def _save_memory(self, beside: ProfileMemory) -> None:
        data = json.dumps(besides.as_data(beside), ensure_ascii=True, separators=(",", ":")).encode()
        replace_file(self._beside, data + b"\n", mode=0o600, disk=self.disk)


_NOTHING = ProfilePlan((), {}, None)
