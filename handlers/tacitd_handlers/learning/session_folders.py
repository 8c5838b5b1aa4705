"""The folders that a session worked in: those of the files that its tools read and wrote (SPEC S-30).

Pure: paths are compared as text, without the disk. Shell commands are not parsed for paths.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from posixpath import normpath

from tacitd.events import ToolUse
from tacitd_handlers.learning.stage2.project_view import VENDORED

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
