"""The contract between the engine and a plugin's functions: what they get and what they return. plugin.py has the declaration.

`observe(batch, tx, settings)` folds new records into the plugin's own tables, in the transaction that moves the transcript's
position. `run(task, tools)` does what needs the model, files, git or time, in a worker, and returns an `Outcome`; tries, waits
and pauses are the engine's. The state of a plugin is its tables and its files. Times are seconds since 1970, UTC.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from msgspec import Struct, field

if TYPE_CHECKING:
    from tacitd.clock import Clock
    from tacitd.events import NoProject, Project, PromptKind, Record
    from tacitd.handler import Degradation, Notice
    from tacitd.model.port import Answer, ModelRequest, NoAnswer

__all__ = [
    "Batch",
    "Cause",
    "Database",
    "Decide",
    "Done",
    "Edits",
    "Executed",
    "FileChange",
    "Format",
    "Later",
    "Leaf",
    "NewLine",
    "Outcome",
    "Part",
    "Priority",
    "Rejected",
    "Row",
    "Rows",
    "StoredPrompt",
    "Task",
    "TaskKind",
    "Tools",
    "Tx",
    "View",
    "nothing",
]

Value = str | bytes | int | float | None
Row = tuple[Any, ...]
Rows = Callable[..., list[Row]]
"""All rows of a SELECT: `rows(sql, *values)`."""
Priority = Literal["live", "scan"]
"""Work that `scan` asked for gives way to what a person types now."""
WriteMode = Literal["local", "shared", "off"]


class Executed(NamedTuple):
    changed: int
    row: int
    """Of the row that an INSERT made; meaningless after other statements."""


class Tx(Protocol):
    """An open transaction. It is only valid inside the function that got it."""

    def execute(self, sql: str, *values: Value) -> Executed:
        """Run one statement."""
        ...

    def executemany(self, sql: str, rows: Iterable[Sequence[Value]]) -> None:
        """Run one statement for each row of values."""

    def rows(self, sql: str, *values: Value) -> list[Row]:
        """Return all rows of a SELECT."""
        ...


class Database(Protocol):
    """The store, as far as parts below the loop use it."""

    def write(self) -> AbstractContextManager[Tx]:
        """A transaction that is committed at the end of the block. Raises UnwritableError, StoreLostError."""
        ...

    def rows(self, sql: str, *values: Value) -> list[Row]:
        """Return all rows of a SELECT, from a connection that only reads. Raises UnwritableError, StoreLostError."""
        ...


# --- reading ---------------------------------------------------------------------------------------------------------


class StoredPrompt(Struct, frozen=True):
    """A row of `prompt`: text that a person typed, with secrets blanked."""

    number: int
    id: str
    source: str
    session: str
    kind: PromptKind
    text: str
    context: str
    """Up to 300 characters: the end of the assistant's preceding text, or the question that was answered."""
    cwd: str
    typed: float
    priority: Priority = "live"
    tries: int = 0
    """Failures of this plugin's work with it."""


class Batch(Struct, frozen=True):
    """Records of one transcript, all of one project, that are ingested in one pass."""

    transcript: Path
    source: str
    session: str
    project: Project | NoProject
    project_number: int | None
    cwd: str
    records: tuple[Record, ...]
    start: int
    end: int
    prompts: tuple[StoredPrompt, ...] = ()
    """Those of the prompts in `records` that are new: no fork, resume or rewritten file gives a prompt twice."""
    passed: Literal["", "paused", "excluded", "no project"] = ""
    """Why the texts of its prompts are not kept."""
    at: float = 0.0


# --- tasks -----------------------------------------------------------------------------------------------------------

TaskKind = Literal[
    "prompts",
    "session-started",
    "session-ended",
    "compaction",
    "job",
    "message",
    "file-changed",
    "decision",
    "command",
    "undo",
    "purge",
]
"""session-started, session-ended, compaction: of `Task.session`. job: a timed job is due; `key` begins with its name. message:
of this or another plugin. file-changed: a watched file that is not shared with people's edits changed; `data["path"]`.
decision: what a person decided about an item; the hook `items` gets it. command: a person's command that changes files;
`key` and `data` are the command's. undo: the engine takes a change back for a person. purge: an item of any plugin, `key`,
was forgotten, and its words are about to be purged: files that follow it follow at once."""


