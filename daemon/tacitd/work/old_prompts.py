"""`tacitd scan`: prompts of old transcripts become rows, because a person asked for them. No position moves.

A prompt that a plugin handled or rejected before is not taken again. One that was passed over, or that is from before the first
start, is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tacitd.clock import Clock
from tacitd.contract import Tx
from tacitd.errors import TacitdError
from tacitd.events import NoProject, Project, Prompt
from tacitd.sources.source import Source
from tacitd.sources.transcript import read_prompts
from tacitd.store import Store
from tacitd.text.redact import redact_secrets
from tacitd.work.project_rows import store_project
from tacitd.work.prompt_rows import NewPrompt, insert_prompt, prompt_id, queue_prompt


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
        taken = 0
        with self.store.write() as tx:
            sessions = set[tuple[str, str]]()
            for prompt in prompts:
                place = places[prompt.cwd]
                if not isinstance(place, Project) or (roots and str(place.root) not in roots):
                    continue
                text, _ = redact_secrets(prompt.text)
                context, _ = redact_secrets(prompt.context)
                number = store_project(tx, place, self.clock.now())
                for name in self.plugins:
                    if self._take(tx, path, prompt, text, context, number, name):
                        taken += 1
                        sessions.add((prompt.session, prompt.cwd))
            if taken:
                tx.execute(
                    "INSERT OR IGNORE INTO transcript(path, source, offset, crc) VALUES(?, ?, 0, 0)",
                    str(path),
                    self.source.name_of(path),
                )
            for session, cwd in sessions:
                tx.execute(
                    "UPDATE transcript SET session = ?, cwd = ? WHERE path = ? AND session = ''",
                    session,
                    cwd,
                    str(path),
                )
        return taken

    def _take(
        self, tx: Tx, path: Path, prompt: Prompt, text: str, context: str, project: int, plugin: str
    ) -> bool:
        now, id = self.clock.now(), prompt_id(prompt)
        known = tx.rows("SELECT number FROM prompt WHERE id = ?", id)
        if not known:
            new = NewPrompt(
                replace(prompt, text=text, context=context),
                self.source.name_of(path),
                str(path),
                project,
                "",
                "scan",
            )
            stored = insert_prompt(tx, new, now)
            if stored is None:
                return False
            queue_prompt(tx, stored.number, [plugin])
            return True
        number = known[0][0]
        if tx.rows("SELECT 1 FROM prompt_task WHERE prompt = ? AND plugin = ?", number, plugin):
            return False
        tx.execute(
            "UPDATE prompt SET text = ?, context = ?, passed = NULL, handled = NULL, project = ?, priority = 'scan', "
            "transcript = ? WHERE number = ?",
            text,
            context,
            project,
            str(path),
            number,
        )
        queue_prompt(tx, number, [plugin])
        return True
