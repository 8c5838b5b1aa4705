"""The commits of a handler in a real store, for tests that play the engine's part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tacitd.clock import Clock
from tacitd.handler import Commit
from tacitd.store import Store
from tacitd.work.commit_rows import SCHEMA, insert_commit, list_unfolded


class CommitStore:
    """The rows of `adapter_commit` of one handler."""

    def __init__(self, state: Path, plugin: str, clock: Clock) -> None:
        self.state, self.plugin, self.clock = state, plugin, clock

    def _open(self) -> Store:
        self.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Store.open(self.state, self.clock, SCHEMA)

    def append(
        self,
        data: Mapping[str, Any],
        event: str = "TranscriptGrew",
        transcript: str = "",
        session: str = "",
        upto: int = -1,
        at: float | None = None,
    ) -> Commit:
        """Store a commit."""
        commit = Commit(self.clock.now() if at is None else at, event, transcript, session, upto, data)
        store = self._open()
        with store.write() as tx:
            insert_commit(tx, self.plugin, commit)
        store.close()
        return commit

    def read(self) -> list[Commit]:
        """What the handler would be opened with."""
        store = self._open()
        found = list_unfolded(store.rows, self.plugin)
        store.close()
        return found

    def purge(self, texts: Sequence[str]) -> None:
        """Remove these texts from the store, as `tacitd forget --purge` does."""
        store = self._open()
        store.purge_words(texts)
        store.close()

    def replace_text(self, old: str, new: str) -> None:
        """Change the data of all commits."""
        store = self._open()
        with store.write() as tx:
            tx.execute("UPDATE adapter_commit SET data = replace(data, ?, ?)", old, new)
        store.close()

    @property
    def text(self) -> str:
        """The data of all commits."""
        store = self._open()
        rows = store.rows("SELECT data FROM adapter_commit WHERE plugin = ? ORDER BY number", self.plugin)
        store.close()
        return "\n".join(data for (data,) in rows)
