"""The history: the rows of `change` as people see them, and what takes one back.

`rows` is any function that returns the rows of a SELECT.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from tacitd.clock import utc_seconds
from tacitd.errors import UsageError

if TYPE_CHECKING:
    from tacitd.contract import FileChange, Leaf, Row, Rows, Tx

DAY = 86_400.0
_CHANGES = """
SELECT c.number, c.id, c.at, c.plugin, r.root, c.cause, c.session, c.state,
  (SELECT u.id FROM change u WHERE u.number = c.undoes), (SELECT max(u.id) FROM change u WHERE u.undoes = c.number)
FROM change c LEFT JOIN project r ON r.number = c.project
"""


class ChangedLine(Struct, frozen=True):
    """A row of `change_line`, or of `plan` if it is not written yet."""

    path: Path
    leaf: Leaf
    taken: str | None
    put: str | None


def list_row_changes(rows: Rows, root: Path | None = None, since: float = 0.0) -> list[dict[str, Any]]:
    """The changes of a project's files and of the person's (None: of all) since a time (seconds since 1970, UTC), oldest first, as
    JSON.

    The keys are `id`, `at` (UTC, `2025-12-17T01:50:00Z`), `root`, `state` (`done`, or `intent` while it is not finished), `by` and
    `what` (which plugin, and the cause), `undoes` and `undone_by` (ids or ""), `sessions` and `prompts` (ids), and `lines`
    (`{"file", "heading", "added", "removed"}`, the texts "" if there is none). A file below the root is relative to it. `facts` and
    `files` are of changes that a plugin lists by itself (the hook `history`).
    """
    found = [_describe(rows, row) for row in rows(f"{_CHANGES} WHERE c.at >= ? ORDER BY c.number", since)]
    return [one for one in found if one["lines"] and (root is None or one["root"] in ("", str(root)))]


def find_row_change(rows: Rows, id: str) -> dict[str, Any] | None:
    """The change with this id, with `plugin`; None if the store has none."""
    found = rows(f"{_CHANGES} WHERE c.id = ?", id)
    return _describe(rows, found[0]) if found else None


def make_change_key(key: str, path: Path) -> str:
    """What is stored of the key of a decision about a file."""
    from tacitd.text.hashes import blake2b  # not for a command that only lists

    return blake2b(f"{key} {path}".encode(errors="replace"), digest_size=8).hexdigest()


def name_change(change: FileChange) -> str:
    """The key of a change of a file."""
    return make_change_key(change.cause.key, Path() if change.cause.joins else change.path)


def forget_unlisted(tx: Tx, now: float) -> None:
    """Remove changes without a line, such as those of copies: they are no part of the history, and no task of yesterday is repeated."""
    tx.execute(
        "DELETE FROM change WHERE state = 'done' AND undoes IS NULL AND at < ? "
        "AND NOT EXISTS(SELECT 1 FROM change_line l WHERE l.change = change.number)",
        now - DAY,
    )


def note_change(tx: Tx, number: int, now: float) -> None:
    """A change was written: a row of `activity`, and which of the lines that were learned are there now. A line that was moved is removed
    and put in one change."""
    change = _describe(tx.rows, tx.rows(f"{_CHANGES} WHERE c.number = ?", number)[0])
    if not change["lines"]:
        return
    gone = {line["removed"]: 1 for line in change["lines"]} | {line["added"]: 0 for line in change["lines"]}
    tx.executemany(
        "UPDATE activity SET gone = ? WHERE did = 'learned' AND text = ? AND root = ?",
        [(is_gone, text, change["root"]) for text, is_gone in gone.items() if text],
    )
    tx.execute(
        "INSERT INTO activity(at, plugin, did, text, place, about) VALUES(?, '', 'changed', ?, ?, ?)",
        now,
        summarise_row(change),
        Path(change["root"]).name,
        f"tacitd show {change['id']}",
    )


def list_lines(rows: Rows, number: int) -> list[ChangedLine]:
    """What a change did, or is to do, leaf by leaf."""
    found = rows("SELECT path, leaf, taken, put FROM change_line WHERE change = ? ORDER BY number", number)
    found = found or rows(
        "SELECT path, leaf, expected, put FROM plan WHERE change = ? ORDER BY place", number
    )
    return [ChangedLine(Path(path), leaf, taken, put) for path, leaf, taken, put in found]


def summarise_row(change: Mapping[str, Any]) -> str:
    """What a change did as one clause without the lines' text: `LEARNED.md +2 -1`."""
    added, removed = (
        Counter(line["file"] for line in change["lines"] if line[way]) for way in ("added", "removed")
    )
    parts = (
        (file, f"+{added[file]}" if added[file] else "", f"-{removed[file]}" if removed[file] else "")
        for file in dict.fromkeys(line["file"] for line in change["lines"])
    )
    return ", ".join(" ".join(filter(None, part)) for part in parts)


