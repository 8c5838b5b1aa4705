"""The contract of a handler: its events, its outcomes, its tools, and what a plugin offers to the engine.

The central method is `handle(event, tools)`. It returns one of the closed union `Outcome`. It never moves a position,
sleeps or retries: the engine does this for all handlers. `tacitd.testing` contains fakes for tests of handlers.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from msgspec import Struct, field

if TYPE_CHECKING:
    from pydantic import BaseModel

    from tacitd.clock import Clock
    from tacitd.events import Event, NoProject, Project, Record
    from tacitd.files.disk import Disk
    from tacitd.files.replaced import EditGuards
    from tacitd.files.transaction import History
    from tacitd.model.port import Model
    from tacitd.plugin import PluginSpec

__all__ = [
    "COMPACTION",
    "BaseHandler",
    "Commit",
    "Decided",
    "Decision",
    "Degradation",
    "Done",
    "Footprint",
    "Gather",
    "Handler",
    "Job",
    "Later",
    "Notice",
    "Outcome",
    "Plugin",
    "Rejected",
    "StoredItem",
    "Tools",
    "load_hook",
]


class Done(Struct, frozen=True):
    """Handled. The position moves to `upto`, and `data` is committed with it in one record."""

    upto: int | None = None
    """Byte offset, at a record's end; None: all that was offered. Ignored for events without records."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """JSON that `open` and `committed` receive. Empty: only the position is kept. A message under the key `tell` and
    the name of another handler is offered to that handler as `Message` once the commit is durable."""


class Later(Struct, frozen=True):
    """Something is missing. The work is parked, listed in `status`, and retried with growing pauses."""

    reason: str
    hint: str = ""
    not_before: float | None = None
    """When a retry can succeed, if that is known: seconds since 1970, UTC."""
    blame: Literal["world", "work"] = "world"
    """`work`: the batch itself may be the cause. Its prompts are then tried one at a time, and one that fails alone is
    rejected. `world`: it is retried without a limit."""


class Rejected(Struct, frozen=True):
    """The work cannot be done. It is listed with its reason by `tacitd rescue`; the position moves past it."""

    reason: str
    upto: int | None = None
    """Byte offset, at a record's end, up to which it is rejected; None: all that was offered."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """As `Done.data`. For events without records only."""


Outcome = Done | Later | Rejected


class Commit(Struct, frozen=True):
    """What a handler did: its data, and its position after it."""

    at: float
    """Seconds since 1970, UTC."""
    event: str
    """The class name of the handled event."""
    transcript: str
    """Path of the transcript, "" for events without one."""
    session: str
    upto: int
    """Byte offset, -1 for events without records."""
    data: Mapping[str, Any]


class Degradation(Struct, frozen=True):
    """A problem that is reported until it is gone. State, not a log line."""

    id: str
    """Stable, such as `model.absent`. docs/troubleshooting.md has a section for each."""
    what: str
    hint: str = ""


class Notice(Struct, frozen=True):
    """One thing that a handler made, such as a line that it stored, for a person who reads the log or waits. It is
    logged at INFO, so it must not contain the person's own text or anything confidential."""

    did: str
    """What was done, in a word or two: `extracted`, `learned`, `refused`, or `no line` if the work had no result."""
    text: str
    """The stored text, as it is in its file."""
    where: str = ""
    """A short name of the file: `shop/LEARNED.md`."""
    about: str = ""
    """Its origin and cost: `from 2 prompts, $0.01`."""
    item: str = ""
    """The id of the `StoredItem` that was made, if it is not a line that a transaction writes."""
    root: str = ""
    """The project's directory, if it is a line that a transaction writes."""


class StoredItem(Struct, frozen=True):
    """One thing that a plugin learned, proposes or must not learn again, about which a person can decide.

    `tacitd forget`, `accept` and `review` find the items of all plugins by id or by text. They are derived from what is
    stored anyway.
    """

    id: str
    """Short, the same while the text and its place are the same, and unique within the plugin."""
    kind: str
    """What it is, for a person: `line`, `lesson`, `profile value`, `refused fact`."""
    text: str
    """Its whole text on one line; "" if its words were purged."""
    where: str = ""
    """A short name of its place: `LEARNED.md · Coding`."""
    root: Path | None = None
    """The root of its project; None: it belongs to the person."""
    state: Literal["stored", "proposed", "forgotten"] = "stored"
    """`proposed`: it is not used unless the person accepts it."""
    by_person: bool = False
    """Whether the person wrote it. Such an item is never removed without a question."""
    review: str = ""
    """Why `tacitd review` asks about it, as a clause; "" if it does not."""
    words: tuple[str, ...] = ()
    """The beginnings of the person's words that it came from, with secrets blanked."""
    earlier: tuple[str, ...] = ()
    """Texts that it had before, which `forget --purge` blanks too."""


