"""What a plugin is asked for a session's context, and the files that the client loads by itself. Pure, with few imports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from tacitd.contract import Tx
    from tacitd.store import ReadOnlyStore, Store

    OpenStore = ReadOnlyStore | Store

__all__ = [
    "ContextFile",
    "ContextRequest",
    "PersonRule",
    "PersonRules",
]


Occasion = Literal["start", "resume", "compact", "agent", "failure"]
"""A new session; a resumed one; after a compaction; the start of a sub-agent; a call of a tool that failed."""


class ContextFile(Struct, frozen=True):
    """A file with text for sessions, and whether the client loads it by itself in a directory."""

    path: Path
    when: Literal["start", "read", "never"]
    """`start`: at a session's start. `read`: when a file that it is about is read. `never`: not by the client."""
    text: str
    meant: bool = False
    """For `never`: whether a person chose that."""


def _no_rows(sql: str, *values: Any) -> list[tuple[Any, ...]]:
    return []


class ContextRequest(Struct, frozen=True):
    """A session, or a sub-agent of one, that is about to start in a directory; or a call of a tool that failed in one."""

    cwd: Path
    """It need not exist."""
    budget: int = 9_000
    """Characters that the answer may have, counted as `measure_text` does."""
    session: str = ""
    """The client's id of the session; "" if unknown."""
    occasion: Occasion = "start"
    agent: str = ""
    """For `agent`: the client's name of its kind, such as `Explore`."""
    loaded: frozenset[str] = frozenset()
    """The lines that the client loads by itself, as `normalise_line` makes them."""
    withheld: frozenset[Path] = frozenset()
    """Learned files that a person chose not to load."""
    error: str = ""
    """For `failure`: what the client reports of the call, a stranger's text."""
    rows: Callable[..., list[tuple[Any, ...]]] = _no_rows
    """All rows of a SELECT, for a hook of a `PluginSpec`."""
    store: OpenStore | None = None
    """The store, if who asks has opened it once for all plugins."""

    def is_loaded(self, line: str) -> bool:
        """Whether the client loads this line by itself, now or when a file is read. List marks and white space do not count."""
        return normalise_line(line) in self.loaded


def find_loaded_lines(files: Iterable[ContextFile]) -> frozenset[str]:
    return frozenset(
        words
        for one in files
        if one.when != "never"
        for line in one.text.splitlines()
        if (words := normalise_line(line))
    )


def normalise_line(line: str) -> str:
    """A line without list mark, backticks and repeated white space, by which two lines are compared."""
    words = line.replace("`", "").split()
    return " ".join(words[1:] if words and words[0] in {"-", "*", "+"} else words)


def measure_text(text: str) -> int:
    """The length as clients count it: in UTF-16 units, of which an emoji has two."""
    return len(text) + sum(char > "\uffff" for char in text) if not text.isascii() else len(text)


def cut_text(text: str, most: int) -> str:
    """The text, or as many of its first lines as have at most `most` characters."""
    if measure_text(text) <= most:
        return text
    kept, left = list[str](), most
    for line in text.splitlines():
        left -= measure_text(line) + 1
        if left < -1:
            break
        kept.append(line)
    return "\n".join(kept)


def name_occasion(source: str) -> Occasion:
    """The occasion for what a client calls the source of a session's start; an unknown one is a start."""
    known: Mapping[str, Occasion] = {"resume": "resume", "fork": "resume", "compact": "compact"}
    return known.get(source, "start")


# --- what plugins know of the person


class PersonRule(Struct, frozen=True):
    """One thing that is known of the person and holds in every project: a line of the file that each session loads."""

    id: str
    """Stable while the line has the same subject. Unique within the plugin."""
    text: str
    """The line, without a list mark."""
    by_person: bool = False
    """Whether the person stated it or changed it by hand. The file follows such a change at once, others once a day."""


class PersonRules(Protocol):
    """What one plugin knows of the person. Made by the hook `person-rules` of `PluginSpec.prompt_parts`."""

    @property
    def title(self) -> str:
        """The heading of its lines."""
        ...

    def list_files(self) -> Sequence[Path]:
        """The files that the lines are made from. They are asked for again when one of these changes."""
        ...

    def list_rules(self) -> Sequence[PersonRule]:
        """The lines that hold now, the most important first: the file has room for 2 KB. Raises OSError, TacitdError."""
        ...

    def withdraw_rule(self, id: str) -> Callable[[Tx], None] | None:
        """The person deleted this line: take it back where it is stored, or return what does that in a
        transaction. One that is gone is ignored. Raises OSError, TacitdError; then it is called again later.
        """
        ...
