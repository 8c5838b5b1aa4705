"""What people edited in the files that plugins share with them: found once a minute, and reported once.

A comparison of stamps queues a task for each file that changed. It looks at the file, gives its plugin the edits that were not
reported before, and notes them in the transaction of what the plugin makes of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tacitd.contract import Format, Leaf, Rows, Tx
from tacitd.files.shared_files import Look, SharedFiles
from tacitd.text.hashes import blake2b
from tacitd.work.task_rows import NewTask, insert_task

EDITS = "edits "
"""The beginning of a task's key; the path follows."""


def find_new_edits(
    files: SharedFiles, rows: Rows, path: Path, format: Format, undone: Collection[Leaf] = ()
) -> tuple[Look, str]:
    """Look at a file; return the look with the edits that were not reported before, and the stamp of the file before it. `undone`:
    leaves that a person took back by name, so that their removal is in no doubt. Raises FileBusyError, FileRefusedError, OSError."""
    stamp = files.read_stamp(path)
    look = files.take_look(path, format)
    seen: dict[Leaf, bytes] = dict(rows("SELECT leaf, digest FROM shared_seen WHERE path = ?", str(path)))
    edits = look.view.edits
    added = {leaf: value for leaf, value in edits.added.items() if seen.get(leaf) != _digest(value)}
    removed = edits.removed | {leaf for leaf in undone if leaf not in look.view.now}
    edits = edits._replace(added=added, removed=removed)
    return look._replace(view=look.view._replace(edits=edits)), stamp


def store_look(
    tx: Tx,
    files: SharedFiles,
    path: Path,
    plugin: str,
    format: Format,
    project: int | None,
    look: Look,
    stamp: str,
) -> None:
    files.store_look(tx, path, plugin, format, project, look)
    tx.execute("UPDATE shared_file SET stamp = ? WHERE path = ?", stamp, str(path))
    base = {leaf for (leaf,) in tx.rows("SELECT leaf FROM shared_leaf WHERE path = ?", str(path))}
    if look.view.exists:
        theirs = [
            (str(path), leaf, _digest(value)) for leaf, value in look.view.now.items() if leaf not in base
        ]
        tx.execute("DELETE FROM shared_seen WHERE path = ?", str(path))
        tx.executemany("INSERT INTO shared_seen(path, leaf, digest) VALUES(?, ?, ?)", theirs)


def queue_undone(edited: Iterable[NewTask], now: float, tx: Tx) -> None:
    """Queue what passes an undo on. Leaves of an earlier one that waits still count."""
    for new in edited:
        waits = "SELECT data FROM task WHERE plugin = ? AND kind = 'file-changed' AND key = ?"
        undone = list(new.data["undone"])
        for (waiting,) in tx.rows(waits, new.plugin, new.key):
            undone += msgspec.json.decode(waiting).get("undone", [])
        insert_task(tx, replace(new, data={**new.data, "undone": undone}), now)


def _digest(value: str) -> bytes:
    return blake2b(value.encode(errors="replace"), digest_size=16).digest()
