"""What is known of a project's mirrors: the texts that were written, and which lines of their sources are from here.

One JSON file for each project in the handler's directory. It is written before a mirror changes and again afterwards, so
that after a crash each mirror has one of the texts that it names.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from tacitd.errors import FileRefusedError
from tacitd.files.disk import Disk
from tacitd.files.rename import remove_files
from tacitd.files.replaced import replace_file
from tacitd_handlers.learning.safe_read import read_plain_bytes

READ_LIMIT = 32 << 20
HOME = "mirrors"
"""The directory of the records, in the handler's own."""
LINES_LIMIT = 20_000
"""Number of a source's lines above which those that it does not have any more are forgotten."""


class SourceRecord(Struct):
    """The lines of one source that were seen so far."""

    lines: dict[str, bool] = field(default_factory=dict)
    """By hash of a line: whether it was written on this machine. Otherwise it came with the project or through git."""
    head: str = ""
    """HEAD's commit at the last look; "" outside git and without a commit."""


class MirrorRecord(Struct):
    """What is known of one project's mirrors."""

    root: Path
    written: dict[Path, list[str]] = field(default_factory=dict)
    """By mirror: the text that was written last. There are two texts while it is not known which of them was; "" among
    them means that there is no file."""
    sources: dict[str, SourceRecord] = field(default_factory=dict)
    """By path of the source."""
    problems: list[str] = field(default_factory=list)
    """Why a mirror is not written or not read, for a person."""
    withheld: int = 0
    """Number of lines that are not shown, because they came with the project and it is not trusted."""
    asks: bool = True
    """Whether the person has not decided about them."""
    modules: list[str] = field(default_factory=list)
    """The paths of the AGENTS.md that have lines of tacitd's."""
    transactions: int = 0
    """Number of transactions so far; makes their keys unique."""
    kept: dict[str, str] = field(default_factory=dict)
    """By path of a source in the main work tree: its text, to restore it if git removes it."""
    displaced: dict[str, str] = field(default_factory=dict)
    """The same for a source that git replaced by its own: the text from before."""
    moves: int = 0
    """Size of the log of HEAD at the last look; 0: unknown."""

    def texts_of(self, path: Path) -> list[str]:
        """The texts that tacitd may have written into this mirror last; none if it wrote none."""
        return [text for text in self.written.get(path, ()) if text]

    def as_data(self) -> dict[str, Any]:
        """JSON: `{"root", "written": {path: [text]}, "sources": {path: {"lines": {hash: bool}, "head"}}, …}`."""
        return {
            "root": str(self.root),
            "written": {str(path): texts for path, texts in self.written.items()},
            "sources": {name: {"lines": one.lines, "head": one.head} for name, one in self.sources.items()},
            "problems": self.problems,
            "withheld": self.withheld,
            "asks": self.asks,
            "modules": self.modules,
            "transactions": self.transactions,
            "kept": self.kept,
            "displaced": self.displaced,
            "moves": self.moves,
        }


class MirrorRecords:
    """The records of all projects, in a directory of its own. Calls for one project must not overlap, except `list_known`
    and `find_known`."""

    def __init__(self, home: Path, disk: Disk | None = None) -> None:
        self.home = home
        self._disk = disk
        self._saved: dict[Path, bytes] = {}
        self._lock = threading.Lock()
        self._known: dict[Path, MirrorRecord] | None = None

    def load(self, root: Path) -> MirrorRecord:
        """Return the project's record; an empty one if there is none, or if it cannot be used. Raises OSError."""
        data = _read(self._path(root))
        self._saved[root] = data
        found = _parse_record(data)
        return found if found is not None and found.root == root else MirrorRecord(root)

    def save(self, record: MirrorRecord) -> None:
        """Write the record if it changed. Durable when it returns. Raises OSError."""
        data = json.dumps(record.as_data(), ensure_ascii=True).encode()
        if self._saved.get(record.root) != data:
            replace_file(self._path(record.root), data, mode=0o600, disk=self._disk)
            self._saved[record.root] = data
        known = self._load_known()
        with self._lock:
            known[record.root] = record

    def list_known(self) -> list[MirrorRecord]:
        """The records as they were saved last; the caller must not change them."""
        known = self._load_known()
        with self._lock:
            return list(known.values())

    def find_known(self, root: Path) -> MirrorRecord | None:
        """The project's record as it was saved last; the caller must not change it."""
        known = self._load_known()
        with self._lock:
            return known.get(root)

    def _load_known(self) -> dict[Path, MirrorRecord]:
        with self._lock:
            if self._known is None:
                self._known = {one.root: one for one in self.list_records()}
            return self._known

    def forget(self, root: Path) -> None:
        """Remove the project's record. Raises OSError."""
        self._saved.pop(root, None)
        if self._path(root).exists():
            remove_files([self._path(root)], self._disk)

    def list_records(self) -> Iterator[MirrorRecord]:
        """Yield the records of all projects that can be read."""
        for path in sorted(self.home.glob("*.json")):
            with suppress(OSError):
                if (found := _parse_record(_read(path))) is not None:
                    yield found

    def _path(self, root: Path) -> Path:
        return self.home / f"{hashlib.sha256(str(root).encode()).hexdigest()[:24]}.json"


def _read(path: Path) -> bytes:
    try:
        return read_plain_bytes(path, READ_LIMIT) or b""
    except FileRefusedError:
        return b""


def _parse_record(data: bytes) -> MirrorRecord | None:
    try:
        raw = json.loads(data)
        return MirrorRecord(
            Path(raw["root"]),
            {Path(path): [str(text) for text in texts] for path, texts in raw["written"].items()},
            {
                str(name): SourceRecord(
                    {str(key): value is True for key, value in one["lines"].items()}, str(one["head"])
                )
                for name, one in raw["sources"].items()
            },
            [str(one) for one in raw["problems"]],
            int(raw["withheld"]),
            raw.get("asks") is not False,
            [str(one) for one in raw["modules"]],
            int(raw["transactions"]),
            {str(name): str(text) for name, text in raw.get("kept", {}).items()},
            {str(name): str(text) for name, text in raw.get("displaced", {}).items()},
            int(raw.get("moves", 0)),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
