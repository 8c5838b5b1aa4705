"""What plugins and the engine tell each other of items, decisions, notices, problems and files, and a plugin as commands see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field

if TYPE_CHECKING:
    from pydantic import BaseModel

    from tacitd.plugin import PluginSpec

__all__ = [
    "Decided",
    "Decision",
    "Degradation",
    "Footprint",
    "Notice",
    "Plugin",
    "StoredItem",
    "load_hook",
]


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
    parts: Mapping[Path, Callable[[bytes], bytes]] = field(default_factory=dict)
    """Files of a person with a part that is tacitd's, and what takes it out. It is taken out also without `--purge`."""


Hook = str | Callable[..., Any]
"""`"module:name"`, or what it would name."""


class Plugin(Struct, frozen=True):
    """A plugin as commands, session texts and the status see it. `tacitd.session_context.plugin_view` makes it of a `PluginSpec`: its
    hooks open the store by themselves."""

    name: str
    spec: PluginSpec
    settings: Mapping[str, type[BaseModel] | str] = field(default_factory=dict)
    uses_model: bool = False
    """Whether it asks the model about prompts: `scan` and `rescue retry` are for these plugins."""
    reads_records: bool = False
    footprint: Callable[[Mapping[str, str]], Footprint] | str | None = None
    """Given the environment, the plugin's files outside the state directory. None: there are none."""
    order: int = 50
    commands: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)
    context: Hook = ""
    """Hook: `(request: ContextRequest) -> str`, the section of `tacitd context`, at most `request.budget` characters; "" if
    there is nothing to show."""
    context_budget: int = 1_000
    """Characters that the section may have, if there is room for them."""
    context_files: Hook = ""
    """Hook: `(request: ContextRequest) -> Iterable[ContextFile]`, the files with text for sessions that the plugin knows of, and
    whether the client loads them by itself in the directory of the request."""
    failure_advice: Hook = ""
    """Hook: `(call: FailedCall) -> Iterable[tuple[str, str]]`, what the plugin knows about a failed call of a tool: keys and
    lines, the best first. Of these, the session gets the first ones whose keys it did not get before."""
    explain: Hook = ""
    """Hook: `(text: str, cwd: Path) -> list[dict]`, the matches for `tacitd why`: `what`, `where`, `at`, `sessions`, `words`
    of each stored line that contains the text."""
    report: Hook = ""
    """Hook: `(scope: ReportScope) -> Iterable[ReportSection]`, the plugin's sections of `tacitd report`."""
    prompt_extensions: Mapping[str, str] = field(default_factory=dict)
    """Parts that the plugin adds to another plugin's prompt, by the prompt's name: `{"learning:extraction": "toy.extension"}`.
    The hook names a module or an object. What it has is up to the plugin whose prompt it is
    (`tacitd_handlers.shared.prompt_extensions.PromptExtension`)."""
    findings: Hook = ""
    """Hook: `(environ: Mapping) -> Iterable[DoctorFinding]`, what `tacitd doctor` finds in the plugin's files. It changes
    nothing and does not call the model. docs/troubleshooting.md has a section for each id that is not ok."""
    person_rules: str = ""
    """Hook: `(environ: Mapping, clock: Clock) -> PersonRules` of `tacitd.session_context.person_rules`, what the plugin knows of the person. These lines are loaded
    into every session."""
    items: Hook = ""
    """Hook: `(environ: Mapping, root: Path | None) -> Iterable[StoredItem]`: what a person can decide about, in a project and
    of the person, or everywhere (None). Raises OSError, TacitdError."""
    changes: Hook = ""
    """Hook: `(environ: Mapping) -> Iterable[Mapping]`: the changes of the person's files that no row of `change` says, oldest first,
    in the form of `tacitd.files.row_history.list_row_changes`. `undo` says which command takes one back. It only reads files."""
    banner_lines: Hook = ""
    """Hook: `(tools: Tools) -> Iterable[str]`, lines of the banner of `tacitd run`: what the plugin writes that a person would
    not expect."""
    mcp: Hook = ""
    """Hook: a `tacitd.mcp.agent_tools.AgentInterface`, the tools and resources that `tacitd mcp` offers to agents."""

    def load_settings(self) -> dict[str, type[BaseModel]]:
        """Import the models of `settings`. Raises what their modules raise."""
        return {k: load_hook(one) if isinstance(one, str) else one for k, one in self.settings.items()}

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
