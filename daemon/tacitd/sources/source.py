"""A source: a client that writes transcripts, and what the engine must know about it.

The engine, the plugins and the command line use only this class and the data classes here and in events.py. The format of a client
belongs in a folder of its own. registry.py makes the source that is used.

What a source must guarantee: paths are decided by their names alone, and no file is opened for that; the records of a transcript do
not depend on where its bytes were cut; malformed bytes never raise, but are counted and skipped; words that a program wrote, among
them tacitd's own model calls, are not prompts.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from tacitd.events import Prompt, PromptKind

if TYPE_CHECKING:
    from tacitd.sources.assembler import Assembler


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
        """Of all clients whose transcripts it has."""
        return (self.name,)

    def name_of(self, path: str | Path) -> str:
        """The name of the client that writes the transcript with this path."""
        return self.name

    def absent_hint(self, root: str) -> str:
        """What a person can do if this root does not exist; "" if it need not exist."""
        return ""

    def of(self, path: str | Path) -> Source:
        """The source to which a path below one of the roots belongs."""
        return self

    def why_odd(self, path: str) -> str:
        """Why a file that is no transcript may have a person's words nevertheless; "" for any other file."""
        return ""

    def is_transcript(self, path: str) -> bool:
        raise NotImplementedError

    def is_subagent(self, path: str) -> bool:
        """Whether it is a sub-agent's: it contains nothing that the person said, and is not read."""
        return False

    def session_of_subagent(self, path: Path) -> str | None:
        """Given a sub-agent's transcript, return the session that it works for; None if the path does not say it."""
        return None

    def make_assembler(self, path: Path, start: int = 0, explain: bool = False) -> Assembler:
        """The assembler for a transcript that is read from `start` on. `explain`: verdicts are wanted."""
        raise NotImplementedError

    def read_claims(self) -> Sequence[SessionClaim]:
        """Which processes claim to run which sessions now. A claim may be stale, and a session may have none."""
        return ()

    def makes_claims(self, path: Path) -> bool:
        """Whether the client that wrote this transcript last claims the sessions that it runs: one that is in no claim has been
        left then."""
        return False

    def read_hook(self, data: Mapping[str, object]) -> HookInput | None:
        """Given what a hook got from the client, return what it says; None if it is not understood."""
        return None

    def format_answer(self, hook: HookInput, text: str) -> str:
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
        self._other_tops = tuple(top for top, _ in self._tops)
        self._roots = [*first.roots, *(Path(top) for top in self._other_tops)]

    def of(self, path: str | Path) -> Source:
        text = str(path)
        if not text.startswith(self._other_tops):  # almost always, and it is asked for each transcript
            return self._first
        return next(one for top, one in self._tops if text.startswith(top))

    @property
    def roots(self) -> Sequence[Path]:
        return self._roots

    @property
    def names(self) -> Sequence[str]:
        return [one.name for one in self._all]

    def name_of(self, path: str | Path) -> str:
        return self.of(path).name

    def absent_hint(self, root: str) -> str:
        return self.of(f"{root}/").absent_hint(root)

    def why_odd(self, path: str) -> str:
        return self.of(path).why_odd(path)

    def is_transcript(self, path: str) -> bool:
        return self.of(path).is_transcript(path)

    def is_subagent(self, path: str) -> bool:
        return self.of(path).is_subagent(path)

    def session_of_subagent(self, path: Path) -> str | None:
        return self.of(path).session_of_subagent(path)

    def make_assembler(self, path: Path, start: int = 0, explain: bool = False) -> Assembler:
        return self.of(path).make_assembler(path, start, explain)

    def read_claims(self) -> Sequence[SessionClaim]:
        return [claim for one in self._all for claim in one.read_claims()]

    def makes_claims(self, path: Path) -> bool:
        return self.of(path).makes_claims(path)

    def read_hook(self, data: Mapping[str, object]) -> HookInput | None:
        return self._first.read_hook(data)

    def format_answer(self, hook: HookInput, text: str) -> str:
        return self._first.format_answer(hook, text)


# --- What a source says of its transcripts, its sessions and its clients, beside the records of events.py.


class OwnCalls(Struct, frozen=True):
    """What identifies the daemon's own calls of the client (S-60, S-61). Each of these is enough alone."""

    cwd: str = ""
    """The private directory that its calls run in; "" for none."""
    sentinel: str = ""
    """The beginning of all its prompts; "" for none."""
    sessions: Container[str] = field(default_factory=frozenset)
    """Its own session ids; may be a set that grows."""

    def is_own_record(self, session: str, cwd: str) -> bool:
        """Whether a record of this session, from this directory, is the daemon's own."""
        if session and session in self.sessions:
            return True
        return bool(self.cwd) and (cwd == self.cwd or cwd.startswith(self.cwd + "/"))


class PersonWords(Struct, frozen=True):
    """A person's words in one record."""

    kind: PromptKind
    text: str
    pasted: int = 0
    """Length in characters of the marked pastes that were removed from `text`."""
    context: str | None = None
    """The question that they answer. None: the assistant's text before is the context."""


class PromptVerdict(Struct, frozen=True):
    """The number of the rule that decided, the words, and the reason in a sentence for a person."""

    rule: int
    words: tuple[PersonWords, ...]
    reason: str


class JudgedLine(Struct, frozen=True):
    """A line that might contain a person's words, with its byte offset, its verdict (without words that were left out) and its prompts."""

    start: int
    verdict: PromptVerdict
    prompts: tuple[Prompt, ...] = ()


class Recognition(Struct, frozen=True):
    """Whether the prompts of a transcript are written in a way that the source knows."""

    recognised: bool
    """Whether the last prompt was recognised."""
    answers: int
    """How many texts the assistant wrote in turns of a person's session that began with nothing recognised; 0 in a program's."""
    version: str
    refusal: str
    """The rule that refused what may have been a prompt, in words for a person."""


class SessionClaim(Struct, frozen=True):
    """A process of this machine claims to run this session."""

    pid: int
    session: str
    cwd: str


class HookInput(Struct, frozen=True):
    """What a client's hook says about a session. It may be wrong, late or missing; the transcript is the truth."""

    event: str
    """The client's name of it."""
    session: str
    transcript: Path
    """An absolute path that the hook claims; it may be anything."""
    cwd: str = ""
    kind: Literal["", "context", "failure"] = ""
    """Which text for the session it may be answered with. `context`: a session or a sub-agent starts. `failure`: a call of a tool failed."""
    ended: bool = False
    """Whether the client says that the session ended; otherwise it goes on."""
    compacts: bool = False
    """Whether the client is about to compact the session."""
    source: str = ""
    """Why the session starts, as the client calls it."""
    agent: str = ""
    """The kind of a sub-agent that starts; "" for a session."""
    error: str = ""
