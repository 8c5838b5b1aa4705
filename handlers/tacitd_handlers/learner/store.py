"""The learner's files: read, appended to, edited. What is written and why is decided by the pure modules.

The order is fixed (SPEC L-37): what was said, then the ledger row, each synced; then the profile; then what is
remembered of both. A crash between any two is made good by the next call, whoever makes it. One process at a time
works on them; Claude takes no lock, and its edits win.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from dataclasses import replace as replace_fields
from pathlib import Path

from tacitd.clock import Clock
from tacitd.errors import FileRefusedError
from tacitd.files.disk import Disk, RealDisk, regular
from tacitd.files.locks import private_dir
from tacitd.files.log import Log
from tacitd.files.replaced import UNGUARDED, EditGuards, edit, replace
from tacitd.files.temporary import look as look_at
from tacitd.files.text import append_text
from tacitd_handlers.learner import intents as intent_log
from tacitd_handlers.learner.healing import orphans, unheard
from tacitd_handlers.learner.intents import Intent, given_up
from tacitd_handlers.learner.ledger import Ledger
from tacitd_handlers.learner.ledger_md import HEADER, Key, Row, format_row, newline_of
from tacitd_handlers.learner.notes import Notes
from tacitd_handlers.learner.places import Places
from tacitd_handlers.learner.profile_md import SECTIONS
from tacitd_handlers.learner.reconcile import News, Result, reconcile
from tacitd_handlers.learner.saying import repairs, synced
from tacitd_handlers.learner.state import State, dump, load


@dataclass(slots=True)
class Done:
    """What one look at the two files changed."""

    result: Result | None = None
    """None: nothing was looked at, or others are still writing."""
    healed: list[Row] = field(default_factory=list)
    """Rows that the ledger lacked."""
    completed: list[Row] = field(default_factory=list)
    """Rows that a crash had kept from the ledger."""
    waits: bool = False
    """Somebody wrote a moment ago: it is looked at again later."""


Looked = tuple[int, int, int] | None


class Store:
    """The two files, and tacitd's memory of them. For one thread; other processes are kept out by a lock."""

    def __init__(
        self,
        places: Places,
        clock: Clock,
        *,
        settle: float = 300.0,
        disk: Disk | None = None,
        guards: EditGuards = UNGUARDED,
    ) -> None:
        self.places = places
        self.clock = clock
        self.settle = settle
        self.notes = Notes(places.home, disk)
        self._disk = disk or RealDisk()
        self._guards = guards
        self._intents = Log(places.home / "records.jsonl", disk)
        self._seen: tuple[Looked, Looked] | None = None
        self._state_file = places.home / "state.json"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Wait for other processes of ours. Raises OSError."""
        private_dir(self.places.home, self._disk)
        fd = self._disk.open_append(self.places.home / "lock", 0o600)
        try:
            self._disk.lock(fd, wait=True)
            yield
        finally:
            self._disk.close(fd)

    def close(self) -> None:
        """Give the logs' descriptors back. Raises OSError."""
        self._intents.close()
        self.notes.close()

    # reading

    def ledger(self, before: Ledger | None = None) -> Ledger:
        """The ledger; empty where there is none. With `before`, which is not older than a moment, only what was added
        since is read. Raises OSError, FileRefusedError."""
        target = self._disk.resolve(self.places.ledger)
        try:
            if not regular(self._disk.stat(target)):
                raise FileRefusedError(f"{target} is not an ordinary file", "move it away")
            fd = self._disk.open_read(target)
        except FileNotFoundError:
            return Ledger()
        try:
            if before is not None and self._disk.fstat(fd).st_size >= len(before):
                return before.grown(self._read(fd, len(before)))
            return Ledger(self._read(fd, 0))
        finally:
            self._disk.close(fd)

    def _read(self, fd: int, offset: int) -> bytes:
        """From an offset to the end, in one piece where the kernel gives it so."""
        data = self._disk.pread(fd, max(0, self._disk.fstat(fd).st_size - offset), offset)
        while more := self._disk.pread(fd, 1 << 16, offset + len(data)):
            data += more
        return data

    def profile(self) -> bytes | None:
        """The profile's bytes. Raises OSError, FileRefusedError."""
        seen = look_at(self._disk.resolve(self.places.profile), self._disk)
        return seen.data if seen is not None else None

    def state(self) -> State:
        """What is remembered; nothing where the file is missing or damaged."""
        return load(self._state_bytes()) or State()

    def intents(self) -> dict[Key, Intent]:
        """What was said of rows that `record` wrote."""
        return intent_log.fold(self._intents.read())

    def _state_bytes(self) -> bytes:
        seen = look_at(self._state_file, self._disk)
        return seen.data if seen is not None else b""

    # writing

    def check_editable(self) -> None:
        """Raise FileBusyError while somebody edits the ledger or the profile."""
        busy = self._guards.busy
        if busy is None:
            return
        for path in (self.places.ledger, self.places.profile):
            target = self._disk.resolve(path)
            try:
                seen = self._disk.stat(target)
            except FileNotFoundError:
                seen = None
            busy.check(target, seen)

    def add(self, intent: Intent, ledger: Ledger, *, whole: bool) -> Result:
        """Record one problem: the ledger, then the profile. `ledger` is what the row was planned with; `whole`: all of
        it is known already.

        Call with the lock held. Raises OSError, FileRefusedError; where that concerns the profile, the row stands in
        the ledger and the profile follows later.
        """
        self.check_editable()
        self._intents.append(intent.as_record(self.clock.now()), sync=True)
        try:
            self.append([intent.row], ledger)
        except (OSError, FileRefusedError):
            self._give_up(intent)
            raise
        now, own = self.ledger(ledger), {intent.row.key: intent}
        alone = whole and now.data.endswith(added([intent.row], ledger))
        alone = alone and len(now) == len(ledger) + len(added([intent.row], ledger))
        return self._together(News(now, own if alone else {**self.intents(), **own}, settled=False))

    def again(self, ledger: Ledger | None = None) -> Result:
        """Bring the two together as far as what `record` wrote is concerned. Call with the lock held."""
        return self._together(News(ledger or self.ledger(), self.intents(), settled=False))

    def append(self, rows: Sequence[Row], ledger: Ledger) -> None:
        """Add rows at the ledger's end, in one write; durable when this returns (SPEC L-37, L-54)."""
        end = newline_of(ledger.data)
        text = b"".join(format_row(row).encode() + end for row in rows)
        append_text(self.places.ledger, text, begin=HEADER, newline=end, disk=self._disk)
        if self._guards.busy is not None:
            target = self._disk.resolve(self.places.ledger)
            self._guards.busy.note_written(target, self._disk.stat(target))

    def finish(self) -> list[Row]:
        """Write the rows that a crash kept from the ledger (SPEC L-37). Call with the lock held. Raises as `add` does.

        A row that was there once, and that a person took out, is none of them.
        """
        cut_off = self._unfinished()
        if not cut_off:
            return []
        ledger = self.ledger()
        rows = orphans(cut_off, ledger)
        if rows:
            self.append(rows, ledger)
        return rows

    def _unfinished(self) -> dict[Key, Intent]:
        """What was said after the last time that all was well."""
        remembered = load(self._state_bytes())
        if remembered is not None and remembered.records == self._intents.size:
            return {}
        if remembered is None:
            return dict(list(self.intents().items())[-1:])  # the first of all, or the memory was lost
        fd = self._disk.open_read(self._intents.path)
        try:
            tail = self._read(fd, min(remembered.records, self._intents.size))
        finally:
            self._disk.close(fd)
        return intent_log.fold(intent_log.records(tail))

    def _give_up(self, intent: Intent) -> None:
        """The caller is told that it failed, so it must not happen later; unless it did happen after all."""
        if self.ledger().row(intent.row.key) is None:
            self._intents.append(given_up(intent.row, self.clock.now()), sync=True)

    def look(self, *, force: bool = False, first: bool = False) -> Done:
        """Compare the two files, and make good what is missing (SPEC L-37, L-38). Call with the lock held.

        `force`: a person asks, so nobody is waited for. `first`: the daemon starts, so rows that a crash kept from the
        ledger are written. Raises OSError, FileRefusedError, and FileBusyError where somebody edits one of them.
        """
        seen = (self._looked(self.places.profile), self._looked(self.places.ledger))
        if seen == self._seen and not force and not first:
            return Done()
        if not force:
            self.check_editable()
        done = Done()
        known = self.intents() if force or first else {}
        done.completed = self.finish()
        if seen == (None, None) and not done.completed:
            self._seen = seen
            return done
        settled = force or self._settled(seen)
        if settled:
            profile = self.profile()  # before the ledger: who writes both begins with the ledger
            ledger = self.ledger()
            done.healed = unheard(profile, ledger, self.state().folded.newest)
            if done.healed:
                self.append(done.healed, ledger)
        elif not self._only_ours(known):
            done.waits = True
            return done
        done.result = self._together(News(self.ledger(), known or self.intents(), settled=settled))
        self.say(synced(row.stamp for row in done.healed))
        if settled:
            self._seen = (self._looked(self.places.profile), self._looked(self.places.ledger))
        return done

    def behind(self) -> int:
        """Bytes of the ledger that are not taken in yet; 0 where that cannot be said: `look` says why."""
        seen = self._looked(self.places.ledger)
        try:
            return max(0, (seen[1] if seen is not None else 0) - self.state().size)
        except (OSError, FileRefusedError):
            return 0

    def _only_ours(self, known: Mapping[Key, Intent]) -> bool:
        """Whether every row that is not taken in yet was written by `record`: then nobody else is at it."""
        ledger, state = self.ledger(), self.state()
        fresh = ledger.rows(state.size).rows if len(ledger) > state.size else []
        ours = known or self.intents()
        return bool(fresh) and all(row.key in ours for row in fresh)

    def _settled(self, seen: tuple[Looked, Looked]) -> bool:
        """Whether nobody wrote for a while. A file from the future counts as old: a clock was set back."""
        ages = [self.clock.now() - one[0] / 1e9 for one in seen if one is not None]
        return all(age >= self.settle or age < -60.0 for age in ages)

    def _looked(self, path: Path) -> Looked:
        try:
            found = self._disk.stat(self._disk.resolve(path))
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _together(self, news: News) -> Result:
        """The profile as it should be, then what is remembered of it."""
        remembered = self._state_bytes()
        restored = self.notes.known().restored
        news = replace_fields(news, restored=frozenset(restored))
        results: list[Result] = []

        def change(data: bytes | None) -> bytes | None:
            results[:] = [reconcile(data, load(remembered) or State(), news)]
            return results[0].data

        new = self._looked(self.places.profile) is None
        fresh = (load(remembered) or State()).fresh if new else False
        edit(self.places.profile, change, mode=0o600 if new else None, disk=self._disk, guards=self._guards)
        result = results[0]
        if new and result.data is not None and not fresh:
            result.repaired = list(SECTIONS)
        if restored:
            self.notes.restored((), self.clock.now())
        self._remember(result, remembered)
        return result

    def _remember(self, result: Result, before: bytes) -> None:
        if result.line_moved:
            self.notes.cap(result.state.seats.pending, self.clock.now())
            self.notes.flush()
        self.say(repairs(result.repaired))
        result.state.records = self._intents.size
        data = dump(result.state)
        if data != before:
            replace(self._state_file, data, mode=0o600, disk=self._disk)

    def say(self, lines: Iterable[str]) -> None:
        """Tell these lines at the next session start. Durable when this returns."""
        lines = list(lines)
        if lines:
            self.notes.say(lines, self.clock.now())
            self.notes.flush()

    def change(self, state: State) -> None:
        """Remember something that a person asked for. Call with the lock held."""
        replace(self._state_file, dump(state), mode=0o600, disk=self._disk)


def added(rows: Sequence[Row], ledger: Ledger) -> bytes:
    """What `append` adds to these bytes (SPEC L-54)."""
    end = newline_of(ledger.data)
    begin = HEADER if not ledger.data else b"" if ledger.data.endswith(b"\n") else end
    return begin + b"".join(format_row(row).encode() + end for row in rows)
