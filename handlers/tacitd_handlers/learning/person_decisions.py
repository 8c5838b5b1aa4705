"""What a person decided about lines, with `tacitd forget`, `accept` and `review`: the log, and which texts are forgotten.

A forgotten line is not written again, and a fact that says the same is not kept. A line that the person writes by hand stays:
a decision only concerns what tacitd writes.

A record is `{"at", "root", "id", "choice", "place", "text", "facts", "digests", "done"}`: `at` in seconds since 1970, UTC;
`choice` is `keep`, `drop`, `edit` or `restore`; `place` is the line's file; `facts` are the facts that it was made of;
`digests` are those of the text and the facts, which remain when their words are purged; `done` is the id of the transaction
that removed the line.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from tacitd.errors import UsageError
from tacitd.files.disk import Disk
from tacitd.files.log import BLANK, Log
from tacitd.text.hashes import sha256
from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.shared.equality import normalise_text
from tacitd_handlers.shared.fact_index import FactIndex

DECISIONS_LOG = "decisions.jsonl"
ID_LENGTH = 8
"""Hexadecimal digits of an item's id."""


class StoredDecision(Struct, frozen=True):
    """One record of the log."""

    at: float
    root: str
    id: str
    choice: str
    place: str = ""
    text: str = ""
    facts: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()
    done: str = ""


class ForgottenTexts:
    """The texts of one project that are never written again."""

    def __init__(self, dropped: Iterable[StoredDecision]) -> None:
        listed = list(dropped)
        self._texts = FactIndex(text for one in listed for text in (one.text, *one.facts) if text != BLANK)
        self._digests = {digest for one in listed for digest in one.digests}

    def covers(self, text: str) -> bool:
        """Whether a text says what was forgotten, exactly as far as two lines are judged to say the same.

        What is left of a purged fact that still waits counts too.
        """
        if not self._digests:
            return False
        return text == BLANK or digest_text(text) in self._digests or self._texts.find_equal(text) is not None


def make_item_id(*parts: str) -> str:
    """A short id that is derived from what the item is: eight hexadecimal digits."""
    return sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:ID_LENGTH]


def make_line_id(root: Path, file: str, line: str) -> str:
    """The id of a line. `file` is relative to `root`."""
    return make_item_id("line", str(root), file, line)


def make_withheld_id(root: Path, file: str, line: str) -> str:
    """The id of a withheld line. `file` is relative to `root`."""
    return make_item_id("withheld", str(root), file, line)


def digest_text(text: str) -> str:
    """Identifies what a text says, after spelling and the like are folded: 32 hexadecimal digits."""
    return sha256(normalise_text(text).encode("utf-8", "replace")).hexdigest()[:32]


def clean_text(text: str) -> str:
    """The person's words for a line, without hidden characters. Raises UsageError if nothing is left."""
    cleaned = f"{sanitize_line(text).strip()} ".removeprefix("- ").strip()
    if not cleaned:
        raise UsageError("the text is empty", "give the words of the line")
    return cleaned


def append_decision(home: Path, decision: StoredDecision, disk: Disk | None = None) -> None:
    """Append a durable record. `home`: the handler's directory. Raises OSError, LogDamagedError."""
    Log(home / DECISIONS_LOG, disk).append_and_close(asdict(decision))


def make_drop(at: float, root: Path, id: str, place: str, text: str, facts: Sequence[str]) -> StoredDecision:
    """The decision to forget a text and the facts that it was made of. `at`: seconds since 1970, UTC."""
    digests = tuple(dict.fromkeys(digest_text(each) for each in (text, *facts) if each))
    return StoredDecision(at, str(root), id, "drop", place, text, tuple(facts), digests)


def read_decisions(home: Path, root: Path | None = None) -> list[StoredDecision]:
    """The decisions about a project, or all of them (None), oldest first. Raises OSError."""
    read = (_read_record(record) for record in Log(home / DECISIONS_LOG).read())
    return [one for one in read if one is not None and root in (None, Path(one.root))]


def list_dropped(decisions: Iterable[StoredDecision]) -> dict[str, StoredDecision]:
    """By id, what is forgotten and was not restored since."""
    dropped: dict[str, StoredDecision] = {}
    for one in decisions:
        if one.choice == "drop":
            before = dropped.get(one.id)
            # The second record of one decision names the transaction; a repeated one must not lose it.
            dropped[one.id] = one if one.done or before is None else before
        elif one.choice == "restore":
            dropped.pop(one.id, None)
    return dropped


class LineDecisions:
    """What a person decided about lines that were written, of all projects."""

    def __init__(self, decisions: Iterable[StoredDecision] = ()) -> None:
        listed = list(decisions)
        self.dropped = list_dropped(listed)
        """By id, what is forgotten."""
        self._dropped: dict[Path, set[str]] = {}
        for one in self.dropped.values():
            if one.text:
                self._dropped.setdefault(Path(one.root), set()).add(normalise_text(one.text))
        self._kept = {one.id: one.at for one in listed if one.choice == "keep"}
        self._reworded = {one.id: one.at for one in listed if one.choice == "edit"}

    def is_dropped(self, root: Path, line: str) -> bool:
        """Whether it is forgotten."""
        return root in self._dropped and normalise_text(line) in self._dropped[root]

    def kept_at(self, id: str) -> float:
        """When the person last said that the item stays, or is to be stored: seconds since 1970, UTC; 0: never."""
        return self._kept.get(id, 0.0)

    def is_reworded(self, id: str) -> bool:
        """Whether the person stored other words in the place of the item."""
        return id in self._reworded

    def is_settled(self, id: str, at: float) -> bool:
        """Whether the person decided about an item that came up last at `at`: seconds since 1970, UTC."""
        return id in self.dropped or max(self.kept_at(id), self._reworded.get(id, 0.0)) >= at


def read_line_decisions(home: Path) -> LineDecisions:
    """The decisions about lines of all projects. Raises OSError."""
    return LineDecisions(read_decisions(home))


def read_forgotten(home: Path, root: Path) -> ForgottenTexts:
    """What must not be written again in this project. Raises OSError."""
    return ForgottenTexts(list_dropped(read_decisions(home, root)).values())


def _read_record(record: dict[str, Any]) -> StoredDecision | None:
    """Decode a record; None if it is another program's."""
    at, texts = record.get("at"), (record.get("facts"), record.get("digests"))
    if not isinstance(at, int | float) or not all(isinstance(one, list) for one in texts):
        return None
    names = ("root", "id", "choice", "place", "text", "done")
    fields = {name: str(record.get(name, "")) for name in names}
    facts, digests = (tuple(map(str, one or ())) for one in texts)
    return StoredDecision(at=float(at), facts=facts, digests=digests, **fields)
