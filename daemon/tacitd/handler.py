"""What plugins and the engine tell each other of items, decisions, notices, problems and files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, field

__all__ = [
    "Decided",
    "Decision",
    "Degradation",
    "DoctorFinding",
    "Footprint",
    "Notice",
    "StoredItem",
    "load_hook",
]


class Degradation(Struct, frozen=True):
    """A problem that is reported until it is gone. State, not a log line."""

    id: str
    """Stable, such as `model.absent`."""
    what: str
    hint: str = ""


class DoctorFinding(Struct, frozen=True):
    """What one check of `tacitd doctor` found."""

    id: str
    severity: Literal["ok", "warning", "error"]
    what: str
    hint: str = ""


class Notice(Struct, frozen=True):
    """One thing that a handler made, for a person who reads the log or waits. It is logged, so it has none of the person's own
    text."""

    did: str
    """What was done, in a word or two: `extracted`, `learned`, `refused`, or `no line` if the work had no result."""
    text: str
    where: str = ""
    about: str = ""
    """Its origin and cost: `from 2 prompts, $0.01`."""
    item: str = ""
    """The id of the `StoredItem` that was made, if it is not a line that a transaction writes."""
    root: str = ""
    """The project's directory, if it is a line that a transaction writes."""


class StoredItem(Struct, frozen=True):
    """One thing that a plugin learned, proposes or must not learn again, about which a person can decide with `tacitd forget`,
    `accept` and `review`, by its id or text."""

    id: str
    """Short, the same while the text and its place are the same, and unique within the plugin."""
    kind: str
    """What it is, for a person: `line`, `lesson`, `profile value`, `refused fact`."""
    text: str
    """Its whole text on one line; "" if its words are not stored any more."""
    where: str = ""
    root: Path | None = None
    """Of its project; None: it belongs to the person."""
    state: Literal["stored", "proposed", "forgotten"] = "stored"
    """`proposed`: it is not used unless the person accepts it."""
    by_person: bool = False
    """Whether the person wrote it. Such an item is never removed without a question."""
    review: str = ""
    """Why `tacitd review` asks about it, as a clause; "" if it does not."""
    words: tuple[str, ...] = ()
    """The beginnings of the person's words that it came from."""
    earlier: tuple[str, ...] = ()
    """Texts that it had before, which `forget --purge` blanks too."""
    says: Callable[[str], bool] | None = None
    """Whether a text says what it says; None where its words are stored."""


DecisionChoice = Literal["keep", "drop", "edit", "restore"]


class Decision(Struct, frozen=True):
    id: str
    choice: DecisionChoice
    """`keep`: a proposed item is stored, a stored one is not asked about again. `drop`: it is removed and never learned again.
    `edit`: `text` takes its place. `restore`: it is not forgotten any more."""
    root: Path | None = None
    text: str = ""


class Decided(Struct, frozen=True):
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
    """Generated files for the client. Removed also without `--purge`, because nothing keeps them up to date any more."""
    edited_copies: Sequence[Path] = ()
    """Generated files in which a person wrote. They stay, and are named also without `--purge`."""
    parts: Mapping[Path, Callable[[bytes], bytes]] = field(default_factory=dict)
    """Files of a person, and what takes tacitd's part out of each, also without `--purge`."""
    advice: Sequence[str] = ()
    """What a person who goes on with what was learned should know: a line each."""


def load_hook(where: str | Callable[..., Any]) -> Any:
    """Import what a hook names: `"module:name"`, or `"module"` for the module itself. An object, as a test may give it, is
    returned. Raises ValueError, and what the import raises."""
    if not isinstance(where, str):
        return where
    module, colon, name = where.partition(":")
    if not module or (colon and not name):
        raise ValueError(f"{where!r} is not of the form module:name")
    found = import_module(module)
    return getattr(found, name) if name else found
