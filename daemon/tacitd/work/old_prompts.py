"""`tacitd scan`: prompts of old transcripts become rows, because a person asked for them. No position moves.

A prompt that a plugin handled or rejected before is not taken again. One that was passed over, or that is from before the first
start, is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from msgspec import Struct

from tacitd.clock import Clock
from tacitd.contract import Tx
from tacitd.errors import TacitdError
from tacitd.events import NoProject, Project, Prompt
from tacitd.sources.source import Source
from tacitd.sources.transcript import read_prompts
from tacitd.store import Store
from tacitd.work.passing import blank_prompt
from tacitd.work.project_rows import store_project
from tacitd.work.prompt_rows import insert_prompt, queue_prompt


class Scanner(Struct, frozen=True):
    """Reads transcripts from their first byte. For the caller's thread: it may look at projects."""

    store: Store
    source: Source
    find_project: Callable[[str], Project | NoProject]
    clock: Clock
    plugins: Sequence[str]
    """The names of those that ask the model."""

    def scan(self, path: Path, since: float, roots: Collection[str]) -> int:
        """Take the prompts of a transcript that are not older than `since` (seconds since 1970, UTC) and belong to these roots (none:
        all). Returns how many were taken; 0 if it cannot be read. Raises UnwritableError."""
        try:
            prompts = [
                one for one in read_prompts(self.source, path) if one.time is None or one.time >= since
            ]
        except (OSError, TacitdError):
            return 0
        places = {one.cwd: self.find_project(one.cwd) for one in prompts}
        wanted = [
            one
            for one in prompts
            if isinstance(place := places[one.cwd], Project) and (not roots or str(place.root) in roots)
        ]
        taken = 0
        with self.store.write() as tx:
            for prompt in map(blank_prompt, wanted):
                place = places[prompt.cwd]
                assert isinstance(place, Project)
                taken += self._take(tx, path, prompt, store_project(tx, place, self.clock.now()))
        return taken

    def _take(self, tx: Tx, path: Path, prompt: Prompt, project: int) -> int:
        """Queue a prompt for the plugins that did not handle it; return for how many."""
        source, now = self.source.name_of(path), self.clock.now()
        insert_prompt(tx, prompt, source, str(path), project, now, priority="scan")
        found = tx.rows("SELECT number FROM prompt WHERE id = ?", prompt.id)
        if not found:
            return 0  # the same words in the same session are known by another id
        number = found[0][0]
        handling = {name for (name,) in tx.rows("SELECT plugin FROM prompt_task WHERE prompt = ?", number)}
        new = [name for name in self.plugins if name not in handling]
        if new:
            tx.execute(
                "UPDATE prompt SET text = ?, context = ?, passed = NULL, handled = NULL, project = ?, priority = 'scan', "
                "transcript = ? WHERE number = ?",
                *(prompt.text, prompt.context, project, str(path), number),
            )
            tx.execute(
                "INSERT INTO transcript(path, source, offset, crc, session, cwd) VALUES(?, ?, 0, 0, ?, ?) "
                "ON CONFLICT(path) DO UPDATE SET session = excluded.session, cwd = excluded.cwd WHERE session = ''",
                *(str(path), source, prompt.session, prompt.cwd),
            )
            queue_prompt(tx, number, new)
        return len(new)
