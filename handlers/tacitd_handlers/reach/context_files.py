"""The files that the client loads in a session by itself, and the learned files that it does not: the hook `context_files`.

Files are looked for as the newest client does it, so that no line of theirs is repeated, without those that a person excluded by
`claudeMdExcludes` in its settings. They may be anything: nothing here raises, blocks or writes.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from tacitd.errors import FileRefusedError
from tacitd.files.git import find_repository
from tacitd.session_context.context_request import ContextFile, ContextRequest
from tacitd.sources.registry import RULES
from tacitd.state.paths import config_dir
from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.reach.client_rules import AGENTS, LEARNED, PROJECT_RULE
from tacitd_handlers.shared.places import leads_out, read_text

WITHOUT_RULES = frozenset({"Explore"})
"""Kinds of sub-agents that load no instruction files."""
HOPS = 4
MOST = 500
"""Rules of one directory that are looked at."""
MANAGED = Path("/Library/Application Support/ClaudeCode" if sys.platform == "darwin" else "/etc/claude-code")
_IMPORT = compile_lazily(r"(?<![\w`])@([^\s`]+)")


class ExcludePattern(NamedTuple):
    pattern: str
    file: Path


class Directory(NamedTuple):
    """Where a session starts."""

    here: Path
    tree: Path
    main: Path
    patterns: list[ExcludePattern]
    """Those that count there."""


def list_context_files(request: ContextRequest) -> Iterator[ContextFile]:
    """Yield what the client loads in the directory of the request, then LEARNED.md if the person chose that its copy is not loaded."""
    if request.occasion == "agent" and request.agent in WITHOUT_RULES:
        return
    home = config_dir(os.environ)
    place = locate_directory(home, request.cwd)
    yield from list_loaded(home, place)
    if find_exclude(place.tree / PROJECT_RULE, place.patterns) is not None:
        yield ContextFile(choose_source(place, LEARNED), "never", "", meant=True)


def list_loaded(home: Path, place: Directory) -> Iterator[ContextFile]:
    """The instruction files and rules of the person and of the project, with what they import."""
    seen = set[Path]()
    for path in _list_candidates(home, place):
        yield from _load_file(path, place, seen, HOPS)


def _list_candidates(home: Path, place: Directory) -> Iterator[Path]:
    here, tree, *_ = place
    yield MANAGED / "CLAUDE.md"
    yield home / "CLAUDE.md"
    yield from list_rules(home / "rules")
    for above in reversed(tree.parents):
        yield above / "CLAUDE.md"
    has_instructions = False
    below = here.relative_to(tree).parts if here.is_relative_to(tree) else ()
    for folder in (tree.joinpath(*below[:depth]) for depth in range(len(below) + 1)):
        for name in ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"):
            has_instructions = has_instructions or (folder / name).is_file()
            yield folder / name
        if not leads_out(folder / RULES, tree):
            yield from list_rules(folder / RULES)
    if not has_instructions:
        yield from (tree / AGENTS, here / AGENTS)


def _load_file(path: Path, place: Directory, seen: set[Path], hops: int) -> Iterator[ContextFile]:
    """A file if the client loads it, and what it imports: only from below the session's directory, without a question."""
    if path in seen or find_exclude(path, place.patterns) or not (text := read_text(path)).strip():
        return
    seen.add(path)
    matter, mark, body = text.partition("\n---\n") if text.startswith("---\n") else ("", "", "")
    matter, body = (matter, body) if mark else ("", text)
    yield ContextFile(path, "read" if "\npaths:" in matter else "start", body)
    for name in _IMPORT.findall(body) if hops else ():
        target = Path(os.path.normpath(path.parent / name))  # an absolute name replaces the parent
        if target.is_relative_to(place.here):
            yield from _load_file(target, place, seen, hops - 1)


def list_rules(directory: Path) -> list[Path]:
    """The rules below a directory, by name."""
    return sorted(directory.rglob("*.md"))[:MOST] if directory.is_dir() else []


def count_items(text: str) -> int:
    """The number of list items of a text, without those in comments, code and front matter."""
    from tacitd.text.markdown import lines_of  # a session's start counts none

    with suppress(FileRefusedError):
        return len(lines_of(text.encode("utf-8", "replace")))
    return 0


def locate_directory(client_home: Path, directory: Path) -> Directory:
    """Without git the tree is the nearest directory with a project's rules, otherwise the directory itself, which need not exist."""
    here = Path(os.path.realpath(directory))
    found = find_repository(next(one for one in (here, *here.parents) if one.is_dir()))
    if found is not None:
        tree, main = found.here, found.top
    else:
        tree = main = next((one for one in (here, *here.parents) if (one / PROJECT_RULE).is_file()), here)
    return Directory(here, tree, main, read_patterns(client_home, [tree, here]))


def choose_source(place: Directory, name: str) -> Path:
    """A work tree's own file if it has one; otherwise the main one's."""
    return place.tree / name if (place.tree / name).is_file() else place.main / name


# --- what a person excludes


def read_patterns(client_home: Path, directories: Iterable[Path]) -> list[ExcludePattern]:
    """The patterns that count in a session: of the managed settings, the person's, and those of these directories. A file that is
    missing or cannot be parsed has none."""
    names = ("settings.json", "settings.local.json")
    project = [one / ".claude" / name for one in directories for name in names]
    found = list[ExcludePattern]()
    for file in dict.fromkeys([MANAGED / "managed-settings.json", client_home / "settings.json", *project]):
        with suppress(ValueError, RecursionError, AttributeError, TypeError):
            said = json.loads(read_text(file) or "{}").get("claudeMdExcludes")
            named = [one for one in said if isinstance(one, str) and one] if isinstance(said, list) else []
            found += [ExcludePattern(one, file) for one in named]
    return found


def find_exclude(path: Path, patterns: Iterable[ExcludePattern]) -> ExcludePattern | None:
    """The first pattern that excludes this absolute path; None if the client loads it."""
    names = path.as_posix().split("/")
    return next((one for one in patterns if _fits(names, one.pattern.split("/"))), None)


def _fits(names: Sequence[str], globs: Sequence[str]) -> bool:
    """Whether the names of a path fit those of a glob, one by one. `**` stands for any number of names."""
    ends = {0}  # how many names the globs so far may stand for
    for glob in globs:
        if glob == "**":
            ends = {*range(min(ends, default=len(names) + 1), len(names) + 1)}
        else:
            ends = {end + 1 for end in ends if end < len(names) and fnmatchcase(names[end], glob)}
    return len(names) in ends
