"""The profile on disk, for those who only read it: commands without a daemon import this, and not what a change needs.

Files that cannot be parsed, or that have another schema version, are not understood (SPEC P-03, P-06).
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Self
from zlib import crc32

from tacitd.clock import Clock, SystemClock, utc_millis
from tacitd.files import json_document
from tacitd.files.disk import Disk, RealDisk
from tacitd.files.log import Log
from tacitd.state.paths import state_dir
from tacitd_handlers.profile import changelog, ownership
from tacitd_handlers.profile import own_writes as besides
from tacitd_handlers.profile import profile_confidence as metas
from tacitd_handlers.profile.dot_paths import Json
from tacitd_handlers.profile.own_writes import ProfileMemory
from tacitd_handlers.profile.ownership import Ownership
from tacitd_handlers.profile.profile_schema import ProfileMetadata, UserProfile, check_document
from tacitd_handlers.shared.user_memory import memory_dir

PROFILE, META, CHANGELOG = "profile.json", "profile-meta.json", "changelog.jsonl"


class ProfileReader:
    """One profile, which is only read."""

    def __init__(
        self, directory: Path, beside: Path, user: str, clock: Clock | None = None, disk: Disk | None = None
    ) -> None:
        """`beside`: the file for the state of `own_writes.py`."""
        self.directory = directory
        self.user = user
        self.clock = clock or SystemClock()
        self.disk = disk or RealDisk()
        self.log = Log(directory / CHANGELOG, self.disk)
        self._beside = beside

    @classmethod
    def from_environ(
        cls, env: Mapping[str, str], clock: Clock | None = None, home: Path | None = None
    ) -> Self:
        """Return the profile of this environment. `home`: the handler's state directory; None takes the default one."""
        directory = memory_dir(env)
        name = f"{crc32(os.fsencode(os.path.realpath(directory))):08x}.json"
        return cls(directory, (home or state_dir(env) / "handlers" / "profile") / name, user_id(env), clock)

    @property
    def waiting_log(self) -> Log:
        """The log of the values that an agent wants to set and that wait for the person."""
        return Log(self._beside.with_suffix(".waiting.jsonl"), self.disk)

    def read_profile(self) -> Json:
        """Return the checked profile, or a new one if there is no file. Raises OSError, NotUnderstoodError."""
        path = self.directory / PROFILE
        found = json_document.read_document(path, self.disk)
        if found is None:
            return self._new_profile()
        return check_document(found, UserProfile, path)

    def read_metadata(self) -> Json:
        """Return the checked meta document, or an empty one if there is no file. Raises OSError, NotUnderstoodError."""
        path = self.directory / META
        found = json_document.read_document(path, self.disk)
        if found is None:
            return metas.new_metadata(self.user, self.clock.now())
        return self._with_defaults(check_document(found, ProfileMetadata, path))

    def find_ownership(self) -> Ownership:
        """Return which values are the person's (SPEC P-17). Raises OSError, NotUnderstoodError."""
        return self.judge_documents(self.read_profile(), self.read_metadata())

    def judge_documents(self, profile: Json, meta: Json) -> Ownership:
        """Return which values of documents that were read already are the person's. Raises OSError."""
        return self._judge(profile, meta, self._read_memory())

    def _judge(
        self,
        profile: Json,
        meta: Json,
        beside: ProfileMemory,
        read_changelog: ownership.ReadChangelog | None = None,
    ) -> Ownership:
        saved, noted = read_saved_time(self.directory / PROFILE), read_saved_time(self.directory / META)
        return ownership.judge_ownership(
            profile,
            meta,
            beside.learned,
            read_changelog or cache(self._read_changelog),
            saved_last=saved is not None and (noted is None or saved > noted),
        )

    def _read_changelog(self) -> list[Json]:
        return changelog.read_entries(self.log.path, disk=self.disk)

    def _new_profile(self) -> Json:
        return {"userId": self.user, "schemaVersion": 1, "lastUpdated": utc_millis(self.clock.now())}

    def _with_defaults(self, meta: Json) -> Json:
        """The meta document with missing keys filled in: a missing lastDecay is now (SPEC P-15)."""
        empty = metas.new_metadata(self.user, self.clock.now())
        return meta | {key: value for key, value in empty.items() if key not in meta}

    def _read_memory(self) -> ProfileMemory:
        try:
            found = json_document.read_document(self._beside, self.disk)
        except json_document.NotUnderstoodError:
            # Without this state, edits by hand count as tacitd's and decay; the profile is intact.
            return ProfileMemory()
        return besides.from_data(found) if found is not None else ProfileMemory()


def user_id(env: Mapping[str, str]) -> str:
    """Return $USER, otherwise the user's name in the password database, otherwise the user's number (SPEC P-02)."""
    if env.get("USER"):
        return env["USER"]
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def read_saved_time(path: Path) -> float | None:
    """When a file was written last: seconds since 1970, UTC; None if it cannot be told."""
    try:
        return path.stat().st_mtime
    except OSError:
        return None