class Decision(Struct, frozen=True):
    """What a person decided about an item."""

    id: str
    choice: Literal["keep", "drop", "edit", "restore"]
    """`keep`: a proposed item is stored, a stored one stays and is not asked about again. `drop`: it is removed and never
    learned again. `edit`: `text` takes its place. `restore`: it is not forgotten any more."""
    root: Path | None = None
    """The item's `root`."""
    text: str = ""


class Decided(Struct, frozen=True):
    """What a decision did."""

    what: str
    """For a person: `removed from shop/LEARNED.md, and never learned again`."""
    texts: tuple[str, ...] = ()
    """After `drop`: every text in which the item's words may be stored, for `tacitd forget --purge`."""


class Tools(Struct, frozen=True):
    """Everything outside its own code that a handler may use. Nothing here gives access to another handler."""

    clock: Clock
    model: Model
    history: History
    """Transactions over files in projects, and the record of everything that was written."""
    settings: Mapping[str, Any]
    """The plugin's own sections of the configuration: an instance of each model in `Plugin.settings`."""
    home: Path
    """The handler's private directory, 0700."""
    project_of: Callable[[str], Project | NoProject]
    """Given a working directory, the project it belongs to."""
    has_live_session: Callable[[Project], bool]
    """Whether a session of the project is live: its transcript grew within `session.idle`, or its client is running."""
    degrade: Callable[[Degradation], None]
    """Report a degradation. One with the same id is replaced."""
    clear: Callable[[str], None]
    """Remove the degradation with this id. Unknown ids are ignored."""
    directives: Sequence[Path] = ()
    """Documents that apply to every project (`directives`)."""
    write: Literal["local", "shared", "off"] = "local"
    """The write mode of projects without a choice of their own (`projects.write`)."""
    write_mode_of: Callable[[Project], Literal["local", "shared", "off"]] | None = None
    """The write mode of a project, as set by `share` or `exclude`; None: `write` for all."""
    disk: Disk | None = None
    """The disk on which files are changed; None: the machine's."""
    guards: EditGuards | None = None
    """For `tacitd.files.edit_file` of files that people edit too; `history` uses them already. None: no guards."""
    list_sessions: Callable[[], set[str]] = set
    """The sessions that have a transcript now."""
    list_positions: Callable[[], list[tuple[str, Path, int]]] = list
    """This handler's position in each transcript: session, path, byte offset. None of them is known before `open` has read its
    commits."""
    read_records: Callable[[Path, int, int], list[Record]] = lambda path, start, upto: []
    """Given a transcript and two byte offsets, the records between them; none if it is gone or cannot be read."""
    post: Callable[[Event], None] = lambda event: None
    """Post an event without records to this handler, in the lane of its project: work that was found to be due while
    another event was handled. Thread-safe."""

    announce: Callable[[Notice], None] = lambda notice: None
    """Publish a notice of something that was made and is durable. Thread-safe."""
    prompt_extensions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The hooks of all plugins' `prompt_extensions`, by the prompt's name."""
    person_rules: Mapping[str, str] = field(default_factory=dict)
    """The hooks `person_rules` of all plugins, by plugin name, in the order of `Plugin.order`."""
    client_home: Path | None = None
    """The client's own directory, such as `~/.claude`; None: unknown."""

    def write_mode(self, project: Project) -> Literal["local", "shared", "off"]:
        """The write mode of this project."""
        return self.write_mode_of(project) if self.write_mode_of is not None else self.write


class Job(Struct, frozen=True):
    """Work that a handler does at intervals, started with `Due(name)`."""

    name: str
    every: float = float("inf")
    """Seconds; infinite: only on request of a person, or when what its name says happens (`COMPACTION`)."""
    at_start: bool = False


