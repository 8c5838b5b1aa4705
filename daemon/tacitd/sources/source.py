"""A source: a client that writes transcripts, and what the engine must know about it.

It says where its transcripts are, how their bytes become records, and which of its clients run a session. The engine, the
plugins and the command line use only this class and the data classes in base.py and events.py. The format of a client belongs in a
folder of its own. registry.py makes the source that is used.

What a source must guarantee:

- Paths are decided by their names alone; no file is opened for that.
- The records of a transcript do not depend on where its bytes were cut into slices.
- Malformed bytes never raise. They are counted and skipped.
- Words that a program wrote, among them tacitd's own model calls, are not prompts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tacitd.sources.assembler import Assembler
from tacitd.sources.base import ClientUse, HookQuestion, OwnCalls, SessionClaim, SessionHint


class Source:
    """A client that writes transcripts. What is not overridden says that the client has no such thing."""

    name = ""
    """The client's name, for a person."""
    hook_program: Path | None = None
    """What the client's hooks run, without any package, with the state directory as its argument; None if it has no hooks."""

    def __init__(self, home: Path, own: OwnCalls | None = None) -> None:
        """`home`: the client's own directory. `own`: the calls of it that are tacitd's."""
        self.home = home
        self.own = own or OwnCalls()

    @property
    def roots(self) -> Sequence[Path]:
        """The directories below which transcripts are. They are watched, and need not exist."""
        raise NotImplementedError

    @property
    def names(self) -> Sequence[str]:
        """The names of all clients whose transcripts it has."""
        return (self.name,)

    def name_of(self, path: str | Path) -> str:
        """The name of the client that writes the transcript with this path."""
        return self.name

    def absent_hint(self, root: str) -> str:
        """What a person can do if this root does not exist; "" if it need not exist."""
        return ""

    def why_odd(self, path: str) -> str:
        """Why a file that is no transcript may have a person's words nevertheless, for a person; "" for any other file. Called for
        every other file of a listing."""
        return ""

    def is_transcript(self, path: str) -> bool:
        """Whether a file with this path is a transcript. Called for every file of a listing."""
        raise NotImplementedError

    def is_subagent(self, path: str) -> bool:
        """Whether the transcript with this path is a sub-agent's: it contains nothing that the person said, and is not read."""
        return False

    def session_of_subagent(self, path: Path) -> str | None:
        """Given a sub-agent's transcript, return the session that it works for; None if the path does not say it."""
        return None

    def list_originals(self, path: Path) -> set[str]:
        """The sessions of which the transcript with this path may be a copy; empty if it has no record yet. Lists its directory."""
        return set()

    def list_clients(self, since: float) -> Sequence[ClientUse]:
        """Which clients wrote the transcripts that changed after `since` (seconds since 1970, UTC), the newest first, as
        far as that is known cheaply. Lists the roots."""
        return ()

    def make_assembler(self, path: Path, start: int = 0, explain: bool = False) -> Assembler:
        """The assembler for a transcript that is read from `start` on. `explain`: verdicts are wanted."""
        raise NotImplementedError

    def read_claims(self) -> Sequence[SessionClaim]:
        """Which processes claim to run which sessions now. A claim may be stale, and a session may have none."""
        return ()

    def read_hint(self, data: Mapping[str, object]) -> SessionHint | None:
        """Given what a hook got from the client, return what it says; None if it is not understood."""
        return None

    def read_question(self, data: Mapping[str, object]) -> HookQuestion | None:
        """Given the same, return what a text is wanted for; None if there is nothing to answer."""
        return None

    def format_answer(self, question: HookQuestion, text: str) -> str:
        """What the hook has to print so that the client puts this text into the session."""
        return text


class CombinedSource(Source):
    """Several sources as one: each transcript belongs to the one below whose roots it is. The first one is the client that tacitd
    itself calls, and whose hooks it uses."""

    def __init__(self, first: Source, *others: Source) -> None:
        super().__init__(first.home, first.own)
        self.name, self.hook_program = first.name, first.hook_program
        self._first = first
        self._all = (first, *others)
        self._tops = [(f"{root}/", one) for one in others for root in one.roots]
        self._roots = [*first.roots, *(Path(top) for top, _ in self._tops)]

    def _of(self, path: str | Path) -> Source:
        text = str(path)
        return next((one for top, one in self._tops if text.startswith(top)), self._first)

    @property
    def roots(self) -> Sequence[Path]:
        """Those of all, as they were when this was made."""
        return self._roots

    @property
    def names(self) -> Sequence[str]:
        return [one.name for one in self._all]

    def name_of(self, path: str | Path) -> str:
        return self._of(path).name

    def absent_hint(self, root: str) -> str:
        return self._of(f"{root}/").absent_hint(root)

    def why_odd(self, path: str) -> str:
        return self._of(path).why_odd(path)

    def is_transcript(self, path: str) -> bool:
        return self._of(path).is_transcript(path)

    def is_subagent(self, path: str) -> bool:
        return self._of(path).is_subagent(path)

    def session_of_subagent(self, path: Path) -> str | None:
        return self._of(path).session_of_subagent(path)

    def list_originals(self, path: Path) -> set[str]:
        return self._of(path).list_originals(path)

    def list_clients(self, since: float) -> Sequence[ClientUse]:
        return [use for one in self._all for use in one.list_clients(since)]

    def make_assembler(self, path: Path, start: int = 0, explain: bool = False) -> Assembler:
        return self._of(path).make_assembler(path, start, explain)

    def read_claims(self) -> Sequence[SessionClaim]:
        return [claim for one in self._all for claim in one.read_claims()]

    def read_hint(self, data: Mapping[str, object]) -> SessionHint | None:
        return self._first.read_hint(data)

    def read_question(self, data: Mapping[str, object]) -> HookQuestion | None:
        return self._first.read_question(data)

    def format_answer(self, question: HookQuestion, text: str) -> str:
        return self._first.format_answer(question, text)
