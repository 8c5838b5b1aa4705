"""The person's rules file on disk: `rules/tacitd.md` in Claude Code's directory, and what tacitd remembers of it.

Claude Code loads it in every directory (observed from 2.0.76 to 2.1.328). What tacitd wrote into it is kept in the handler's
state directory; before each write, the new text is kept there too, so that after a crash no line of tacitd's is taken for a
person's, and no missing line for a deleted one. What is written belongs to `rules_plan`.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Literal
from zlib import crc32

from msgspec.structs import replace

from tacitd.errors import FileRefusedError
from tacitd.files import git
from tacitd.files.disk import Disk, RealDisk
from tacitd.files.rename import remove_files
from tacitd.files.replaced import UNGUARDED, EditGuards, edit_file, replace_file
from tacitd.files.temporary import read_snapshot
from tacitd.files.write_checks import refuse_unwritable
from tacitd.handler import Footprint
from tacitd.state.paths import config_dir, state_dir
from tacitd_handlers.reach.rule_files import USER_RULES
from tacitd_handlers.reach.rules_merge import (
    GeneratedText,
    RulesMemory,
    find_deleted,
    merge_lines,
    parse_file,
)
from tacitd_handlers.reach.rules_plan import has_only_generated
from tacitd_handlers.reach.rules_text import RuleLine

LARGEST = 1 << 20
"""Bytes. A longer file was not made by tacitd."""


class UserRulesFile:
    """The file, and tacitd's memory of it. For one thread."""

    def __init__(
        self, client_home: Path, home: Path, guards: EditGuards = UNGUARDED, disk: Disk | None = None
    ) -> None:
        """`client_home`: Claude Code's directory. `home`: the handler's state directory."""
        self.path = client_home / USER_RULES
        self._memory_file = home / _memory_name(self.path)
        self._guards = guards
        self._disk = disk or RealDisk()
        self.memory = _read_memory(self._memory_file, self._disk)

    def check_place(self) -> None:
        """Raise FileRefusedError if something else is in the file's place, or it cannot be written."""
        rules = self.path.parent
        if os.path.lexists(rules) and not rules.is_dir():
            raise FileRefusedError(f"{rules} is not a directory", "move it away")
        if rules.is_dir() and not os.access(rules, os.W_OK | os.X_OK):
            raise FileRefusedError(f"{rules} is read-only", f"chmod u+w {rules}")
        try:
            found = self.path.lstat()
        except FileNotFoundError:
            return
        if not stat.S_ISREG(found.st_mode):
            what = "a link" if stat.S_ISLNK(found.st_mode) else "not a regular file"
            raise FileRefusedError(f"{self.path} is {what}", "move it away")
        if found.st_uid != os.geteuid():
            raise FileRefusedError(f"{self.path} belongs to another user", "move it away")
        if found.st_size > LARGEST:
            raise FileRefusedError(f"{self.path} is longer than 1 MB", "move it away")
        refuse_unwritable(self.path, self._disk)

    def find_work_tree(self) -> Path | None:
        """The git work tree that the file is or would be in; None if it is in none."""
        existing = next(one for one in (self.path.parent, *self.path.parents) if one.is_dir())
        found = git.find_repository(Path(os.path.realpath(existing)))
        return found.here if found is not None else None

    def read_bytes(self) -> bytes | None:
        """The file's bytes; None if there is no file. Raises OSError, FileRefusedError."""
        seen = read_snapshot(self.path, self._disk)
        return seen.data if seen is not None else None

    def find_git_doubt(self) -> Literal["merging", "tracked"] | None:
        """Why git may have changed the file: an operation of git's is under way, or it is tracked; None if it cannot have."""
        top = self.find_work_tree()
        if top is None:
            return None
        if git.in_progress(top):
            return "merging"
        return "tracked" if git.is_tracked(top, self.path) else None

    def write_text(
        self,
        known: RulesMemory,
        text: GeneratedText,
        seen: bytes | None,
        now: float,
        handled: Collection[tuple[str, str]] = (),
    ) -> bool:
        """Write the text with the person's lines in it. Return False if a line was deleted meanwhile: nothing was written.

        `known`: what is known of the file. `seen`: the bytes that the text was made for. `handled`: keys of rules whose
        deletion is handled. Raises OSError, FileRefusedError,
        and FileBusyError if the file is being edited.
        """
        both = replace(known, pending=text)
        self._save_memory(both)
        deleted_meanwhile = False

        def change(before: bytes | None) -> bytes | None:
            nonlocal deleted_meanwhile
            current = parse_file(before or b"")
            if before != seen and before and find_deleted(known, current, handled):
                deleted_meanwhile = True
                return None
            # A file that was saved since may be of either text.
            return current.encode_lines(merge_lines(known if before == seen else both, current, text.lines))

        mode = 0o600 if seen is None else None
        edit_file(self.path, change, mode=mode, disk=self._disk, guards=self._guards)
        if deleted_meanwhile:
            self._save_memory(known)
            return False
        self._save_memory(RulesMemory(text, None, now))
        return True

    def remove_file(self, seen: bytes) -> None:
        """Remove the file if its bytes are `seen`, and forget it. Raises OSError, FileRefusedError."""
        if self.read_bytes() == seen:
            remove_files([self.path], self._disk)
            self.forget_file()

    def forget_file(self) -> None:
        """Forget what was written. Raises OSError."""
        if self.memory != RulesMemory():
            remove_files([self._memory_file], self._disk)
            self.memory = RulesMemory()

    def _save_memory(self, memory: RulesMemory) -> None:
        data = json.dumps(_as_data(memory), ensure_ascii=False).encode("utf-8", "replace")
        replace_file(self._memory_file, data + b"\n", mode=0o600, disk=self._disk)
        self.memory = memory


