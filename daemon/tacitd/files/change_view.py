"""A transaction as people see it: which lines it added, removed and replaced in which file, and why. Pure.

`tacitd history` and `tacitd show` print it. The records themselves are in transaction_records.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tacitd.clock import utc_seconds
from tacitd.files.operations import Effect, Operation, PutLine, SwapLine
from tacitd.files.transaction_records import UNDONE, Transaction
from tacitd.files.undo import map_undone
from tacitd.text.markdown import clean_line


def describe_transactions(transactions: Iterable[Transaction]) -> list[dict[str, Any]]:
    """Return what each transaction did as JSON, in the given order; see `describe_transaction`."""
    listed = list(transactions)
    undone = map_undone(listed)
    return [describe_transaction(each, undone.get(each.id, "")) for each in listed]


def describe_transaction(done: Transaction, undone_by: str = "") -> dict[str, Any]:
    """Return what a transaction did as JSON.

    The keys are `id`, `at` (UTC, `2025-12-17T01:50:00Z`), `root`, `state` (`done`, or `intent` while it is not finished),
    `by` and `what` (which plugin's which work), `undoes` and `undone_by` (ids or ""), `sessions` and `prompts` (ids),
    `facts` (what the lines were made of), `lines` (`{"file", "heading", "added", "removed"}`, the texts "" if there is
    none) and `files` (`{"file", "did"}`: files that were changed as a whole). A file below the root is relative to it.
    """
    cause = done.cause
    return {
        "id": done.id,
        "at": utc_seconds(done.at),
        "root": str(done.root),
        "state": done.state,
        "by": str(cause.get("by", "")),
        "what": str(cause.get("what", "")),
        "undoes": str(cause.get(UNDONE, "")),
        "undone_by": undone_by,
        "sessions": _texts(cause, "sessions"),
        "prompts": _texts(cause, "prompts"),
        "facts": _texts(cause, "facts"),
        "lines": list(_list_changed_lines(done)),
        "files": list(_list_changed_files(done)),
    }


def summarise_transaction(done: Transaction) -> str:
    """Return what a transaction changed as one clause without the lines' text: `LEARNED.md +2 -1, AGENTS.md +1`.

    Files that were changed as a whole are named without numbers; of more than four files, three are named.
    """
    added, removed = Counter[str](), Counter[str]()
    files = [_shorten_path(path, done.root) for path in done.written]
    for line in _list_changed_lines(done):
        added[line["file"]] += bool(line["added"])
        removed[line["file"]] += bool(line["removed"])
    named = [
        f"{file}{f' +{added[file]}' if added[file] else ''}{f' -{removed[file]}' if removed[file] else ''}"
        for file in (files if len(files) <= 4 else files[:3])
    ]
    return ", ".join(named) + (f" and {len(files) - 3} more files" if len(files) > 4 else "")


def _list_changed_lines(done: Transaction) -> Iterator[dict[str, str]]:
    for operation, effect in zip(done.operations, done.effects, strict=True):
        changed = operation.find_changed_lines(effect)
        if changed.put is not None or changed.taken is not None:
            yield {
                "file": _shorten_path(operation.path, done.root),
                "heading": _find_heading(operation, effect),
                "added": clean_line(changed.put or ""),
                "removed": clean_line(changed.taken or ""),
            }


def _list_changed_files(done: Transaction) -> Iterator[dict[str, str]]:
    for operation, effect in zip(done.operations, done.effects, strict=True):
        if effect.did in ("written", "appended", "removed"):
            yield {"file": _shorten_path(operation.path, done.root), "did": effect.did}


def _find_heading(operation: Operation, effect: Effect) -> str:
    """The heading that the line is or was under."""
    if effect.heading:
        return effect.heading
    return operation.heading if isinstance(operation, PutLine | SwapLine) else ""


def _shorten_path(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def _texts(cause: Mapping[str, Any], name: str) -> list[str]:
    found = cause.get(name)
    return [str(each) for each in found] if isinstance(found, list | tuple) else []
