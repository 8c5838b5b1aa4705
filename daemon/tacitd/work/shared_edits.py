"""What people edited in the files that plugins share with them: found once a minute, and reported once.

A comparison of stamps, in a worker, queues a task for each file that changed. The task looks at the file, gives its plugin the
edits that were not reported before, and notes them in the transaction of what the plugin makes of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from loguru import logger
from msgspec import Struct

from tacitd.contract import Done, Edits, Format, Leaf, Rows, Tx
from tacitd.errors import describe_plugin_error
from tacitd.files.shared_files import TWO_LOOKS, Look, SharedFiles
from tacitd.text.hashes import blake2b
from tacitd.work.task_rows import NewTask

EDITS = "edits "
"""The key of a task about a file that changed begins so; its path follows."""
Place = tuple[int | None, str]
"""The number and the root of a project; (None, "") for the person."""


class FileKind(Struct, frozen=True):
    """A `SharedFileKind` with its hooks."""

    name: str
    format: Format
    list_paths: Callable[..., Any]
    on_edits: Callable[..., Done]
    always: bool = False


class Sharing(Protocol):
    """A plugin with files that people edit too."""

    @property
    def name(self) -> str: ...
    @property
    def kinds(self) -> Sequence[FileKind]: ...


class FoundEdits(NamedTuple):
    """What a look found that was not reported before."""

    edits: Edits
    look: Look
    stamp: str
    """Of the file before the look."""
    again: float | None
    """Seconds until the file is to be looked at again; None: when it changes."""


def list_changed(
    plugins: Iterable[Sharing],
    rows: Rows,
    places: Iterable[Place],
    environ: Mapping[str, str],
    files: SharedFiles,
) -> list[NewTask]:
    """Compare the shared files of all plugins; return a task for each that changed since it was looked at last. In a worker."""
    known: dict[tuple[str, str], str] = {
        (plugin, path): stamp for plugin, path, stamp in rows("SELECT plugin, path, stamp FROM shared_file")
    }
    waiting = set(rows("SELECT plugin, key FROM task WHERE kind = 'file-changed' AND key LIKE 'edits %'"))
    found, listed = list[NewTask](), list(places)
    for plugin in plugins:
        for kind in plugin.kinds:
            for number, root in [(None, ""), *listed]:
                for path in _list_paths(plugin.name, kind.list_paths, rows, environ, root):
                    key = f"{EDITS}{path}"
                    before = known.get((plugin.name, str(path)))
                    stamp = files.read_stamp(path)
                    if (plugin.name, key) in waiting or stamp == before or (before is None and not stamp):
                        continue
                    data = {"path": str(path), "kind": kind.name}
                    found.append(NewTask(plugin.name, root, "file-changed", key, number, "", data))
    return found


def _list_paths(
    plugin: str, list_paths: Callable[..., Any], rows: Rows, environ: Mapping[str, str], root: str
) -> list[Path]:
    try:
        return [Path(one) for one in list_paths(rows, environ, Path(root) if root else None)]
    except Exception as error:  # noqa: BLE001  one plugin's fault affects no other
        logger.warning("{} cannot name its files: {}", plugin, describe_plugin_error(error))
        return []


def find_new_edits(
    files: SharedFiles, rows: Rows, path: Path, format: Format, undone: Collection[Leaf] = ()
) -> FoundEdits:
    """Look at a file. `undone`: leaves that a person took back by name, so that their removal is in no doubt. Raises FileBusyError,
    FileRefusedError, OSError."""
    stamp = files.read_stamp(path)
    look = files.take_look(path, format)
    seen: dict[Leaf, bytes] = dict(rows("SELECT leaf, digest FROM shared_seen WHERE path = ?", str(path)))
    edits = look.view.edits
    added = {leaf: value for leaf, value in edits.added.items() if seen.get(leaf) != _digest(value)}
    removed = edits.removed | {leaf for leaf in undone if leaf not in look.view.now}
    edits = edits._replace(added=added, removed=removed)
    again = TWO_LOOKS if look.view.doubt == "removed once" else None
    return FoundEdits(edits, look._replace(view=look.view._replace(edits=edits)), stamp, again)


def store_look(
    tx: Tx,
    files: SharedFiles,
    path: Path,
    plugin: str,
    format: Format,
    project: int | None,
    found: FoundEdits,
) -> None:
    """Note what was reported, in the transaction of what the plugin made of it."""
    files.store_look(tx, path, plugin, format, project, found.look)
    tx.execute("UPDATE shared_file SET stamp = ? WHERE path = ?", found.stamp, str(path))
    base = {leaf for (leaf,) in tx.rows("SELECT leaf FROM shared_leaf WHERE path = ?", str(path))}
    if found.look.view.exists:
        tx.execute("DELETE FROM shared_seen WHERE path = ?", str(path))
        tx.executemany(
            "INSERT INTO shared_seen(path, leaf, digest) VALUES(?, ?, ?)",
            [
                (str(path), leaf, _digest(value))
                for leaf, value in found.look.view.now.items()
                if leaf not in base
            ],
        )


def _digest(value: str) -> bytes:
    return blake2b(value.encode(errors="replace"), digest_size=16).digest()