def rules_footprint(environ: Mapping[str, str]) -> Footprint:
    """The rules file, for `uninstall`: removed if its whole text is tacitd's, otherwise kept and named."""
    path, disk = config_dir(environ) / USER_RULES, RealDisk()
    memory = _read_memory(state_dir(environ) / "handlers" / "reach" / _memory_name(path), disk)
    if path.is_symlink() or not path.is_file():
        return Footprint(places=[path.parent])
    seen = read_snapshot(path, disk)
    if seen is not None and has_only_generated(seen.data, memory):
        return Footprint(places=[path.parent], copies=[path])
    why = "it has lines that tacitd did not write, or is not tacitd's"
    return Footprint(edited_copies=[path], places=[path.parent], reasons={path: why})


def _memory_name(path: Path) -> str:
    """The name of the memory's file: one for each rules file, whatever `CLAUDE_CONFIG_DIR` was."""
    return f"{crc32(os.fsencode(os.path.realpath(path.parent.parent))):08x}.json"


def _as_data(memory: RulesMemory) -> dict[str, Any]:
    def text(one: GeneratedText) -> dict[str, Any]:
        rows = [[line.plugin, line.id, line.text, line.by_person] for line in one.rules]
        return {"lines": list(one.lines), "rules": rows}

    pending = text(memory.pending) if memory.pending is not None else None
    return {"schema": 1, "at": memory.at, "written": text(memory.written), "pending": pending}


def _read_memory(file: Path, disk: Disk) -> RulesMemory:
    """Read the memory. A missing or damaged file is an empty one: then no line counts as deleted."""
    try:
        seen = read_snapshot(file, disk)
        if seen is None:
            return RulesMemory()
        data = json.loads(seen.data)
        pending = _read_text(data["pending"]) if data["pending"] is not None else None
        return RulesMemory(_read_text(data["written"]), pending, float(data["at"]))
    except (OSError, FileRefusedError, ValueError, KeyError, TypeError, IndexError):
        return RulesMemory()


def _read_text(data: Mapping[str, Any]) -> GeneratedText:
    rules = tuple(RuleLine(str(row[0]), str(row[1]), str(row[2]), bool(row[3])) for row in data["rules"])
    return GeneratedText(tuple(map(str, data["lines"])), rules)
