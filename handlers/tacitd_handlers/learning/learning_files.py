"""The files that learning left in projects, for `uninstall --purge`.

The lines and the files that show them are kept; the summary is removed. Facts in a raw file have no line yet, and other
tools may have appended some, so raw files are kept too and are listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tacitd.clock import SystemClock
from tacitd.events import Project
from tacitd.files.log import Log
from tacitd.files.transaction import History
from tacitd.handler import Footprint
from tacitd.state.paths import state_dir
from tacitd_handlers.learning.inventory import state_of
from tacitd_handlers.learning.mirrors.mirror_checks import open_records
from tacitd_handlers.learning.mirrors.mirror_names import MODULE_MIRRORS
from tacitd_handlers.learning.mirrors.mirror_withdrawal import sort_mirrors
from tacitd_handlers.learning.store import ProjectPaths, text_of
from tacitd_handlers.learning.visibility import exclude_file, hidden_by_us


def learning_footprint(environ: Mapping[str, str]) -> Footprint:
    """Return learning's files in every project in which tacitd wrote. Raises OSError.

    It reads the state directory, so it is called before that is removed.
    """
    state = state_dir(environ)
    history = History(Log(state / "history.jsonl"), SystemClock())
    removed: list[Path] = []
    kept: list[Path] = []
    places: list[Path] = []
    own: list[Path] = []
    copies: list[Path] = []
    reasons: dict[Path, str] = {}
    for root in state_of(state).first_written_at:
        files = ProjectPaths(root)
        written = list(dict.fromkeys(path for path, _ in history.list_lines(root)))
        if _is_a_file_of_the_project(files.summary_file, root):
            removed.append(files.summary_file)
        raw = [files.raw_file, *sorted(files.tmp_dir.glob("learning-raw.*.jsonl"))]
        kept += [*dict.fromkeys([files.learned_file, *written]), *raw]
        reasons[files.learned_file] = (
            "sessions go on loading it with the line `@LEARNED.md` in the project's CLAUDE.md"
        )
        places += [root, files.tmp_dir, *(path.parent for path in written)]
        exclude = _find_exclude_file_with_our_lines(history, root)
        if exclude is not None:
            kept.append(exclude)
            reasons[exclude] = "tacitd's lines in it keep LEARNED.md and the others out of git"
        own.append(files.tmp_dir)
    for record in open_records(state).list_records():
        mine, others = sort_mirrors(record)
        copies += mine
        kept += others
        reasons |= dict.fromkeys(others, "it was changed by hand, or git tracks it; sessions load it")
        places += [path.parent for path in (*mine, *others)]
        own += [path.parent for path in mine if path.parent.name == Path(MODULE_MIRRORS).name]
    return Footprint(removed, kept, list(dict.fromkeys(places)), own, reasons, copies)


def _find_exclude_file_with_our_lines(history: History, root: Path) -> Path | None:
    """`.git/info/exclude` of the project's repository if it still contains a line of tacitd; otherwise None."""
    project = Project(root, git=True)
    path = exclude_file(project)
    if path is None:
        return None
    return path if hidden_by_us(history, project) & set(text_of(path).splitlines()) else None


def _is_a_file_of_the_project(path: Path, root: Path) -> bool:
    """Whether this is a regular file in the project, not reached through a link.

    A repository can contain links, and uninstalling must not remove a file outside the project.
    """
    return not path.is_symlink() and path.is_file() and path.resolve().is_relative_to(root.resolve())
