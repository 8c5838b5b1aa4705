"""What a plugin declares. A plugin is a folder and an entry point of the group `tacitd.handlers`, which names a function that
returns a `PluginSpec`.

A hook is text, `"module:name"`, and is imported when it is used: a command that uses one imports no other. The engine names no
plugin, and tacitd's own use no hook that a package of somebody else cannot use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct, field

__all__ = ["GatherRule", "PluginSpec", "SharedFileKind", "TimedJob"]

Hook = str
"""`"module:name"`."""
ENGINE_PARTS = ("person-rules", "context-files", "doctor", "banner", "history")
"""The names of `PluginSpec.prompt_parts` that are no prompts."""


class GatherRule(Struct, frozen=True):
    """When the prompts of a session become a task: at the first of these conditions, at its end, and at once for `sync`."""

    quiet: float = 600.0
    """Seconds since the last prompt was typed. Shell commands do not count here."""
    prompts: int = 10
    bytes: int = 24 << 10
    """Of the prompts' texts, in UTF-8: also the most that one task gets, unless one prompt alone is longer."""


class TimedJob(Struct, frozen=True):
    """Work at intervals: a task of the kind `job` when its interval has passed since it last succeeded."""

    name: str
    every: float
    """Seconds; infinite: only when a person asks for it."""
    each_project: bool = False


class SharedFileKind(Struct, frozen=True):
    name: str
    format: str
    """`bullets`, `json-leaves`, `lines`, or the hook of a `Format`."""
    list_paths: Hook
    """`(rows: Rows, environ: Mapping[str, str], root: Path | None) -> Iterable[Path]`: the files of a project, or of the person
    (None)."""
    on_edits: Hook
    """`(path: Path, edits: Edits, tools: Tools) -> Done`: what a person's edits mean for the plugin's rows and its other files,
    once for each edit. What is `added` is the person's, also a line of the plugin's that git took away and brought back: it
    is not to be put again."""
    always: bool = False
    """Whether `on_edits` is called after every change of a file, for plugins that make something of the whole file."""


class PluginSpec(Struct, frozen=True):
    name: str
    """Lower case. Its tables begin with it."""
    order: int = 50
    settings: Mapping[str, Hook] = field(default_factory=dict)
    """Sections of the configuration, each a pydantic model whose fields have defaults."""
    schema: Sequence[Hook] = ()
    """Steps of its tables, `"package:file.sql"`; their number is the version. A column that may hold words of a person is
    marked `-- text`, and `/* text */` where a step adds it to a table."""
    observe: Hook = ""
    """`(batch: Batch, tx: Tx, settings: Mapping[str, BaseModel]) -> None`: fold new records into the plugin's tables, without a
    file, clock or model. If it raises, its changes are rolled back, and the same records come again."""
    one_lane: bool = False
    """Whether its tasks run one at a time for all projects, and not for each: its files are the person's."""
    run: Hook = ""
    """`(task: Task, tools: Tools) -> Outcome`: do a task. May block. Never twice at once for one project."""
    gather: Hook = ""
    """`(settings: Mapping[str, BaseModel]) -> GatherRule`. A plugin with this hook gets tasks of the kind `prompts`."""
    events: frozenset[Literal["session-started", "session-ended", "compaction", "purge"]] = frozenset()
    """Kinds of tasks that it wants besides. A session's end comes after all of its prompts are done or rejected."""
    jobs: Sequence[TimedJob] = ()
    files: Sequence[SharedFileKind] = ()
    commands: Mapping[str, tuple[Hook, str, str]] = field(default_factory=dict)
    """Commands of `tacitd` by name: (hook of a click command, one line of help, group)."""
    session_text: Hook = ""
    """`(request: ContextRequest) -> str`: what a starting session or sub-agent gets (`request.occasion`), or lines for a failed
    call (`failure`), each once for a session. It reads `request.rows` and files. The same rows give the same text."""
    session_budget: int = 3_000
    """Characters of `session_text`, if there is room for them."""
    status: Hook = ""
    """`(rows: Rows, now: float) -> Mapping[str, JSON]`: the plugin's part of `status`; empty: it has no data and no row there.
    `lines` is a list of lines for a person."""
    items: Hook = ""
    """A module with `list_items(rows, environ, root) -> Iterable[StoredItem]` and `decide(decision, tools) -> Done`, whose
    notices a person reads. It raises UsageError for another item or choice."""
    why: Hook = ""
    """`(rows: Rows, text: str, root: Path | None) -> Iterable[Mapping]`: matches for `why`, with the words that each rests on."""
    report: Hook = ""
    """`(rows: Rows, scope: ReportScope) -> Iterable[ReportSection]`: its tables and series of the page `tacitd report`."""
    prompt_parts: Mapping[str, Hook] = field(default_factory=dict)
    """Parts that it adds to another plugin's prompt, by the prompt's name: `{"learning:extraction": "toy.part"}`. And what it
    adds to the engine (`ENGINE_PARTS`):

    `person-rules`: `(environ, clock) -> PersonRules`, lines about the person that every session loads.
    `context-files`: `(request: ContextRequest) -> Iterable[ContextFile]`, files with text for sessions, and whether the client
    loads them.
    `doctor`: `(environ) -> Iterable[DoctorFinding]`, what `tacitd doctor` finds in its files, without the model.
    `banner`: `(tools: Tools) -> Iterable[str]`, lines of the banner of `tacitd run`: what it writes that a person would not
    expect.
    `history`: `(environ) -> Iterable[Mapping]`, changes of the person's files that no row of `change` says, oldest first, in
    the form of `tacitd.files.row_history.list_row_changes`. `undo` says which command takes one back.
    """
    mcp: Hook = ""
    """An `AgentInterface`: tools and resources for agents."""
    footprint: Hook = ""
    """`(environ: Mapping[str, str]) -> Footprint`: its files outside the state directory."""
