"""What hooks of the client tell: a transcript is read now, a session ends soon, or is about to be compacted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from tacitd.sources.base import SessionHint
from tacitd.sources.follow import Follower
from tacitd.sources.sessions import Sessions
from tacitd.sources.source import Source
from tacitd.store import Store
from tacitd.work.task_rows import queue_session_task


class ClientHints:
    """Passes hints on. Loop's thread only."""

    def __init__(
        self,
        store: Store,
        follower: Follower,
        sessions: Sessions,
        source: Source,
        wants_compactions: Sequence[str] = (),
    ) -> None:
        """`wants_compactions`: the plugins that want a task before a compaction."""
        self._store = store
        self._follower = follower
        self._sessions = sessions
        self._source = source
        self._wants_compactions = wants_compactions
        self.compacting: dict[Path, str] = {}
        """The sessions that a client is about to compact, by transcript."""

    def take_inputs(self, inputs: Iterable[Mapping[str, object]]) -> None:
        """An input that is not understood, and a path that is not a transcript of the source, have no effect."""
        for hint in map(self._source.read_hint, inputs):
            if hint is not None:
                self._take_hint(hint)

    def _take_hint(self, hint: SessionHint) -> None:
        if hint.ended:
            self._sessions.note_left(hint.session)
        else:
            self._sessions.note_returned(hint.session)
        path = self._follower.note_hint(hint.transcript)
        if hint.compacts and path is not None:
            self.compacting[path] = hint.session

    def post_compactions(self, is_unread: Callable[[Path], bool], now: float) -> None:
        """Queue the work before a compaction, once its transcript is read. Raises UnwritableError, StoreLostError."""
        for path in [one for one in self.compacting if not is_unread(one)]:
            session = self.compacting.pop(path)
            with self._store.write() as tx:
                for project, root in tx.rows(
                    "SELECT s.project, r.root FROM session s JOIN project r ON r.number = s.project WHERE s.id = ?",
                    session,
                ):
                    queue_session_task(tx, self._wants_compactions, "compaction", session, project, root, now)
