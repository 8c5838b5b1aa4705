"""Keep what tacitd makes in a project out of git, by lines of `.git/info/exclude`, which is local to one clone.

A file that was there before is the person's, and so is the choice whether git shows it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from tacitd.errors import FileRefusedError
from tacitd.files import git
from tacitd.files.append_file import hold_file
from tacitd.files.atomic import SAVED_SUFFIX, TEMP_PREFIX, edit_file
from tacitd_handlers.reach.client_rules import PROJECT_RULE, RULE_PATTERNS
from tacitd_handlers.shared.places import leads_out, read_text, resolve_links

if TYPE_CHECKING:
    from tacitd.contract import Tools
    from tacitd.events import Project

IGNORE = ".gitignore"
RULES_FOLDER = str(Path(PROJECT_RULE).parent)
TEMPORARY = ("learning-*", "known-facts-summary.md")
LEFT_BEHIND = (f"{TEMP_PREFIX}*", f"*{SAVED_SUFFIX}*")
"""Patterns of what a replacement leaves in any folder after a failure or a late save. It may contain the person's words."""
ALWAYS = (*(f"/tmp/{name}" for name in TEMPORARY), *LEFT_BEHIND)


def hide(project: Project, paths: Iterable[Path], tools: Tools) -> str:
    """List files that are about to be made in the exclude file, with those in `tmp/`; return why that is not possible, "" if it is or
    outside git.

    In a project that is shared only what is not for a team is listed: `tmp/` and the rule files. Blocks.
    """
    if not project.git:
        return ""
    new, real_root = [path for path in paths if not path.exists()], resolve_links(project.root)
    if tools.write_mode(project) == "shared":
        new = [path for path in new if path.relative_to(project.root).parts[0] in ("tmp", ".claude")]
    # If one is a link within the project, git shows the file that it leads to, so that has a pattern too.
    names = [path.relative_to(project.root) for path in new if not os.path.lexists(path)]
    real = (resolve_links(path) for path in new)
    names += [path.relative_to(real_root) for path in real if path.is_relative_to(real_root)]
    why = list_patterns(project, [*ALWAYS, *map(pattern_of, names)])
    return why if why and not all(git.is_ignored(project.root, path) for path in new) else ""


def list_patterns(project: Project, patterns: Sequence[str]) -> str:
    """Add these lines to the exclude file as far as it lacks them; return why that is not possible, or ""."""
    path = git.locate_exclude_file(project.root)
    if not isinstance(path, Path):
        return path.reason if path is not None else ""
    try:
        with hold_file(path) as file:
            present = file.read().decode(errors="replace").splitlines()
            new = [one for one in dict.fromkeys(patterns) if one not in present]
            if new:
                file.append("".join(f"{one}\n" for one in new).encode(errors="surrogateescape"))
    except FileRefusedError as error:
        return error.what
    except OSError as error:
        return f"{path}: {error.strerror}"
    return ""


def reveal(project: Project, paths: Iterable[Path]) -> None:
    """Take files out of the exclude file, so that git shows them. Raises OSError, TacitdError."""
    path = git.locate_exclude_file(project.root) if project.git else None
    if not isinstance(path, Path) or not path.exists():
        return
    wanted = {pattern_of(one.relative_to(project.root)) for one in paths}

    def change(data: bytes | None) -> bytes | None:
        lines = os.fsdecode(data or b"").splitlines(keepends=True)
        return os.fsencode("".join(line for line in lines if line.rstrip("\r\n") not in wanted))

    edit_file(path, change)


PACKAGE = "package.json"


def hide_from_package(root: Path, tree: Path, folder: str) -> None:
    """Keep what tacitd makes in `.claude/rules` or `tmp` of a work tree out of an npm package, which does not know the exclude file: by a
    `.gitignore` there, which hides itself too. One that exists is the person's."""
    if not (tree / PACKAGE).is_file() or leads_out(tree / folder, root):
        return
    with suppress(OSError):
        (tree / folder).mkdir(parents=True, exist_ok=True)
        with (tree / folder / IGNORE).open("x") as file:
            file.write(make_ignore(folder))


def make_ignore(folder: str) -> str:
    names = [Path(one).name for one in RULE_PATTERNS] if folder == RULES_FOLDER else TEMPORARY
    return "".join(f"/{name}\n" for name in (IGNORE, *names))


def is_published(path: Path, root: Path) -> bool:
    """Whether `npm publish` of a project's root would include a file there: no list or ignore file of the person says otherwise."""
    try:
        package = json.loads(read_text(root / PACKAGE) or "{}")
    except (ValueError, RecursionError):
        return False
    if not isinstance(package, dict) or not package or package.get("private") is True:
        return False
    name, listed = path.relative_to(root).as_posix(), package.get("files")
    if isinstance(listed, list):
        return any(isinstance(one, str) and fnmatch(name, one.strip("./") or "*") for one in listed)
    ignore = root / ".npmignore" if (root / ".npmignore").exists() else root / IGNORE
    return not any(fnmatch(name, line.strip().lstrip("/")) for line in read_text(ignore).splitlines())


def has_own_patterns(root: Path) -> bool:
    """Whether the exclude file of a clone has lines that only tacitd writes."""
    return not {*RULE_PATTERNS, *ALWAYS}.isdisjoint(_read_patterns(root))


def is_listed(project: Project, path: Path) -> bool:
    """Whether the exclude file lists this file of the project: then tacitd made it in this clone."""
    return project.git and pattern_of(path.relative_to(project.root)) in _read_patterns(project.root)


def _read_patterns(root: Path) -> list[str]:
    found = git.locate_exclude_file(root)
    return git.read_small_file(found).splitlines() if isinstance(found, Path) else []


def pattern_of(path: Path) -> str:
    """The gitignore pattern for one file, such as `/app/\\[id\\]/AGENTS.md` (gitignore(5)). `path` is relative."""
    return "/" + re.sub(r"([\\*?\[\]])", r"\\\1", path.as_posix())
