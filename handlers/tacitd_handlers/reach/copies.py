"""The copies of lines in the work trees of a project, and what a person edits in one: it is applied to the source, and then the copies follow.

A copy is a rule file in `.claude/rules/`, or the block in the AGENTS.md of a work tree.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from tacitd.contract import Cause, Done, Edits, FileChange, Format, Leaf, Rows, Tools, Tx
from tacitd.errors import FileRefusedError
from tacitd.events import Project
from tacitd.files import git
from tacitd.files.formats import bullet, split_bullet
from tacitd.files.git import list_work_trees
from tacitd.files.write_checks import refuse_foreign, refuse_unwritable
from tacitd.sources.registry import RULES
from tacitd_handlers.learning.folders import GENERAL
from tacitd_handlers.learning.learned_rows import (
    list_listeners,
    mark_line,
    queue_message,
    read_lines_of,
    reword_line,
    tell_removed,
)
from tacitd_handlers.learning.sources import LEAVES, Place, read_checked
from tacitd_handlers.reach.client_rules import (
    AGENTS,
    LEARNED,
    PROJECT_RULE,
    TEAM_RULE,
    name_module_rules,
)
from tacitd_handlers.reach.rule_text import (
    COPY,
    FOOT_START,
    HEAD_START,
    is_line,
    show_line,
)
from tacitd_handlers.shared.places import read_plain_bytes
from tacitd_handlers.shared.words import share_subject

COPIES = "copies"
HINT = "move it away or mend it; the copy is made when the next session starts"
LARGEST = 1 << 20
"""Bytes. A longer file was not made by tacitd."""
WITH_LINES = "SELECT DISTINCT path FROM learning_line WHERE project IS ? AND state = 'present'"


class Copy(NamedTuple):
    """A rule file of a project in one of its work trees."""

    path: Path
    tree: Path
    root: Path
    source: Path
    folder: str = ""
    """The module's folder relative to the work tree; "" for what holds in the whole project."""

    @property
    def is_block(self) -> bool:
        """Whether it is the block in the AGENTS.md of a work tree, for agents that load no rules."""
        return self.path == self.tree / AGENTS

    @property
    def home(self) -> Path:
        return self.tree if self.source.is_relative_to(self.tree) else self.root

    @property
    def name(self) -> str:
        """The source's path relative to its work tree."""
        if self.folder:
            return f"{self.folder}/{AGENTS}"
        return TEAM_RULE if self.source.name == AGENTS else LEARNED


def queue_copies(tx: Tx, place: Place, now: float) -> None:
    """Have the copies of a project, its summary and its raw file follow, once its changes are committed."""
    if place.project is not None:
        queue_message(tx, COPIES, place, now)


def list_copies(rows: Rows, environ: Mapping[str, str], root: Path | None) -> list[Path]:
    return [] if root is None else list_written(rows, root, COPY)


def list_written(rows: Rows, root: Path, format: Format) -> list[Path]:
    found = rows(
        "SELECT path FROM shared_file WHERE format = ? AND changes > 0 "
        "AND project = (SELECT number FROM project WHERE root = ?) ORDER BY path",
        format.name,
        str(root),
    )
    return [Path(path) for (path,) in found]


def plan_copies(rows: Rows, number: int | None, root: Path, *, blocks: bool) -> list[Copy]:
    """The copies that a project may have: of LEARNED.md, and of each AGENTS.md with a line of tacitd's. `blocks`: also in the root's
    AGENTS.md (`reach.codex`)."""
    paths = {Path(path) for (path,) in rows(WITH_LINES, number)}
    folders = [
        path.parent.relative_to(root).as_posix()
        for path in sorted(paths)
        if path.name == AGENTS and path.is_relative_to(root) and path != root / TEAM_RULE
    ]
    named = name_module_rules(folders)
    found, team = list[Copy](), root / TEAM_RULE
    for tree in list_work_trees(root):
        # A work tree's own file if it has one, as a file that git tracks; otherwise the main one's.
        learned = tree / LEARNED if os.path.lexists(tree / LEARNED) else root / LEARNED
        found.append(Copy(tree / PROJECT_RULE, tree, root, learned))
        if blocks:
            found.append(Copy(tree / AGENTS, tree, root, team if team in paths else learned))
        if team in paths and tree != root:
            found.append(Copy(tree / TEAM_RULE, tree, root, team))
        for folder, name in named.items():
            own, main = (one / folder / AGENTS for one in (tree, root))
            found.append(Copy(tree / name, tree, root, own if os.path.lexists(own) else main, folder))
    return found


def find_tree(path: Path) -> Path:
    return next(one.parents[1] for one in path.parents if one.parts[-2:] == Path(RULES).parts)


