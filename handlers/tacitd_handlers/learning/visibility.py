"""Keep tacitd's files out of git, and recognise references to LEARNED.md.

Files that tacitd creates are listed in `.git/info/exclude`, which is local to one clone. That is an edit of a project's
file, so this module returns operations, and a transaction carries them out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tacitd.events import Project
from tacitd.files.git import UnsafeGitDirectory, locate_exclude_file
from tacitd.files.operations import AppendLine, Effect, Operation
from tacitd.files.temporary import SAVED_SUFFIX, TEMP_PREFIX
from tacitd.files.transaction import History
from tacitd_handlers.learning.safe_read import resolve_links
from tacitd_handlers.learning.store import LEARNED, text_of

TEMPORARY_PATTERNS = ("/tmp/learning-*", "/tmp/known-facts-summary.md")
COPY_PATTERNS = (f"{TEMP_PREFIX}*", f"*{SAVED_SUFFIX}*")
"""Patterns for what a replacement leaves in any folder after a failure or a late save. It may contain the user's words."""
_FENCED = re.compile(
    r"^ {0,3}(?P<bar>`{3,}(?=[^`\n]*$)|~{3,}).*?(?:^ {0,3}(?P=bar)[`~]*[ \t\r]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_SPAN = re.compile(r"(?<!`)(?P<bar>`+)(?!`)[^\n]*?(?<!`)(?P=bar)(?!`)")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


def exclude_file(project: Project) -> Path | None:
    """`.git/info/exclude` of the project's repository; None outside git, or if it may not be written."""
    located = locate_exclude_file(project.root) if project.git else None
    return located if isinstance(located, Path) else None


def why_not_hidden(project: Project) -> str:
    """Why our files cannot be excluded from git in this clone; "" if they can, or outside git."""
    located = locate_exclude_file(project.root) if project.git else None
    return located.reason if isinstance(located, UnsafeGitDirectory) else ""


def build_excludes(project: Project, patterns: Iterable[str]) -> list[Operation]:
    """Return operations that add these patterns to this clone's exclude file; none without such a file."""
    path = exclude_file(project)
    return [AppendLine(path, pattern) for pattern in patterns] if path is not None else []


def list_temporary_patterns(project: Project) -> list[str]:
    """Patterns for our files in `tmp/` and for temporary copies. If `tmp` is a link within the project, also its target."""
    root, tmp = resolve_links(project.root), resolve_links(project.root / "tmp")
    if tmp == root / "tmp" or not tmp.is_relative_to(root):
        return [*TEMPORARY_PATTERNS, *COPY_PATTERNS]
    place = pattern_of(tmp.relative_to(root)) if tmp != root else ""
    return [
        *TEMPORARY_PATTERNS,
        *COPY_PATTERNS,
        *(f"{place}/{name.removeprefix('/tmp/')}" for name in TEMPORARY_PATTERNS),
    ]


def list_created_patterns(project: Project, targets: Iterable[Path]) -> list[str]:
    """Patterns for those targets that do not exist yet. Whether an existing file is published is the user's decision.

    If a target is a link within the project, git shows the file that it leads to, so that has a pattern too.
    """
    root, found = resolve_links(project.root), dict[str, None]()
    for path in (path for path in targets if not path.exists()):
        if not os.path.lexists(path):
            found[pattern_of(path.relative_to(project.root))] = None
        if resolve_links(path).is_relative_to(root):
            found[pattern_of(resolve_links(path).relative_to(root))] = None
    return list(found)


def pattern_of(path: Path) -> str:
    """The gitignore pattern for one file, such as `/app/\\[id\\]/AGENTS.md` (gitignore(5)). `path` is relative."""
    return "/" + re.sub(r"([\\*?\[\]])", r"\\\1", path.as_posix())


def hidden_by_us(history: History, project: Project) -> set[str]:
    """The lines that tacitd appended to the exclude file. Only those may be removed from it."""
    path = exclude_file(project)
    return {
        operation.line
        for operation, effect in _done_operations(history, project)
        if isinstance(operation, AppendLine) and operation.path == path and effect.did == "appended"
    }


def refers_to_learned(path: Path, root: Path) -> bool:
    """Whether an agent that reads this AGENTS.md finds LEARNED.md. A mention is enough, because agents follow it.

    A link that leads out of the project is not read.
    """
    return LEARNED in text_of(path, root)


def strip_code(text: str) -> str:
    """Return Markdown without code fences, code spans and comments."""
    return _COMMENT.sub("", _SPAN.sub("``", _FENCED.sub("", text)))


def _done_operations(history: History, project: Project) -> Iterator[tuple[Operation, Effect]]:
    for entry in history.list_transactions(project.root):
        if entry.state == "done":
            yield from zip(entry.operations, entry.effects, strict=True)


def list_writable_dirs(project: Project) -> list[Path]:
    """Directories outside the project's root that its transactions may write in: that of the exclude file."""
    path = exclude_file(project)
    return [path.parent] if path is not None else []
