"""Several sources as one: each transcript belongs to the source below whose roots it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tacitd.sources.base import Assembler, ClientUse, HookFormat, SessionClaim, Source
from tacitd.sources.instruction_files import ContextFiles


class CombinedSource:
    """The first source is the one that tacitd itself calls, and whose hooks and files it uses."""

    def __init__(self, first: Source, *others: Source) -> None:
        self._first = first
        self._others = others
        self._tops = [(f"{root}/", one) for one in others for root in one.roots]
        self.roots: Sequence[Path] = [*first.roots, *(Path(top) for top, _ in self._tops)]
        """See `Source`: of all, as they were when this was made."""

    def _of(self, path: str | Path) -> Source:
        text = str(path)
        return next((one for top, one in self._tops if text.startswith(top)), self._first)

    @property
    def name(self) -> str:
        """See `Source`: of the first."""
        return self._first.name

    @property
    def names(self) -> Sequence[str]:
        """See `Source`."""
        return [name for one in (self._first, *self._others) for name in one.names]

    def name_of(self, path: Path) -> str:
        """See `Source`."""
        return self._of(path).name_of(path)

    @property
    def home(self) -> Path:
        """See `Source`: of the first."""
        return self._first.home

    @property
    def context_files(self) -> ContextFiles:
        """See `Source`: of the first."""
        return self._first.context_files

    @property
    def hooks(self) -> HookFormat | None:
        """See `Source`: of the first."""
        return self._first.hooks

    def absent_hint(self, root: Path) -> str:
        """See `Source`."""
        return self._of(f"{root}/").absent_hint(root)

    def why_odd(self, path: str) -> str:
        """See `Source`."""
        return self._of(path).why_odd(path)

    def is_transcript(self, path: str) -> bool:
        """See `Source`."""
        return self._of(path).is_transcript(path)

    def is_subagent(self, path: str) -> bool:
        """See `Source`."""
        return self._of(path).is_subagent(path)

    def session_of_subagent(self, path: Path) -> str | None:
        """See `Source`."""
        return self._of(path).session_of_subagent(path)

    def list_sessions(self) -> set[str]:
        """See `Source`."""
        return self._first.list_sessions().union(*(one.list_sessions() for one in self._others))

    def list_originals(self, path: Path) -> set[str]:
        """See `Source`."""
        return self._of(path).list_originals(path)

    def list_clients(self, since: float) -> Sequence[ClientUse]:
        """See `Source`."""
        return [use for one in (self._first, *self._others) for use in one.list_clients(since)]

    def make_assembler(self, path: Path, start: int = 0, explain: bool = False) -> Assembler:
        """See `Source`."""
        return self._of(path).make_assembler(path, start, explain)

    def read_claims(self) -> Sequence[SessionClaim]:
        """See `Source`."""
        return [claim for one in (self._first, *self._others) for claim in one.read_claims()]
