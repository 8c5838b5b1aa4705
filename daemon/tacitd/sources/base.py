"""The contract of a source: a client that writes transcripts, and what the engine must know about it.

A source says where its transcripts are, how their bytes become records, and which of its clients run a session. The
engine, the handlers and the command line use only this protocol and the data classes here and in events.py. The format
of a client belongs in a folder of its own beside this module. registry.py builds the source that is used.

What a source must guarantee:

- Paths are decided by their names alone; no file is opened for that.
- The records of a transcript do not depend on where its bytes were cut into slices.
- Malformed bytes never raise. They are counted and skipped.
- Words that a program wrote, among them tacitd's own model calls, are not prompts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct, field

from tacitd.events import Prompt, PromptKind
from tacitd.sources.instruction_files import ContextFiles
from tacitd.sources.record_buffer import RecordBuffer


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
    """A line that might contain a person's words, with its verdict and its prompts."""

    start: int
    """Byte offset of the line."""
    type: str
    uuid: str
    session: str
    time: float | None
    """Seconds since 1970, UTC."""
    cwd: str
    verdict: PromptVerdict
    """Without `words` if they were left out; `reason` has the cause."""
    prompts: tuple[Prompt, ...]


class Recognition(Struct, frozen=True):
    """Whether the prompts of a transcript are written in a way that the source knows."""

    recognised: bool
    """Whether the last prompt was recognised."""
    answers: int
    """How many texts the assistant wrote in turns of a person's session that began with nothing recognised; 0 in a program's."""
    version: str
    """The client's version; "" if no record names it."""
    refusal: str
    """The rule that refused what may have been a prompt, in words for a person."""


class SessionClaim(Struct, frozen=True):
    """A process of this machine claims to run this session."""

    pid: int
    session: str
    cwd: str


class ClientUse(Struct, frozen=True):
    """A client that wrote into a transcript last."""

    version: str
    """As the client gives it: `2.1.328`."""
    cwd: str
    """The directory of the session; "" if the end of the transcript does not name it."""
    headless: bool
    """Whether a program drove the session."""
    at: float
    """When the transcript changed last: seconds since 1970, UTC."""


class SessionHint(Struct, frozen=True):
    """What a client's hook says about a session. It may be wrong, late or missing; the transcript is the truth."""

    session: str
    transcript: Path
    """An absolute path that the hook claims; it may be anything."""
    ended: bool
    """Whether the client says that the session ended; otherwise it goes on."""
    compacts: bool = False
    """Whether the client is about to compact the session."""


class HookQuestion(Struct, frozen=True):
    """What a client's hook may be answered with a text for the session. It may be wrong, as a `SessionHint`."""

    event: str
    """The client's name of it."""
    kind: Literal["context", "failure"]
    """`context`: a session or a sub-agent starts. `failure`: a call of a tool failed."""
    session: str
    transcript: Path
    cwd: str
    source: str = ""
    """Why the session starts, as the client calls it."""
    agent: str = ""
    """The kind of a sub-agent that starts; "" for a session."""
    tool: str = ""
    error: str = ""


class HookFormat(Protocol):
    """What a client's hooks run, and what they say."""

    @property
    def program(self) -> Path:
        """The program, which needs no package. It is run with the state directory as its argument."""
        ...

    def read_hint(self, data: Mapping[str, object]) -> SessionHint | None:
        """Given what a hook got from the client, return what it says; None if it is not understood."""
        ...

    def read_question(self, data: Mapping[str, object]) -> HookQuestion | None:
        """Given the same, return what a text is wanted for; None if there is nothing to answer."""
        ...

    def format_answer(self, question: HookQuestion, text: str) -> str:
        """What the hook has to print so that the client puts this text into the session."""
        ...