COMPACTION = "compaction"
"""A job of this name is due when a client is about to compact a session, which `Due.session` names, and after every record
of the session was handled. Only clients with hooks tell it."""


class Gather(Struct, frozen=True):
    """How long the engine gathers the growth of a transcript before it offers it. Seconds; None: not a condition.

    Growth is offered when the first of these conditions is met, and at once by `sync` and at the end of the session. With
    `quiet`, only prompts in projects in which tacitd may write are gathered; everything else is offered at once.
    """

    quiet: float | None = None
    """Offered once nothing was typed for this time. Shell commands do not count, here and in the limits."""
    prompts: int = sys.maxsize
    """With `quiet`: offered with this many prompts."""
    bytes: int = sys.maxsize
    """With `quiet`: offered with this many bytes of prompts, in UTF-8."""
    delay: float | None = None
    """Offered once the oldest record is this old."""


class Handler(Protocol):
    """What a plugin's handler must have. `BaseHandler` has a default for all methods but `handle`."""

    def open(self, commits: Iterable[Commit], tools: Tools) -> None:
        """Called before the first event, with all commits that have data, oldest first. Rebuild the state in memory
        from them, and write again what was committed but not written to files."""
        ...

    def handle(self, event: Event, tools: Tools) -> Outcome:
        """Handle one event. May block on the model. Never runs twice at once for one project.

        FileBusyError, for a file that is being edited, need not be caught: the event is offered again after its seconds,
        and no attempt is counted.
        """
        ...

    def committed(self, commit: Commit, tools: Tools) -> None:
        """The commit is durable: write the files that result from it. Must be idempotent."""
        ...

    def status(self) -> Mapping[str, Any]:
        """The plugin's part of `status`: JSON, with times instead of ages, because it is kept until something changes.

        It is called in a thread of its own while `handle` may run: after each outcome of this handler's work, and each
        minute. It may read files. The engine uses one key, `waits`: what is gathered for a later job, as a list of
        `{"project": root, "what": "2 facts", "until": "its session ends", "job": "synthesize"}`; `job` is "" if only the
        person can end the waiting. It adds `says`, from the
        hook `Plugin.status_lines`, and `as_of`, the time of the call.
        """
        ...

    def sources(self, project: Project) -> Sequence[Path]:
        """Files of a project whose changes are posted to this handler as `SourceChanged`."""
        ...


class BaseHandler(ABC):
    """A handler with defaults: only `handle` must be written.

    `open` keeps nothing, `committed` writes nothing, `status` is empty, and `sources` watches no file. A class that does not
    derive from this one is a handler too, if it has the methods of `Handler`.
    """

    def open(self, commits: Iterable[Commit], tools: Tools) -> None:  # noqa: B027  a default, not an omission
        """See `Handler.open`. The commits need not be read."""

    @abstractmethod
    def handle(self, event: Event, tools: Tools) -> Outcome:
        """See `Handler.handle`."""

    def committed(self, commit: Commit, tools: Tools) -> None:  # noqa: B027
        """See `Handler.committed`."""

    def status(self) -> Mapping[str, Any]:
        """See `Handler.status`."""
        return {}

    def sources(self, project: Project) -> Sequence[Path]:
        """See `Handler.sources`."""
        return ()


class Footprint(Struct, frozen=True):
    """A plugin's files outside the state directory, for `uninstall`. They need not exist."""

    removed: Sequence[Path] = ()
    """Files that only tacitd needs: locks, marks, and what is derived from other files."""
    kept: Sequence[Path] = ()
    """Learned data, and what a person or another program reads: files, or directories with their whole contents."""
    places: Sequence[Path] = ()
    """Directories in which files were written. Temporary files that a crash left are removed there."""
    own: Sequence[Path] = ()
    """Directories that tacitd created for itself. Those that are empty afterwards are removed, the innermost first."""
    reasons: Mapping[Path, str] = field(default_factory=dict)
    """Why a file of `kept` stays, if its name does not show it: a clause for a person, without a full stop."""
    copies: Sequence[Path] = ()
    """Generated files for the client whose whole text is tacitd's. Removed also without `--purge`, because nothing keeps
    them up to date any more."""
    edited_copies: Sequence[Path] = ()
    """Generated files in which a person wrote. They stay, and are named also without `--purge`."""


