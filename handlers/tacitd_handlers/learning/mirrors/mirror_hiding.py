"""Keep mirrors out of git: which operations list them in `.git/info/exclude`, and where that cannot be done or has no effect."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from tacitd.errors import FileRefusedError
from tacitd.events import Project
from tacitd.files import git
from tacitd.files.operations import Operation
from tacitd_handlers.learning.mirrors.mirror_names import MIRROR_PATTERNS, MODULE_MIRRORS, PROJECT_MIRROR
from tacitd_handlers.learning.safe_read import read_plain_bytes
from tacitd_handlers.learning.store import LEARNED, ProjectPaths, text_of
from tacitd_handlers.learning.visibility import (
    TEMPORARY_PATTERNS,
    build_excludes,
    exclude_file,
    list_writable_dirs,
    pattern_of,
    why_not_hidden,
)

_LARGEST = 1 << 20
_MATCH = re.compile(r"(?P<source>[^\n]*?):\d+:(?P<pattern>[^\n]*)\t")
"""What `git check-ignore -v` prints: where the deciding rule is, and the rule."""


def why_shown_by_git(project: Project) -> str:
    """Why git would show a new mirror in this project; "" if it can be kept out of git, or outside git."""
    if not project.git:
        return ""
    path = exclude_file(project)
    if path is not None and all(os.access(one, os.W_OK) for one in (path, path.parent) if one.exists()):
        return ""
    if all(git.is_ignored(project.root, project.root / name) for name in (PROJECT_MIRROR, MODULE_MIRRORS)):
        return ""
    return why_not_hidden(project) or f"{path} is read-only"


class IncludedMirrors:
    """Finds mirrors that git shows although they are listed in the exclude file, because a .gitignore includes them again:
    it has precedence (gitignore(5)). Git is asked once for each mirror and content of the ignore files."""

    def __init__(self) -> None:
        self._answers: dict[Path, tuple[tuple[bytes, ...], str]] = {}

    def explain(self, project: Project, tree: Path, path: Path) -> str:
        """Why git would show this mirror of a work tree, and what mends it; "" if it would not."""
        if not project.git:
            return ""
        name, exclude = path.relative_to(tree), exclude_file(project)
        listed = text_of(exclude) if exclude is not None else ""
        rules = (listed.encode(), *(_read_rules(tree / place / ".gitignore") for place in name.parents))
        if not any(b"!" in one for one in rules):
            return ""
        known, answer = self._answers.get(path, ((), ""))
        if known == rules:
            return answer
        matched = git.read_git(["check-ignore", "-v", "--no-index", "--", str(path)], tree)
        found = _MATCH.match(os.fsdecode(matched)) if matched is not None else None
        if found is None:  # no rule concerns it yet, or git fails
            return ""
        source, pattern = found["source"], found["pattern"]
        answer, is_listed = "", set(MIRROR_PATTERNS) <= set(listed.splitlines())
        # A negation in the exclude file has no effect once the mirrors are listed below it.
        if pattern.startswith("!") and (is_listed or source.endswith(".gitignore")):
            hides = name.parent if name.is_relative_to(MODULE_MIRRORS) else name
            base = Path(source).parent if source.endswith(".gitignore") else Path()
            answer = f"{tree / source} has `{pattern}`: add `/{hides.relative_to(base).as_posix()}` below it"
        self._answers[path] = rules, answer
        return answer


def list_shown_files(project: Project, included: IncludedMirrors) -> list[str]:
    """Say which other files git shows although tacitd listed them in the exclude file: LEARNED.md, and those in `tmp/`."""
    path = exclude_file(project)
    listed, files = text_of(path).splitlines() if path is not None else [], ProjectPaths(project.root)
    found: list[str] = []
    for file, pattern in (
        (files.learned_file, pattern_of(Path(LEARNED))),
        (files.raw_file, TEMPORARY_PATTERNS[0]),
        (files.summary_file, TEMPORARY_PATTERNS[1]),
    ):
        why = included.explain(project, project.root, file) if pattern in listed else ""
        if why and not git.is_tracked(project.root, file):
            share = ", or run `tacitd share` if it is to be committed" if file == files.learned_file else ""
            found.append(f"git shows {file}: {why}{share}")
    return found


def _read_rules(path: Path) -> bytes:
    """The content of a .gitignore; empty if git does not read it either, such as a link."""
    try:
        return read_plain_bytes(path, _LARGEST) or b""
    except (FileRefusedError, OSError):
        return b""


def build_hiding(project: Project) -> list[Operation]:
    """Operations that keep the mirrors out of git; none if they are kept out already."""
    path = exclude_file(project)
    present = text_of(path).splitlines() if path is not None else []
    return build_excludes(project, [one for one in MIRROR_PATTERNS if one not in present])


def list_outside(project: Project, operations: Iterable[Operation]) -> list[Path]:
    """The directories outside the project's root that these operations write in."""
    places = [one.path.parent for one in operations if not one.path.is_relative_to(project.root)]
    return list(dict.fromkeys([*places, *list_writable_dirs(project)]))