class Task(Struct, frozen=True):
    """A row of `task` with its prompts. Tasks of one plugin and one project run one at a time."""

    number: int
    kind: TaskKind
    key: str
    project: Project | NoProject
    project_number: int | None
    session: str = ""
    prompts: tuple[StoredPrompt, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    """JSON. For a message: what its sender wrote."""
    priority: Priority = "live"
    tries: int = 0

    @property
    def lane(self) -> str:
        """The root of its project; "" if it belongs to none."""
        return str(getattr(self.project, "root", ""))


def nothing(tx: Tx) -> None:
    """Change no row."""


class Done(Struct, frozen=True):
    """The task is done. `apply`, the plans of `files`, and the end of the task and its prompts are one transaction."""

    apply: Callable[[Tx], None] = nothing
    """Changes the plugin's rows. May run again after a failed commit, so it is keyed by what it stores."""
    files: Sequence[FileChange] = ()
    """Decided in order, written in order after the commit. A path occurs once."""
    lines: Sequence[NewLine] = ()
    used: Sequence[int] | None = None
    """Numbers of the prompts that are done; None: all of the task. The others wait for the next task."""
    notices: Sequence[Notice] = ()
    """What was made, for a person: rows of `activity`, in the same transaction."""


class Later(Struct, frozen=True):
    """Something is missing. The task waits, is listed in `status`, and is tried again with growing pauses."""

    reason: str
    hint: str = ""
    not_before: float | None = None
    """When a try can succeed, if that is known."""
    blame: Literal["world", "work"] = "world"
    """`work`: its prompts themselves may be the cause. From the second failure on a prompt goes alone, and one that failed
    twice alone is rejected. `world`: tried without a limit."""


class Rejected(Struct, frozen=True):
    """The task cannot be done. Its prompts are kept as rejected, with the reason, until a person retries or drops them."""

    reason: str


Outcome = Done | Later | Rejected


# --- files that people edit too ----------------------------------------------------------------------------------------

Leaf = str
"""What a format names a part of a file by. `Bullets`: the heading, a newline, the line's text. `JsonLeaves`: a dot path.
`Entries`: the entry's title."""


class Edits(NamedTuple):
    """What stands in a file against what tacitd wrote last, leaf by leaf. What tacitd never wrote and stands there is `added`."""

    added: Mapping[Leaf, str]
    changed: Mapping[Leaf, tuple[Leaf, str]]
    """By the leaf that tacitd wrote: the leaf and the value that stand in its place. A reworded line has another leaf."""
    removed: frozenset[Leaf]
    """Empty while a removal is in doubt: made by git, by a truncation, or seen once only."""


class View(NamedTuple):
    now: Mapping[Leaf, str]
    edits: Edits
    exists: bool
    doubt: Literal["", "cut", "missing", "removed once"] = ""
    """Why nothing is concluded of what is not there."""


Decide = Callable[[Mapping[Leaf, str], Edits], Mapping[Leaf, str | None]]
"""(leaves that stand in the file, edits) -> changes by leaf; None removes one. Pure: it may run again, with other leaves."""


class Cause(Struct, frozen=True):
    """Why a file is changed: a row of `change`."""

    key: str
    """Of the decision. The same key again is the same change, which is not made twice."""
    by: Literal["prompt", "person", "agent", "file", "copy", "tacitd"]
    what: str = ""
    """For a person: the command, the tool's or program's name."""
    session: str = ""
    prompts: Sequence[int] = ()
    undoes: int | None = None
    joins: bool = False
    """Whether what it does to several files is one change of the history, which is undone as a whole."""


class FileChange(Struct, frozen=True):
    """A change of a file that people edit too. A task returns it and does not write.

    The engine reads the file, calls `decide`, commits the changes as rows of `plan` with the task's end, and then swaps the
    file if it still is what was read. Otherwise a leaf that equals what was expected gets the new value, any other is the
    person's and is reported to `on_edits`.
    """

    path: Path
    format: Format
    decide: Decide
    cause: Cause
    theirs: bool = False
    """Whether what is put is a person's own, such as a value that they set by a command: it is no part of the base."""
    adopts: bool = False
    """Whether a leaf that `decide` returns as it is counts as written: tacitd's, although it did not put it there."""
    unlisted: frozenset[Leaf] = frozenset()
    """Leaves that are no part of the history, such as the time of the last change."""


class NewLine(NamedTuple):
    """A line for a file that is only appended to. It is appended once: after a crash, it is not if it is among the last lines."""

    path: Path
    text: str
    """Without a newline. UTF-8."""


class Format(Protocol):
    """How a file is made of leaves. Its methods are pure. `tacitd.files.formats` has some."""

    @property
    def name(self) -> str:
        """As `plan` and `shared_file` store it: a change that was planned before a crash is finished by it alone. That of a
        plugin's own format is its hook, `module:name`."""
        ...

    @property
    def is_generated(self) -> bool:
        """Whether tacitd alone makes such files: where nothing is known of one, the lines that it would write are its own."""
        ...

    def read_leaves(self, data: bytes) -> Mapping[Leaf, str]:
        """Return the leaves of a file in their order. Raises FileRefusedError if it is not of this format."""
        ...

    def splice(self, data: bytes | None, changes: Mapping[Leaf, str | None]) -> bytes:
        """Return the file with these leaves put, changed or removed (None), and every other byte as it was; `data` None: it
        does not exist. A file that is left without a byte is removed. Raises FileRefusedError."""
        ...

    def pair_reworded(self, base: Sequence[Leaf], now: Sequence[Leaf]) -> Mapping[Leaf, Leaf]:
        """Given the leaves that tacitd wrote and those that stand there, in order, return which one that is gone has which new
        one in its place."""
        ...

    def is_cut(self, data: bytes, base: Mapping[Leaf, str]) -> bool:
        """Whether the file looks truncated, so that what is missing was not removed by a person."""
        ...


# --- tools -----------------------------------------------------------------------------------------------------------


class Part(NamedTuple):
    """What one number in a model's answer stands for: a row of `call_part`."""

    kind: Literal["prompt", "fact", "line", "file", "work"]
    """`work`: a call itself, by its key."""
    number: int
    row: str
    """The number of the prompt or of the plugin's row, or the path."""
    text: str
    """Its text now. Its digest is stored: a number whose text has changed since the call is void."""


class Tools(Protocol):
    """Everything outside its own code that a task may use."""

    @property
    def clock(self) -> Clock: ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """The plugin's own sections of the configuration."""
        ...

    @property
    def client_home(self) -> Path:
        """The client's own directory, such as `~/.claude`."""
        ...

    @property
    def directives(self) -> Sequence[Path]:
        """Documents of the person that apply to every project."""
        ...

    def rows(self, sql: str, *values: Value) -> list[Row]:
        """Return all rows of a SELECT, from a connection that only reads."""
        ...

    def ask(self, request: ModelRequest, parts: Sequence[Part] = ()) -> Answer | NoAnswer:
        """Ask the model. The call's row with its parts is committed before it begins. If this task asked about the same parts
        before a crash and the answer is stored, it is returned without a call. Blocks."""
        ...

    def look(self, path: Path, format: Format) -> View:
        """Read a shared file. Nothing is concluded or stored. Raises FileBusyError, FileRefusedError, OSError."""
        ...

    def find_project(self, cwd: str) -> Project | NoProject:
        """Return the project of a working directory. May block on the file system."""
        ...

    def write_mode(self, project: Project) -> WriteMode:
        """Return whether the project's files are hidden from git, shared through it, or not written."""
        ...

    def has_live_session(self, project: Project) -> bool:
        """Whether a session of the project goes on."""
        ...

    def degrade(self, degradation: Degradation) -> None:
        """Report a problem that lasts. One with the same id is replaced."""

    def clear(self, id: str) -> None:
        """Remove a problem, if it is there."""

    def list_prompt_parts(self, prompt: str) -> Sequence[Any]:
        """Return the parts that all plugins add to the prompt of this name."""
        ...