def find_obstacle(path: Path, tree: Path, rows: Rows) -> str:
    """Why nothing is read or written at the place of a copy, as a clause; "" if nothing is in the way."""
    names = path.relative_to(tree).parts
    try:
        for place in (tree.joinpath(*names[:depth]) for depth in range(1, len(names))):
            if place.is_symlink():
                return f"is behind the link {place}"
            if os.path.lexists(place) and not place.is_dir():
                return f"cannot be made: {place} is not a directory"
        if git.read_index_mode(tree, path):
            return f"is tracked by git: `git rm --cached {path.relative_to(tree)}`, and commit that"
        if os.path.lexists(path):
            refuse_foreign(path)
            data = path.read_bytes()
            COPY.read_leaves(data)
            known = rows("SELECT 1 FROM shared_file WHERE path = ? AND changes > 0", str(path))
            # A clone does not bring this clone's exclude file: tacitd made what it has, whatever the store lost.
            is_ours = known or (HEAD_START.encode() in data and git.is_ignored(tree, path))
            if b"\0" in data or not is_ours:
                return "was not written by this tacitd: move it away"
        refuse_unwritable(path)
    except FileRefusedError as error:
        return f"is not up to date: {error.what}"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return ""


def why_kept(copy: Copy, project: Project, tools: Tools) -> str:
    """Why an edit of a copy cannot be moved to its source; "" if it can."""
    if project.git and git.read_index_mode(copy.home, copy.source) and tools.write_mode(project) != "shared":
        return "git tracks that"
    return "" if copy.source.exists() else "that does not exist"


def match_lines(known: Iterable[str], *, is_cut: bool) -> Callable[[str], bool]:
    """Whether a line of a copy is one of these. `is_cut`: the copy was cut off, so that the beginning of one is what is left of it."""
    if is_cut:
        whole = [*known, HEAD_START, FOOT_START]
        return lambda text: any(one.startswith(text) for one in whole)
    exact = set(known)
    return lambda text: text in exact


# --- a person's edits


def take_copy_edits(path: Path, edits: Edits, tools: Tools) -> Done:
    """Apply a person's edits of a copy to its source. What cannot be moved there is named, and stays in the copy."""
    found = tools.rows(
        "SELECT p.root, p.number, p.common FROM shared_file f JOIN project p ON p.number = f.project WHERE f.path = ?",
        str(path),
    )
    if not found:
        return Done()
    root, number = Path(found[0][0]), found[0][1]
    project = Project(root, git=found[0][2] is not None)
    now, data = tools.clock.now(), None
    place = Place(number, root, project)
    follow = Done(lambda tx: queue_copies(tx, place, now))
    if not any(edits):
        return follow
    copies = plan_copies(tools.rows, number, root, blocks=False)
    copy = next((one for one in copies if one.path == path), None)
    if copy is None or git.read_index_mode(copy.tree, path):
        return Done()
    why = why_kept(copy, project, tools)
    with suppress(FileRefusedError):
        data = read_checked(copy.source, copy.home)
    source = LEAVES.read_leaves(data or b"")
    is_cut = COPY.is_cut(read_plain_bytes(path, LARGEST) or b"", {})
    moved = _move_edits(edits, source, is_cut=is_cut)
    if data is None or why or not moved.changes:
        return follow
    lines = {line.text: line for line in read_lines_of(tools.rows, str(copy.source))}
    removed = [lines[text] for text in moved.removed if text in lines]
    listeners = list_listeners(tools)

    def apply(tx: Tx) -> None:
        for line in removed:
            mark_line(tx, line.number, "removed")
        for text, (heading, new) in moved.reworded.items():
            if text in lines:
                reword_line(tx, lines[text].number, str(copy.source), heading, new)
        tell_removed(tx, listeners, place, [line.text for line in removed], now)
        queue_copies(tx, place, now)

    cause = Cause(f"edit of {path} {now}", "copy", f"you changed {path.name}")
    change = FileChange(copy.source, LEAVES, lambda now, edits: moved.changes, cause, theirs=True)
    return Done(apply, (change,))


class _Moved(Struct, frozen=True):
    changes: dict[Leaf, str | None]
    removed: list[str]
    reworded: dict[str, tuple[str, str]]
    """By the text of the source's line: heading and text in the place of it."""


def _move_edits(edits: Edits, source: Mapping[Leaf, str], *, is_cut: bool) -> _Moved:
    """A copy shows a line without comments and imports, so its lines are found by what is shown. What the source says already, and the
    rest of a line that was cut, is no addition."""
    by_shown = {show_line(text): leaf for leaf, text in source.items()}
    is_known = match_lines(by_shown, is_cut=is_cut)
    moved = _Moved({}, [], {})
    added = list(edits.added)
    changed: dict[Leaf, tuple[Leaf, str] | None] = {**dict.fromkeys(edits.removed), **edits.changed}
    for leaf, put in changed.items():
        at = by_shown.get(split_bullet(leaf)[1]) if is_line(leaf) else None
        if at is None or (put is not None and not is_line(put[0])):
            added += [put[0]] if put is not None else []
            continue
        text = put[1] if put is not None and put[1] not in by_shown else None
        moved.changes[at] = text
        if text is not None and share_subject(source[at], text):
            moved.reworded[source[at]] = (split_bullet(at)[0], text)
        else:
            moved.removed.append(source[at])
    for heading, text in map(split_bullet, filter(is_line, added)):
        if not is_known(text):
            moved.changes[bullet(heading or GENERAL, text)] = text
    return moved