def list_reasons(
    rows: Rows, text: str, root: Path | None, known_by: Collection[str] = ()
) -> Iterator[dict[str, Any]]:
    """The written lines that contain a text, the newest of each, for `tacitd why`. `known_by`: plugins that explain
    their lines themselves."""
    known = set[tuple[str, str]]()
    for number, path, put, plugin in rows(
        "SELECT l.change, l.path, l.put, c.plugin FROM change_line l JOIN change c ON c.number = l.change "
        "WHERE l.put IS NOT NULL AND instr(lower(l.put), lower(?)) ORDER BY l.change DESC",
        text,
    ):
        if plugin in known_by:
            continue
        (row,) = rows(f"{_CHANGES} WHERE c.number = ?", number)
        change = _describe(rows, row)
        if (path, put) in known or change["root"] not in ("", str(root)):
            continue
        known.add((path, put))
        said = rows(
            "SELECT w.text, p.typed FROM change_prompt c JOIN prompt p ON p.number = c.prompt "
            "JOIN prompt_text w ON w.prompt = p.number WHERE c.change = ? ORDER BY p.number",
            number,
        )
        yield {
            "id": change["id"],
            "what": put,
            "where": _shorten(Path(path), change["root"]),
            "root": change["root"],
            "at": change["at"],
            "sessions": change["sessions"],
            "words": [words for words, _ in said],
            "said": [{"words": words, "at": utc_seconds(at)} for words, at in said],
        }


def require_undoable(rows: Rows, change: Mapping[str, Any]) -> None:
    """Raises UsageError for a change that is not finished, has no lines, or was undone and restored."""
    if change["state"] != "done":
        raise UsageError(f"{change['id']} is not finished yet", "try again later")
    if not change["lines"]:
        raise UsageError(f"{change['id']} changed no line: there is nothing to undo")
    undo = find_row_change(rows, change["undone_by"]) if change["undone_by"] else None
    if undo is not None and undo["undone_by"]:
        raise UsageError(
            f"{change['id']} was undone and restored", f"undo the last of these: {undo['undone_by']}"
        )


class RowUndo(NamedTuple):
    """What takes the lines of one file back."""

    back: dict[Leaf, str | None]
    left: list[str]
    """Lines that somebody removed or changed since: they stay as they are."""


def plan_row_undo(lines: Iterable[ChangedLine], now: Mapping[Leaf, str]) -> RowUndo:
    """What takes the lines of one file back, given what is in it now. Pure."""
    back: dict[Leaf, str | None] = {}
    left = list[str]()
    for line in lines:
        if line.put is None:
            if line.leaf not in now:
                back[line.leaf] = line.taken
        elif (leaf := _find_leaf(line, now)) is not None:
            back[leaf] = line.taken
        else:
            left.append(line.put)
    return RowUndo(back, left)


def _find_leaf(line: ChangedLine, now: Mapping[Leaf, str]) -> Leaf | None:
    """Where the text stands that a change put: a reworded line has the name of its new words."""
    if now.get(line.leaf) == line.put:
        return line.leaf
    heading = line.leaf.partition("\n")[0]
    named = (leaf for leaf, value in now.items() if value == line.put)
    return next((leaf for leaf in named if leaf.partition("\n")[0] == heading and "\n" in leaf), None)


def _describe(rows: Rows, row: Row) -> dict[str, Any]:
    number, id, at, plugin, root, cause, session, state, undoes, undone_by = row
    prompts = rows(
        "SELECT p.id FROM change_prompt c JOIN prompt p ON p.number = c.prompt WHERE c.change = ? ORDER BY p.number",
        number,
    )
    return {
        "id": id,
        "at": utc_seconds(at),
        "root": root or "",
        "state": "done" if state == "done" else "intent",
        "by": plugin,
        "what": cause,
        "undoes": undoes or "",
        "undone_by": undone_by or "",
        "sessions": [session] if session else [],
        "prompts": [one for (one,) in prompts],
        "facts": [],
        "lines": [_describe_line(one, root or "") for one in list_lines(rows, number)],
        "files": [],
    }


def _describe_line(line: ChangedLine, root: str) -> dict[str, str]:
    file, (heading, newline, _) = _shorten(line.path, root), line.leaf.partition("\n")
    put, taken = line.put or "", line.taken or ""
    try:
        keys = json.loads(line.leaf) if line.leaf.startswith("[") else []
    except ValueError:
        keys = []
    if keys:  # a value in a JSON document: its dot path
        name = ".".join(str(key) for key in keys if not isinstance(key, list))
        put, taken = (f"{name}: {_read_value(text)}" if text else "" for text in (put, taken))
        return {"file": file, "heading": "", "added": put, "removed": taken}
    is_value = line.leaf not in (line.put, line.taken)
    return {"file": file, "heading": heading if newline or is_value else "", "added": put, "removed": taken}


def _read_value(text: str) -> str:
    value = json.loads(text)
    return value if isinstance(value, str) else text


def _shorten(path: Path, root: str) -> str:
    return path.relative_to(root).as_posix() if root and path.is_relative_to(root) else str(path)
