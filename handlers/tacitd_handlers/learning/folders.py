"""The folders that a session worked in, those of the files that its tools read and wrote (SPEC S-30), and the names of learning's
files in them.

Paths are compared as text; `project_files` reads the disk. Shell commands are not parsed for paths.
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from posixpath import normpath
from typing import TYPE_CHECKING

from msgspec import structs

from tacitd.files import git
from tacitd.text.lazy_pattern import compile_lazily

if TYPE_CHECKING:
    from tacitd.events import Project, ToolUse, TranscriptGrew
    from tacitd.handler import Tools

LEARNED = "LEARNED.md"
AGENTS = "AGENTS.md"
RULES = ".claude/rules/tacitd/AGENTS.md"
"""The rule file that has the lines of a project whose LEARNED.md git tracks. The client loads it at start."""
ROOT_FILES = (LEARNED, RULES)
"""The files whose lines apply in the whole project."""
_VENDORED = """
    node_modules bower_components jspm_packages vendor third_party third-party site-packages
    dist build __pycache__ .venv venv .tox .nox .eggs .gradle .next .nuxt .cache
    .mypy_cache .pytest_cache .ruff_cache .git .hg .svn .idea .vscode .claude tmp
"""
VENDORED = frozenset(_VENDORED.split())
"""Names of folders below which nothing is written, compared without case."""

INTERNAL = frozenset({".git", ".hg", ".svn", ".jj", ".claude"})
"""Folders that belong to version control or to Claude Code."""
_SHORT_NAME = compile_lazily(r"(?:git|claude)~\d+")
FOLDERS_LIMIT = 30
"""Maximum number of folders of a session."""
_FILE_KEYS = ("file_path", "notebook_path")
_FOLDER_OR_FILE_KEY = "path"


def folders_of(
    root: str,
    uses: Iterable[ToolUse],
    *,
    cwd: str = "",
    worktrees: Sequence[str] = (),
) -> tuple[str, ...]:
    """Return the folders of the tool uses, relative to the project's root, most frequent first, at most 30.

    `cwd`: the directory for relative paths, by default the root. `worktrees`: further roots of the same project. Paths
    outside all roots, the root itself and vendored folders are left out.
    """
    roots = [normpath(one) for one in (root, *worktrees)]
    counts: Counter[str] = Counter()
    for use in uses:
        for path in _named_folders(use):
            folder = _relative(normpath(path if path.startswith("/") else f"{cwd or root}/{path}"), roots)
            if folder and not any(part.casefold() in VENDORED for part in folder.split("/")):
                counts[folder] += 1
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(folder for folder, _ in ranked[:FOLDERS_LIMIT])


def _named_folders(use: ToolUse) -> list[str]:
    """The folders that the tool's input names. A `path` whose last part has a suffix counts as a file."""
    try:
        given = json.loads(use.input)
    except (ValueError, RecursionError):
        return []
    if not isinstance(given, dict):
        return []
    found = [f"{value}/.." for key in _FILE_KEYS if isinstance(value := given.get(key), str) and value]
    either = given.get(_FOLDER_OR_FILE_KEY)
    if isinstance(either, str) and either:
        found.append(f"{either}/.." if "." in either.rstrip("/").rsplit("/", 1)[-1].lstrip(".") else either)
    return [path for path in found if path.isprintable()]


def _relative(path: str, roots: Sequence[str]) -> str:
    """The path relative to the innermost root that contains it; "" if there is none, or if it is the root."""
    for root in sorted(roots, key=len, reverse=True):
        if path == root:
            return ""
        if path.startswith(root.rstrip("/") + "/"):
            return path[len(root.rstrip("/")) + 1 :]
    return ""


def is_internal(name: str) -> bool:
    """Whether a file system may treat this folder name as one of INTERNAL.

    Some file systems ignore case, trailing dots and spaces, and `:stream` suffixes, and have short names such as `GIT~1`.
    """
    plain = unicodedata.normalize("NFKC", name).casefold().partition(":")[0].rstrip(". ")
    return plain in INTERNAL or _SHORT_NAME.fullmatch(plain) is not None


class SessionFolders:
    """Counts the folders that a session worked in (SPEC S-30).

    While the model does not answer, the engine offers the same records several times; they are counted once.
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._read: dict[Path, int] = {}

    def count_growth(self, event: TranscriptGrew, project: Project, tools: Tools) -> None:
        """Count the folders of the records, and once those of the part before: what was counted is in memory only."""
        from tacitd_handlers.shared.unwanted_places import read_session  # a command reads no transcript

        if event.start and event.transcript not in self._read:
            before = read_session(event.session, event.transcript, 0, event.start, project, tools)
            self.count_folders(
                structs.replace(event, records=tuple(before), start=0, end=event.start), project
            )
        self.count_folders(event, project)

    def count_folders(self, event: TranscriptGrew, project: Project) -> None:
        """Count the folders of the files that the records' tools read or wrote."""
        mark = self._read.get(event.transcript, 0)
        uses = [use for record in event.records if record.start >= mark for use in record.tools]
        self._read[event.transcript] = max(mark, event.end)
        cwd = next((r.cwd for r in reversed(event.records) if r.cwd), "")
        here = git.find_repository(Path(cwd)) if cwd.startswith("/") and uses else None
        worktrees = [str(here.here)] if here is not None and here.top == project.root else []
        for use in uses:
            self._counts.update(folders_of(str(project.root), [use], cwd=cwd, worktrees=worktrees))

    def list_folders(self) -> tuple[str, ...]:
        """The most frequent folders first, at most 30, relative to the project."""
        return tuple(name for name, _ in self._counts.most_common(30))
