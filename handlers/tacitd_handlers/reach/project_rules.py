"""The rule files of projects: generated copies of LEARNED.md and of modules' AGENTS.md in `.claude/rules/` of every work tree, where
the client loads them.

They follow their sources: whoever changes one queues the task "copies" of its project. What a person edits in a copy is
applied to its source, and then the copies follow. They have no state but what the engine notes of each file that people edit too.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from tacitd.contract import Cause, Done, Edits, FileChange, Format, Leaf, Task, Tools, Tx
from tacitd.errors import FileRefusedError
from tacitd.events import Project
from tacitd.files import git
from tacitd.files.formats import bullet, split_bullet
from tacitd.files.git import list_work_trees
from tacitd.files.write_checks import refuse_unwritable
from tacitd.handler import Notice
from tacitd.text.hashes import sha256
from tacitd_handlers.learning.folders import TITLE
from tacitd_handlers.learning.learned_rows import (
    LineRow,
    find_trust,
    mark_line,
    read_lines_of,
)
from tacitd_handlers.learning.sources import LEAVES, Place, make_format, read_checked, title_for
from tacitd_handlers.reach.client_rules import (
    LEARNED,
    RULE_PATTERNS,
    SEE_ALSO,
    front_matter,
)
from tacitd_handlers.reach.copies import (
    HINT,
    LARGEST,
    WITH_LINES,
    Copy,
    find_obstacle,
    find_tree,
    list_written,
    match_lines,
    plan_copies,
    queue_copies,
    why_kept,
)
from tacitd_handlers.reach.hiding import (
    RULES_FOLDER,
    hide,
    hide_from_package,
    is_listed,
    list_patterns,
)
from tacitd_handlers.reach.rule_text import (
    BLOCK,
    COPY,
    TEXT,
    WHOLE,
    is_line,
    render_lines,
    render_rule,
)
from tacitd_handlers.shared.places import read_plain_bytes
from tacitd_handlers.shared.problems import report_problem

PROBLEM, BUSY = "learning.copies", "learning.git"
THEIRS = "has a block that this tacitd did not write, or that was changed: move lines of yours out of it, and delete it"


# --- the task


def write_copies(task: Task, tools: Tools) -> Done:
    """Bring the copies of a task's project up to date, or remove them if there are to be none.

    Those in a linked work tree in which git changes files wait until it is done. Raises FileBusyError while git changes files of the
    main one, or an editor one of the files.
    """
    if not isinstance(task.project, Project) or not task.project.root.is_dir():
        return Done()
    look = _CopyRound(task.project, task.project_number, tools)
    reach = tools.settings["reach"]
    is_wanted = (reach.project_rules or reach.codex) and tools.write_mode(task.project) != "off"
    if is_wanted:
        restored = look.restore_sources()
        if restored is not None:
            return restored
        look.follow_sources()
    look.remove_leftovers()
    root = task.project.root
    for id, problems, hint in ((PROBLEM, look.problems, HINT), (BUSY, look.list_busy(), git.UNSETTLED_HINT)):
        report_problem(tools, f"{id}:{root}", "; ".join(dict.fromkeys(problems)) if is_wanted else "", hint)
    return Done(look.apply, look.changes, notices=look.kept)


class _CopyRound:
    def __init__(self, project: Project, number: int | None, tools: Tools) -> None:
        self.changes = list[FileChange]()
        self.problems = list[str]()
        self.kept = list[Notice]()
        """Files that are not needed any more and have a person's text."""
        self._project = project
        self._number = number
        self._tools = tools
        self._wanted = set[Path]()
        self._sources: dict[Path, tuple[str | None, list[LineRow]]] = {}
        """Text and lines of tacitd's; no text for one that is missing or refused."""
        self._trusts = False
        self._busy = dict[Path, Path]()
        """By linked work tree whose copies wait, what shows that git changes files there."""

    def apply(self, tx: Tx) -> None:
        """A LEARNED.md that tacitd made is copied as a whole from now on. What waits for git is done later."""
        if self._trusts:
            tx.execute("UPDATE project SET trusted = 1 WHERE number = ?", self._number)
        if self._busy:
            place = Place(self._number, self._project.root, self._project)
            queue_copies(tx, place, self._tools.clock.now() + git.UNSETTLED)

    def list_busy(self) -> list[str]:
        waits = "the copies of learned lines in {} wait: git changes files there ({} is there)"
        return [waits.format(tree, mark) for tree, mark in self._busy.items()]

    def _is_busy(self, tree: Path) -> bool:
        """Whether the copies of a work tree wait for git. The main one has the sources: while git changes files there, all wait."""
        mark = git.look_at(tree).unsettled if tree != self._project.root else None
        if mark is not None:
            self._busy[tree] = mark
        return mark is not None

    def restore_sources(self) -> Done | None:
        """Put back files that `git clean` took; lines of a file that went otherwise may be learned again. None if none is missing."""
        root, rows, now = self._project.root, self._tools.rows, self._tools.clock.now()
        paths = (Path(path) for (path,) in rows(WITH_LINES, self._number))
        missing = [path for path in paths if path.is_relative_to(root) and not os.path.lexists(path)]
        if not missing:
            return None
        changes, gone = list[FileChange](), list[LineRow]()
        for path in missing:
            lines = read_lines_of(rows, str(path))
            if path.parent.is_dir() and self._was_cleaned(path):
                put: dict[Leaf, str | None] = {bullet(one.heading, one.text): one.text for one in lines}
                cause = Cause(f"restored {path} {now}", "tacitd", "restored after git clean")
                changes.append(FileChange(path, make_format(path, root), partial(_return, put), cause))
            else:
                gone += lines

        def apply(tx: Tx) -> None:
            for line in gone:
                mark_line(tx, line.number, "gone")
            queue_copies(tx, Place(self._number, root, self._project), now)

        return Done(apply, changes)

    def _was_cleaned(self, path: Path) -> bool:
        """Whether all that git does not track is gone, in the same clone and at the same commit: nobody removed this file alone."""
        root, rows = self._project.root, self._tools.rows
        written = [one for one in list_written(rows, root, COPY) if find_tree(one) == root]
        if not written or any(one.exists() for one in written) or not is_listed(self._project, path):
            return False
        heads = rows("SELECT head FROM shared_file WHERE path = ?", str(path))
        return any(git.is_same_commit(head, git.read_checkout(root)) for (head,) in heads)

    def follow_sources(self) -> None:
        for tree in list_work_trees(self._project.root):
            hide_from_package(tree, tree, RULES_FOLDER)
        blocks = self._tools.settings["reach"].codex
        for copy in plan_copies(self._tools.rows, self._number, self._project.root, blocks=blocks):
            if not copy.is_block and not self._tools.settings["reach"].project_rules:
                continue
            text = self._render(copy)
            if not text:
                continue
            self._wanted.add(copy.path)
            if copy.is_block:
                self._plan_block(copy, text)
                continue
            why = find_obstacle(copy.path, copy.tree, self._tools.rows)
            if not why and self._project.git and not copy.path.exists():
                hidden = list_patterns(self._project, RULE_PATTERNS)
                # A .gitignore may include again what is listed (gitignore(5)).
                code = git.run_git(["check-ignore", "-q", "--", os.fspath(copy.path)], copy.tree)
                if code == 1 or (hidden and code != 0):
                    hidden = hidden or "a .gitignore includes it again"
                    why = f"is not written, because git would show it: {hidden}"
            if why:
                self.problems.append(f"{copy.path} {why}")
            else:
                self._plan(copy, text)

    def _plan_block(self, copy: Copy, text: str) -> None:
        """Plan the block in an AGENTS.md. It is the person's file, so git shows it as before; one that is made is hidden."""
        tools, path = self._tools, copy.path
        if self._is_busy(copy.tree):
            return
        try:
            why = _why_no_block(copy, self._project, tools)
        except FileRefusedError as error:
            why = error.what
        if why:
            self.problems.append(f"{path} has no lines for Codex: {why}")
            return
        if not path.exists() and (why := hide(self._project, [path], tools)):
            self.problems.append(f"{path} is not written, because git would show it: {why}")
            return
        lines = [split_bullet(leaf) for leaf in COPY.read_leaves(text.encode()) if is_line(leaf)]
        wanted = {WHOLE: render_lines(lines, TITLE).strip()}
        base, there = dict[Leaf, str](tools.rows(_WRITTEN, str(path))), tools.look(path, BLOCK).now
        if there and there not in (base, wanted):
            self.problems.append(f"{path} {THEIRS}")
            return
        if there == base == wanted:
            return

        def decide(now: Mapping[Leaf, str], edits: Edits) -> Mapping[Leaf, str | None]:
            return wanted if not now or now in (base, wanted) else {}

        key = sha256(repr((there, wanted)).encode()).hexdigest()[:12]
        cause = Cause(f"block {tools.clock.now()} {key}", "tacitd", f"copied from {copy.name}")
        change = FileChange(path, BLOCK, decide, cause, adopts=True, unlisted=frozenset(wanted))
        self.changes.append(change)

    def _plan(self, copy: Copy, text: str) -> None:
        rows = self._tools.rows
        is_noted = rows("SELECT 1 FROM shared_leaf WHERE path = ? LIMIT 1", str(copy.path))
        before = read_plain_bytes(copy.path, LARGEST)
        if (is_noted and before == text.encode()) or self._is_busy(copy.tree):
            return
        leaves = COPY.read_leaves(text.encode())
        is_known = match_lines(leaves.values(), is_cut=before is not None and COPY.is_cut(before, {}))
        reported = {leaf for (leaf,) in rows("SELECT leaf FROM shared_seen WHERE path = ?", str(copy.path))}
        for leaf, words in COPY.read_leaves(before or b"").items():
            if leaf in reported and not is_known(words):
                why = why_kept(copy, self._project, self._tools) if is_line(leaf) else "it is no list item"
                why = why or "it cannot be written there"
                self.problems.append(
                    f"{copy.path} has text of yours that cannot be moved to {copy.source}: {why}"
                )

        def decide(now: Mapping[Leaf, str], edits: Edits) -> dict[Leaf, str | None]:
            if edits.removed or any(map(is_line, edits.changed)):
                return {}  # the person's edits come first
            gone = [leaf for leaf in now if leaf not in edits.added or is_known(now[leaf])]
            return {TEXT: text, **dict.fromkeys(gone), **leaves}

        unlisted = frozenset({TEXT, *leaves, *(leaf for leaf, _ in rows(_WRITTEN, str(copy.path)))})
        # Of what stood there too: a choice may be taken back within a tick of the clock.
        key = sha256((before or b"") + text.encode()).hexdigest()[:12]
        cause = Cause(f"copy {self._tools.clock.now()} {key}", "tacitd", f"copied from {copy.name}")
        self.changes.append(FileChange(copy.path, COPY, decide, cause, unlisted=unlisted))

    def _render(self, copy: Copy) -> str:
        if copy.source not in self._sources:
            text, lines = None, read_lines_of(self._tools.rows, str(copy.source))
            try:
                data = read_checked(copy.source, copy.home)
                text = data.decode("utf-8", "replace") if data is not None else None
            except FileRefusedError as error:
                self.problems.append(error.what)
            self._sources[copy.source] = text, lines
        text, lines = self._sources[copy.source]
        if text is None:
            return ""
        if not self._is_trusted(copy, text, lines):
            there = {line for _, line in map(split_bullet, LEAVES.read_leaves(text.encode()))}
            shown = [(one.heading, one.text) for one in lines if one.text in there]
            text = render_lines(shown, title_for(copy.name))
        return render_rule(text, copy.name, front_matter(copy.folder) if copy.folder else ())

    def _is_trusted(self, copy: Copy, text: str, lines: Sequence[LineRow]) -> bool:
        """Whether the whole file is copied: the person chose it, or tacitd made the file."""
        trust = find_trust(self._tools.rows, str(self._project.root))
        if trust or copy.name != LEARNED:
            return trust == "yes"
        own = {one.text for one in lines}
        found = COPY.read_leaves(text.encode())
        # No clone brings a file that this clone's exclude file lists, and a directory without git is none.
        is_made = copy.source.is_relative_to(self._project.root) and (
            not self._project.git or is_listed(self._project, copy.source)
        )
        if (own and set(found.values()) <= own) or is_made:
            self._trusts = True
        return self._trusts

    def remove_leftovers(self) -> None:
        """Remove copies that are not wanted any more and have nothing of a person."""
        rows, now = self._tools.rows, self._tools.clock.now()
        for path in list_written(rows, self._project.root, BLOCK):
            if path in self._wanted or not path.exists() or self._is_busy(path.parent):
                continue
            there = self._tools.look(path, BLOCK).now
            if there and there != dict(rows(_WRITTEN, str(path))):
                self.problems.append(f"{path} {THEIRS}")
                self.kept.append(Notice("kept", str(path), about=THEIRS))
            elif there:
                cause = Cause(f"block {now}", "tacitd", "it is not needed any more")
                self._remove(path, BLOCK, {WHOLE: None}, cause)
        for path in list_written(rows, self._project.root, COPY):
            if path in self._wanted or not os.path.lexists(path) or self._is_busy(find_tree(path)):
                continue
            what = find_obstacle(path, find_tree(path), rows)
            view = self._tools.look(path, COPY) if not what else None
            if view is None or any(view.edits) or view.doubt:
                what = what or "has text of yours, so it stays"
                self.problems.append(f"{path} {what}")
                self.kept.append(Notice("kept", str(path), about=what))
                continue
            gone = {TEXT: None, **dict.fromkeys(view.now)}
            self._remove(path, COPY, gone, Cause(f"copy {now}", "tacitd", "it is not needed any more"))

    def _remove(self, path: Path, format: Format, gone: Mapping[Leaf, str | None], cause: Cause) -> None:
        change = FileChange(path, format, partial(_return, gone), cause, unlisted=frozenset(gone))
        self.changes.append(change)


_WRITTEN = "SELECT leaf, written FROM shared_leaf WHERE path = ?"


def _why_no_block(copy: Copy, project: Project, tools: Tools) -> str:
    """Why no block is written into the AGENTS.md of a work tree; "" if it may be. Raises FileRefusedError."""
    if project.git and git.read_index_mode(copy.tree, copy.path) and tools.write_mode(project) != "shared":
        return f"git tracks it; `tacitd share`, or this line in it: {SEE_ALSO}"
    data = read_checked(copy.path, copy.tree)
    BLOCK.read_leaves(data or b"")
    if data is not None:
        refuse_unwritable(copy.path)
    return ""


def _return(changes: Mapping[Leaf, str | None], *_: object) -> Mapping[Leaf, str | None]:
    return changes
