"""Installing the hooks of a client: tacitd's entries in its settings file, and the program that they run.

The entries are optional: they make tacitd faster, and nothing depends on them. A settings file is changed only where our
entries are, saved before in the state directory, and left alone if it is not understood. The program is a copy in the
state directory, run by the interpreter itself, so the entries do no harm after the package is removed: then they do
nothing and exit with 0. What the entries look like is in sources/.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from tacitd.clock import Clock, utc_seconds
from tacitd.errors import FileRefusedError
from tacitd.files.disk import Disk, RealDisk
from tacitd.files.json_document import retry_while_busy
from tacitd.files.locks import make_private_dir
from tacitd.files.log import Log
from tacitd.files.replaced import edit_file, replace_file
from tacitd.files.temporary import read_snapshot
from tacitd.files.write_checks import refuse_unwritable
from tacitd.sources.base import HookEntry, HookFormat
from tacitd.state.hook_files import HOOKS_DIR, write_hook_program
from tacitd.state.paths import Paths

BACKUPS = "backups"
KEPT_COPIES = 10
"""How many copies of settings files are kept, the newest ones."""


class HooksReport(Struct, frozen=True):
    """The hooks in one settings file."""

    settings: Path
    entries: tuple[HookEntry, ...]
    changed: bool = False
    backup: Path | None = None
    """The copy of the file as it was before it was changed."""
    stale: bool = False
    """Whether an entry runs something else than the installed program, or the program is missing."""
    possible: tuple[str, ...] = ()
    """Events for which there is no entry, and that the clients in use could have."""
    harmful: tuple[str, ...] = ()
    """Events with an entry which a client in use does not know, so that it ignores the whole file."""


class HookInstaller:
    """Installs, removes and lists the hooks of one client for the paths of this environment."""

    def __init__(self, hooks: HookFormat, paths: Paths, clock: Clock, disk: Disk | None = None) -> None:
        self._hooks = hooks
        self._paths = paths
        self._clock = clock
        self._disk = disk or RealDisk()
        self._home = paths.state_dir / HOOKS_DIR
        self.program = self._home / hooks.program_name
        self._log = Log(self._home / "installed.jsonl", disk)

    def find_settings(self, project: Path | None) -> Path:
        """The settings file of the person, or the person's own one in a project."""
        return self._hooks.find_settings(self._paths.config_dir, project)

    def find_plugin(self, project: Path | None = None) -> Path | None:
        """The settings file that enables tacitd's plugin: the person's, or their own one of the project; None if none does."""
        files = dict.fromkeys((self.find_settings(None), self.find_settings(project)))
        return next((file for file in files if self._enables_plugin(file)), None)

    def install(self, project: Path | None = None, versions: Sequence[str] = ()) -> HooksReport:
        """Copy the program and add the entries for all events that these clients know. Doing it again changes nothing.

        Raises OSError, FileRefusedError if the settings are not understood or enable the plugin, which has the same hooks,
        FileBusyError if an editor has them open.
        """
        settings = self.find_settings(project)
        refuse_plugin(self.find_plugin(project), "hooks")
        write_hook_program(self._paths.state_dir, self._hooks.program, self._hooks.program_name, self._disk)
        created = not os.path.lexists(settings)
        self._log.append(
            {"settings": str(settings), "created": created, "at": utc_seconds(self._clock.now())}, sync=True
        )
        command = make_command(self.program, self._paths.socket)
        events = self._hooks.choose_events(versions)
        return self._change(
            settings, lambda text: self._hooks.add_entries(text, command, events), create=True
        )

    def remove(self, project: Path | None = None) -> HooksReport:
        """Take our entries out. A file that only we made, and that has nothing else, is removed. Raises as `install`."""
        return self._remove_from(self.find_settings(project))

    def remove_all(self) -> Iterator[str]:
        """Take our entries out of every settings file that they were added to, and yield a line for each.

        A file that is not understood is named and left, and so is the plugin. Raises OSError.
        """
        every = {Path(str(record["settings"])) for record in self._log.read() if record.get("settings")}
        for settings in sorted(every):
            try:
                if self._remove_from(settings).changed:
                    yield f"removed the hooks from {settings}"
            except FileRefusedError as error:
                yield f"kept the hooks in {settings}: {error.what}; they do nothing any more"
        if self.find_plugin() is not None:
            yield "kept the plugin in Claude Code: `claude plugin uninstall tacitd@tacitd` removes it"

    def inspect(self, project: Path | None = None, versions: Sequence[str] = ()) -> HooksReport:
        """The entries that are in the settings file, which these clients read.

        Raises OSError, FileRefusedError if it is not understood.
        """
        settings = self.find_settings(project)
        seen = self._read(settings)
        entries = tuple(self._hooks.list_entries(_decode(seen))) if seen is not None else ()
        wanted = make_command(self.program, self._paths.socket)
        stale = bool(entries) and (
            not self.program.exists() or any(entry.command != wanted for entry in entries)
        )
        ours, known = [entry.event for entry in entries], self._hooks.choose_events(versions)
        return HooksReport(
            settings,
            entries,
            stale=stale,
            possible=tuple(event for event in known if entries and event not in ours),
            harmful=tuple(event for event in ours if event not in known),
        )

    def _enables_plugin(self, settings: Path) -> bool:
        try:
            seen = self._read(settings)
        except (OSError, FileRefusedError):
            return False
        return seen is not None and self._hooks.has_plugin(seen.decode("utf-8", "replace"))

    def _was_created(self, settings: Path) -> bool:
        """Whether the file did not exist before our first entry."""
        first = next((one for one in self._log.read() if one.get("settings") == str(settings)), None)
        return first is not None and first.get("created") is True

    def _change(self, settings: Path, make: Callable[[str], str], *, create: bool = False) -> HooksReport:
        """Change the settings file with a function of its text; a missing one is only made with `create`.

        Raises OSError, FileRefusedError, also for a read-only file.
        """

        def change(data: bytes | None) -> bytes | None:
            if data is None and not create:
                return None
            return make("{}\n" if data is None else _decode(data)).encode()

        seen = self._read(settings)
        is_changing = seen is not None and change(seen) not in (None, seen)
        if is_changing:
            refuse_unwritable(self._disk.resolve(settings), self._disk)
        backup = self._back_up(settings, seen) if seen is not None and is_changing else None
        changed = retry_while_busy(lambda: edit_file(settings, change, disk=self._disk))
        now = self._read(settings)
        entries = tuple(self._hooks.list_entries(_decode(now))) if now is not None else ()
        return HooksReport(settings, entries, changed, backup)

    def _remove_from(self, settings: Path) -> HooksReport:
        report = self._change(settings, self._hooks.remove_entries)
        if (
            report.changed
            and self._was_created(settings)
            and (self._read(settings) or b"").split() == [b"{}"]
        ):
            self._disk.unlink(settings)
        return report

    def _read(self, settings: Path) -> bytes | None:
        seen = read_snapshot(self._disk.resolve(settings), self._disk)
        return None if seen is None else seen.data

    def _back_up(self, settings: Path, data: bytes) -> Path:
        """Save the file as it is before it is changed, and drop the oldest copies."""
        stamp = utc_seconds(self._clock.now()).replace("-", "").replace(":", "")
        directory = make_private_dir(self._home / BACKUPS, self._disk)
        number = len([name for name in self._disk.names(directory) if name.startswith(stamp)])
        copy = directory / f"{stamp}-{number}-{settings.name}"
        replace_file(copy, data, mode=0o600, disk=self._disk)
        for name in sorted(self._disk.names(directory))[:-KEPT_COPIES]:
            self._disk.unlink(directory / name)
        return copy


def refuse_plugin(settings: Path | None, what: str) -> None:
    """Raises FileRefusedError if the plugin is enabled: with both, everything would be done twice. `what`: "hooks"."""
    if settings is not None:
        raise FileRefusedError(
            f"the plugin of tacitd, which {settings} enables, brings the same {what}",
            "keep the plugin, or remove it first: `claude plugin uninstall tacitd@tacitd`",
        )


def make_command(program: Path, socket: Path, interpreter: str = sys.executable) -> str:
    """The shell command of an entry.

    The interpreter outside the virtual environment runs it, without `site`, which takes most of the time to start.

    Trigger: the interpreter or the program is gone. Why: Python exits with 2 for a missing file, and Claude Code takes 2
    from UserPromptSubmit for "block this prompt". Outcome: the command always exits with 0.
    """
    python = os.path.realpath(interpreter)
    words = [python, "-I", "-S", str(program), str(socket)]
    return f"{shlex.join(words)} 2>/dev/null || true"


def _decode(data: bytes) -> str:
    """Raises FileRefusedError if the settings are not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileRefusedError(f"the settings are not UTF-8: {error}", "correct the file by hand") from None
