"""The files that learning left outside the state directory, for `uninstall`, and what `tacitd doctor` says about them.

Lines and the files that have them are kept. The summary is removed, and so are copies whose whole text is tacitd's.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from tacitd.cli.common import read_store
from tacitd.clock import SystemClock
from tacitd.contract import Format, Rows, Tools
from tacitd.errors import FileRefusedError, StoreLostError
from tacitd.events import Project
from tacitd.files import git
from tacitd.files.git import find_project_root, is_tracked, list_work_trees
from tacitd.files.stalls import Stalls
from tacitd.handler import DoctorFinding, Footprint
from tacitd.state.paths import find_current_dir, state_dir
from tacitd.store import open_readonly
from tacitd_handlers.learning.raw_file import RAW, SUMMARY
from tacitd_handlers.learning.sources import person_root
from tacitd_handlers.reach.client_rules import LEARNED, MODULE_RULES
from tacitd_handlers.reach.copies import HINT, find_obstacle, find_tree
from tacitd_handlers.reach.hiding import IGNORE, RULES_FOLDER, has_own_patterns, is_published, make_ignore
from tacitd_handlers.reach.project_rules import PROBLEM
from tacitd_handlers.reach.rule_text import BLOCK, COPY, WHOLE
from tacitd_handlers.shared.places import leads_out, read_text

_WITH_LINES = (
    "SELECT DISTINCT p.root, l.path FROM learning_line l JOIN project p ON p.number = l.project "
    "WHERE l.state = 'present' ORDER BY l.path"
)


def find_footprint(environ: Mapping[str, str]) -> Footprint:
    """Return the person's LEARNED.md, and learning's files in every project in which tacitd wrote. It reads the store, so it is called
    before that is removed."""
    learned = person_root(environ) / LEARNED
    try:
        store = open_readonly(state_dir(environ))
    except StoreLostError:  # a damaged one says no more than none
        store = None
    if store is None:
        return Footprint(kept=[learned])
    with store:
        found = store.rows(
            "SELECT f.path, f.format, p.root FROM shared_file f LEFT JOIN project p ON p.number = f.project "
            "WHERE f.plugin = 'learning' AND f.changes > 0 ORDER BY f.path"
        )
        copies = [Path(path) for path, name, _ in found if name == COPY.name]
        mine = [
            path
            for path in copies
            if not find_obstacle(path, find_tree(path), store.rows) and _is_written(path, COPY, store.rows)
        ]
        blocks = [Path(path) for path, name, _ in found if name == BLOCK.name]
        parts = [path for path in blocks if _is_written(path, BLOCK, store.rows)]
    files = [learned, *(Path(path) for path, name, _ in found if name not in (COPY.name, BLOCK.name))]
    roots = [Path(root) for root in dict.fromkeys(root for *_, root in found if root)]
    removed, reasons = list[Path](), dict[Path, str]()
    for root in roots:
        files += [root / LEARNED, root / RAW]
        summary = root / SUMMARY
        if summary.is_file() and not summary.is_symlink() and not leads_out(summary, root):
            removed.append(summary)
        for tree in list_work_trees(root):
            # What keeps it out of a package.
            ignores = {tree / folder / IGNORE: make_ignore(folder) for folder in (RULES_FOLDER, "tmp")}
            removed += [p for p, text in ignores.items() if not p.is_symlink() and read_text(p) == text]
        exclude = git.locate_exclude_file(root)
        if isinstance(exclude, Path) and has_own_patterns(root):
            files.append(exclude)
            reasons[exclude] = "tacitd's lines in it keep LEARNED.md and the others out of git"
    edited = [path for path in (*copies, *blocks) if path not in (*mine, *parts) and os.path.lexists(path)]
    reasons |= dict.fromkeys(edited, "it was changed by hand, or git tracks it; sessions load it")
    temporary = [root / "tmp" for root in roots]
    places = [*roots, *temporary, *(path.parent for path in (*files, *copies))]
    inner = [Path(*Path(MODULE_RULES).parts[:depth]) for depth in range(len(Path(MODULE_RULES).parts), 0, -1)]
    made = [tree / one for tree in dict.fromkeys(map(find_tree, mine)) for one in inner]
    advice = "to go on loading what was learned, write `@LEARNED.md` into the CLAUDE.md of a project"
    return Footprint(
        removed,
        list(dict.fromkeys(files)),
        list(dict.fromkeys(places)),
        [*temporary, *made],
        reasons,
        mine,
        edited,
        dict.fromkeys(parts, _take_block),
        [advice] if roots else [],
    )


def _take_block(data: bytes) -> bytes:
    return BLOCK.splice(data, {WHOLE: None})


def _is_written(path: Path, format: Format, rows: Rows) -> bool:
    """Whether all that stands in a copy, or in a block, is what tacitd wrote."""
    base: dict[str, str] = dict(rows("SELECT leaf, written FROM shared_leaf WHERE path = ?", str(path)))
    with suppress(OSError, FileRefusedError):
        return bool(base) and format.read_leaves(path.read_bytes()) == base
    return False


def find_problems(environ: Mapping[str, str]) -> Iterator[DoctorFinding]:
    """A warning for each project with copies that are not written or not read, and why."""
    state = state_dir(environ)
    problems = "SELECT what FROM degradation WHERE owner = 'learning' AND id LIKE ? ORDER BY id"
    found = read_store(lambda rows: rows(problems, f"{PROBLEM}%"), state) or ()
    by_root = defaultdict[str, list[Path]](list)
    for root, path in read_store(lambda rows: rows(_WITH_LINES), state) or ():
        by_root[root].append(Path(path))
    hint = "list it in .npmignore, or list `files` in package.json"
    asked = Stalls(SystemClock()).ask_each(
        (root, partial(_list_published, root, by_root[root])) for root in by_root
    )
    for root, answer in zip(by_root, asked, strict=True):
        for path in answer.result() if answer is not None and answer.done() else ():
            what = f"`npm publish` in {root} would include {path}"
            yield DoctorFinding("learning.published", "warning", what, hint)
    for (what,) in found:
        yield DoctorFinding(PROBLEM, "warning", what, HINT)
    if not found:
        yield DoctorFinding(PROBLEM, "ok", "the copies of learned lines can be written")


def _list_published(root: str, paths: Iterable[Path]) -> list[Path]:
    return [path for path in paths if path.is_relative_to(root) and is_published(path, Path(root))]


def format_banner_lines(tools: Tools) -> Iterator[str]:
    """Yield which files of the current directory's project are a team's, because git tracks them."""
    project = tools.find_project(str(find_current_dir()))
    if not isinstance(project, Project) or tools.write_mode(project) != "local":
        return
    root = find_project_root(project.root)
    if named := [name for name in ("LEARNED.md", "AGENTS.md") if is_tracked(root, root / name)]:
        yield (
            f"git tracks {' and '.join(named)} in {root}: learned lines go into .claude/rules there, until `tacitd share`"
        )
