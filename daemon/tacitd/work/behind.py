"""Observers that raised: their records are given to them again, until they can fold them.

While a row of `behind` stands, its plugin gets nothing newer of that transcript. A fault in a plugin so costs it time, and
never a record.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from tacitd.clock import Clock
from tacitd.contract import Batch, StoredPrompt, Tx
from tacitd.events import NoProject, Project, Record
from tacitd.sources.base import Source
from tacitd.sources.transcript import read_records
from tacitd.store import Store, savepoint
from tacitd.work.lookup import ProjectLookup
from tacitd.work.passing import blank_record, split_passed
from tacitd.work.project_rows import read_choices, store_project
from tacitd.work.prompt_rows import COLUMNS, prompt_id, prompt_of
from tacitd.work.reader import Observer, note_behind

PART = 1 << 20
"""Bytes that one pass gives again, about."""
AT_ONCE = 4
"""Rows of `behind` that one pass goes on with."""


class BehindReader:
    """Reads again what observers could not fold. Use it from the loop's thread."""

    def __init__(
        self,
        store: Store,
        source: Source,
        lookup: ProjectLookup,
        observers: Sequence[Observer],
        clock: Clock,
        default_mode: str = "local",
    ) -> None:
        self._store = store
        self._source = source
        self._lookup = lookup
        self._observers = {each.name: each for each in observers}
        self._clock = clock
        self._default_mode = default_mode
        self._is_after_pause = False
        """Whether the records before the next ones end in a pause."""

    def read(self) -> None:
        """Go on with rows that are due, one bounded part for each. Raises UnwritableError, StoreLostError."""
        names = [name for name, one in self._observers.items() if one.observe is not None]
        marks = ", ".join("?" * len(names))
        for plugin, path, start, upto in self._store.rows(
            "SELECT b.plugin, b.transcript, b.offset, t.offset FROM behind b "
            f"JOIN transcript t ON t.path = b.transcript WHERE b.due <= ? AND b.plugin IN ({marks}) ORDER BY b.due LIMIT ?",
            self._clock.now(),
            *names,
            AT_ONCE,
        ):
            self._give_part(self._observers[plugin], Path(path), start, upto)

    def _give_part(self, observer: Observer, path: Path, start: int, upto: int) -> None:
        end, records = start, list[Record]()
        while end < upto and not records:
            end = min(upto, end + PART)
            records = read_records(self._source, path, start, end)
        reached = end if end == upto or not records else records[-1].end
        runs = list[tuple[Project | NoProject, tuple[Record, ...]]]()
        for cwd, some in groupby(records, key=lambda record: record.cwd):
            place = self._lookup.find_project(cwd) if cwd else NoProject("", "no directory is named")
            if place is None:
                return
            runs.append((place, tuple(blank_record(one) for one in some)))
        self._is_after_pause = False
        with self._store.write() as tx:
            for place, run in runs:
                if not self._give_run(tx, observer, path, place, run):
                    return
            tx.execute(
                "UPDATE behind SET offset = ?, due = ? WHERE plugin = ? AND transcript = ?",
                reached,
                self._clock.now(),
                observer.name,
                str(path),
            )
            tx.execute(
                "DELETE FROM behind WHERE plugin = ? AND transcript = ? "
                "AND offset >= (SELECT offset FROM transcript WHERE path = ?)",
                observer.name,
                str(path),
                str(path),
            )

    def _give_run(
        self, tx: Tx, observer: Observer, path: Path, place: Project | NoProject, run: Sequence[Record]
    ) -> bool:
        """Give records of one project to an observer; return whether it folded them."""
        now = self._clock.now()
        ((session, lines),) = tx.rows("SELECT session, lines FROM transcript WHERE path = ?", str(path))
        number = store_project(tx, place, now) if isinstance(place, Project) else None
        choices = read_choices(tx.rows, self._default_mode, now)
        assert observer.observe is not None
        for part in split_passed(tx, run, choices, place, session, self._is_after_pause):
            self._is_after_pause = part.ends_paused
            batch = Batch(
                path,
                self._source.name_of(path),
                session,
                place,
                number,
                part.records[0].cwd,
                part.records,
                part.records[0].start,
                part.records[-1].end,
                lines,
                _find_prompts(tx, path, part.records),
                part.passed,
                now,
            )
            with savepoint(tx) as attempt:
                observer.observe(batch, tx)
            if attempt.error is not None:
                note_behind(tx, observer.name, path, batch.start, attempt.error, now)
                return False
        return True


def _find_prompts(tx: Tx, path: Path, records: Sequence[Record]) -> tuple[StoredPrompt, ...]:
    """Those of the records' prompts that were new in this transcript, and whose text was kept."""
    return tuple(
        prompt_of(row)
        for record in records
        for prompt in record.prompts
        for row in tx.rows(
            f"SELECT {COLUMNS} FROM prompt p WHERE p.id = ? AND p.transcript = ? AND p.text IS NOT NULL",
            prompt_id(prompt),
            str(path),
        )
    )