Hook = str | Callable[..., Any]
"""`"module:name"`, or what it would name."""


class Plugin(Struct, frozen=True):
    """What a plugin's folder offers. An entry point of the group `tacitd.handlers` names a function that returns one.

    A hook is text, `"module:name"`, and is imported when it is used. So a declaration is light, and a command that uses
    one hook does not import the others. docs/handlers.md has a complete plugin.
    """

    name: str
    make: Callable[[], Handler] | str
    """Makes the handler: a function or a class, or a hook that names one."""
    settings: Mapping[str, type[BaseModel] | str] = field(default_factory=dict)
    """The plugin's sections of the configuration, models or hooks: `{"toy": "toy.settings:ToySettings"}`. Every field has
    a default."""
    jobs: Sequence[Job] = ()
    uses_model: bool = True
    """Whether the handler calls the model for records. Three things follow. Records from before the first start are
    skipped unless `scan` asked for them, so that an old transcript costs nothing. `scan` and `rescue retry` offer past
    records only to these handlers. Work waits while the growth breaker is closed. A handler that only reads, or that
    calls the model for its own jobs alone, sets False."""
    reads_records: bool = True
    """Whether the handler is offered records of transcripts, and the ends of the sessions in which it was. A handler that
    needs only jobs, messages and the starts of sessions sets False: its positions then move without anything being decoded."""
    lanes: int = 1
    """1: it runs for one project at a time. More: for as many at once as there are workers."""
    single_store: bool = False
    """Whether it keeps one store for all projects: its work then is one queue, in the order in which it came."""
    gather: Gather | str | None = None
    """How growth is gathered before it is offered, or a hook `(settings: Mapping[str, BaseModel]) -> Gather` that gets the
    plugin's sections of the configuration. None: growth is offered at once."""
    footprint: Callable[[Mapping[str, str]], Footprint] | str | None = None
    """Given the environment, the plugin's files outside the state directory. None: there are none."""
    order: int = 50
    """The command line lists plugins by this number, then by name."""
    commands: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)
    """Commands of `tacitd` by name: (hook of a click command, one line of help, group). The groups are `See it`,
    `Decide`, `Run it`, `More`, and `Others`, which only `help --all` lists; any other name counts as `More`. The engine's commands
    cannot be replaced."""
    context: Hook = ""
    """Hook: `(request: ContextRequest) -> str`, the section of `tacitd context`, at most `request.budget` characters; "" if
    there is nothing to show. A session's start waits for it, so its module imports little. The same facts give the same
    text; a line that the client loads anyway (`request.is_loaded`) is left out."""
    context_order: int = 50
    """Sections are printed by this number, then by name. The order is fixed, so that a prompt cache stays valid."""
    context_budget: int = 1_000
    """Characters that the section may have, if there is room for them."""
    context_for_agents: bool = False
    """Whether sub-agents get the section too (`request.occasion` is `agent`): rules and prohibitions only."""
    context_files: str = ""
    """Hook: `(request: ContextRequest) -> Iterable[ContextFile]`, the files with text for sessions that the plugin knows of, and
    whether the client loads them by itself in the directory of the request."""
    failure_advice: Hook = ""
    """Hook: `(call: FailedCall) -> Iterable[tuple[str, str]]`, what the plugin knows about a failed call of a tool: keys and
    lines, the best first. Of these, the session gets the first ones whose keys it did not get before."""
    explain: Hook = ""
    """Hook: `(text: str, cwd: Path) -> list[dict]`, the matches for `tacitd why`: `what`, `where`, `at`, `sessions`, `words`
    of each stored line that contains the text."""
    report: Hook = ""
    """Hook: `(scope: ReportScope) -> Iterable[ReportSection]` (`tacitd.report.sections`), the plugin's sections of
    `tacitd report`. It reads what is stored already, in memory that does not grow with the logs, and writes nothing."""
    prompt_extensions: Mapping[str, str] = field(default_factory=dict)
    """Parts that the plugin adds to another plugin's prompt, by the prompt's name: `{"learning:extraction": "toy.extension"}`.
    The hook names a module or an object. What it has is up to the plugin whose prompt it is
    (`tacitd_handlers.shared.prompt_extensions.PromptExtension`)."""
    findings: str = ""
    """Hook: `(environ: Mapping) -> Iterable[DoctorFinding]`, what `tacitd doctor` finds in the plugin's files. It changes
    nothing and does not call the model. docs/troubleshooting.md has a section for each id that is not ok."""
    person_rules: str = ""
    """Hook: `(environ: Mapping, clock: Clock) -> PersonRules` of `tacitd.session_context.person_rules`, what the plugin knows of the person. These lines are loaded
    into every session."""
    items: Hook = ""
    """Hook: `(environ: Mapping, root: Path | None) -> Iterable[StoredItem]`: what a person can decide about, in a project and
    of the person, or everywhere (None). It only reads files, because no daemon need run. Raises OSError, TacitdError."""
    decide: str = ""
    """Hook: `(handler, tools, decision: Decision) -> Decided`, called in a thread of the caller's connection. Needed with
    `items`. Raises UsageError if there is no such item, or if the choice does not apply to it, and other TacitdErrors."""
    purge: str = ""
    """Hook: `(handler, tools, id: str, texts: Sequence[str]) -> Iterable[Path]`: after any plugin's item was dropped for
    `forget --purge`, blank its texts in this plugin's own files outside the state directory; return those that changed."""
    changes: str = ""
    """Hook: `(environ: Mapping) -> Iterable[Mapping]`: the changes of files of the person's that the plugin writes without
    transactions, oldest first, in the form of `tacitd.files.change_view.describe_transaction`. `undo` says which command
    takes one back. It only reads files."""
    status_lines: str = ""
    """Hook: `(part: Mapping) -> Iterable[str]`, lines for a person, given what `Handler.status` returned. They are the key
    `says` of the plugin's part of `tacitd status`."""
    activity: str = ""
    """Hook: `(commit: Commit) -> Iterable[Notice]`, what a commit of this plugin's handler means to a person. `tacitd log` and
    the status use it for commits of earlier runs; what is new is announced with `Tools.announce`. It contains none of the
    person's words that were not stored."""
    banner_lines: str = ""
    """Hook: `(tools: Tools) -> Iterable[str]`, lines of the banner of `tacitd run`: what the plugin writes that a person would
    not expect."""
    mcp: str = ""
    """Hook: a `tacitd.mcp.agent_tools.AgentInterface`, the tools and resources that `tacitd mcp` offers to agents."""
    methods: Mapping[str, str] = field(default_factory=dict)
    """Methods of the socket by name, which begins with the plugin's name and a dot: `{"toy.count": "toy.rpc:count"}`. The
    hook is `(handler, tools, params) -> JSON`. It is called in a thread of the caller's connection."""
    spec: PluginSpec | None = None
    """The declaration of the second contract that this one stands for, where both are used alike; it has no handler then."""

    def make_handler(self) -> Handler:
        """Make the handler. Raises what its module raises."""
        make: Callable[[], Handler] = load_hook(self.make) if isinstance(self.make, str) else self.make
        return make()

    def load_settings(self) -> dict[str, type[BaseModel]]:
        """Import the models of `settings`. Raises what their modules raise."""
        return {k: load_hook(one) if isinstance(one, str) else one for k, one in self.settings.items()}

    def find_gather(self, settings: Mapping[str, Any]) -> Gather | None:
        """Return how growth is gathered, with these sections of the configuration. Raises what its hook raises, and
        TypeError if that is not a `Gather`."""
        found = load_hook(self.gather)(settings) if isinstance(self.gather, str) else self.gather
        if found is not None and not isinstance(found, Gather):
            raise TypeError(f"its gathering is {type(found).__name__}, not Gather")
        return found

    def find_footprint(self, environ: Mapping[str, str]) -> Footprint:
        """Return the plugin's files outside the state directory. Raises what its hook raises."""
        find = load_hook(self.footprint) if isinstance(self.footprint, str) else self.footprint
        return find(environ) if find is not None else Footprint()


def load_hook(where: Hook) -> Any:
    """Import what a hook names: `"module:name"`, or `"module"` for the module itself.

    Raises ValueError if the text is not of this form, and what the import raises.
    """
    if not isinstance(where, str):
        return where
    module, colon, name = where.partition(":")
    if not module or (colon and not name):
        raise ValueError(f"{where!r} is not of the form module:name")
    found = import_module(module)
    return getattr(found, name) if name else found