class Assembler(Protocol):
    """Turns the bytes of one transcript into records, in file order. Used by one thread; opens no file."""

    judged: list[JudgedLine] | None
    """The verdicts so far, which `explain` takes out; None if they are not wanted."""

    @property
    def start(self) -> int:
        """The byte offset from which records are kept. What was read before it is context."""
        ...

    @property
    def session(self) -> str:
        """The session of the newest record that names one; "" before that."""
        ...

    @property
    def cwd(self) -> str:
        """The working directory of the newest record that names one; "" before that."""
        ...

    @property
    def newest_time(self) -> float | None:
        """The time of the newest record with a time: seconds since 1970, UTC."""
        ...

    @property
    def is_headless(self) -> bool:
        """Whether a program drives the session now."""
        ...

    @property
    def recognition(self) -> Recognition:
        """Whether the prompts are recognised, for `work/recognition`."""
        ...

    @property
    def counts(self) -> Counter[str]:
        """The number of lines from `start` on that were damaged, unknown or too long, by kind."""
        ...

    @property
    def pinned_offset(self) -> int | None:
        """The offset of a message that is not decided yet, which no position may pass; None if there is none."""
        ...

    @property
    def buffer(self) -> RecordBuffer:
        """The records that handlers may still need."""
        ...

    def read_lines(self, first: int, data: bytes, cut: int) -> None:
        """Read the complete lines in data[:cut]. `first`: the byte offset of `data[0]`.

        Called once for each slice and not for each line, because most of the reader's time is spent here.
        """
        ...

    def read_leading_records(self, first: int, data: bytes) -> int:
        """Read the complete records at the beginning of bytes without a newline; return their length in bytes."""
        ...

    def release_queued(self) -> None:
        """The session is over or idle: messages that are not decided yet count as said."""
        ...


class Source(Protocol):
    """A client that writes transcripts."""

    @property
    def name(self) -> str:
        """The client's name, for a person."""
        ...

    @property
    def names(self) -> Sequence[str]:
        """The names of all clients whose transcripts it has."""
        ...

    def name_of(self, path: Path) -> str:
        """The name of the client that writes the transcript with this path."""
        ...

    @property
    def home(self) -> Path:
        """The client's own directory."""
        ...

    @property
    def roots(self) -> Sequence[Path]:
        """The directories below which transcripts are. They are watched, and need not exist."""
        ...

    def absent_hint(self, root: Path) -> str:
        """What a person can do if this root does not exist; "" if it need not exist."""
        ...

    def why_odd(self, path: str) -> str:
        """Why a file that is no transcript may have a person's words nevertheless, for a person; "" for any other file. Called for
        every other file of a listing."""
        ...

    @property
    def context_files(self) -> ContextFiles:
        """The files of a project that the client loads into a session."""
        ...

    @property
    def hooks(self) -> HookFormat | None:
        """The client's hooks; None if it has none."""
        ...

    def is_transcript(self, path: str) -> bool:
        """Whether a file with this path is a transcript. Called for every file of a listing."""
        ...

    def is_subagent(self, path: str) -> bool:
        """Whether the transcript with this path is a sub-agent's: it contains nothing that the person
        said, and is not read. Called for every transcript at a start."""
        ...

    def session_of_subagent(self, path: Path) -> str | None:
        """Given a sub-agent's transcript, return the session that it works for; None if the path does not say it."""
        ...

    def list_sessions(self) -> set[str]:
        """The sessions that have a transcript, by the name that the client gives it. Lists the roots."""
        ...

    def list_originals(self, path: Path) -> set[str]:
        """The sessions of which the transcript with this path may be a copy, by the client's names; empty if it has no
        record yet. Lists its directory."""
        ...

    def list_clients(self, since: float) -> Sequence[ClientUse]:
        """Which clients wrote the transcripts that changed after `since` (seconds since 1970, UTC), the newest first, as
        far as that is known cheaply. Lists the roots."""
        ...

    def make_assembler(self, path: Path, start: int = 0, explain: bool = False) -> Assembler:
        """The assembler for a transcript that is read from `start` on. `explain`: verdicts are wanted."""
        ...

    def read_claims(self) -> Sequence[SessionClaim]:
        """Which processes claim to run which sessions now. A claim may be stale, and a session may have none."""
        ...
