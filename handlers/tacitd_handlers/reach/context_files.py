"""The files that the client loads in a session by itself, and the learned files that it does not: the hook `context_files`.

Files are looked for as the client does it, so that no line of theirs is repeated, without those that a person excluded by
`claudeMdExcludes` in its settings. They may be anything: nothing here raises, blocks or writes.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

from msgspec import Struct

from tacitd.errors import FileRefusedError
from tacitd.files.git import find_repository
from tacitd.session_context.context_request import ContextFile, ContextRequest
from tacitd.sources.registry import CONTEXT_FILES
from tacitd.state.paths import config_dir
from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.reach import client_rules
from tacitd_handlers.reach.client_rules import AGENTS, LEARNED, PROJECT_RULE
from tacitd_handlers.shared.places import leads_out, read_text

WITHOUT_RULES = frozenset({"Explore"})
"""Kinds of sub-agents that load no instruction files (2.1.197 and later)."""
HOPS = 4
"""How deep imports in instruction files are followed."""
MANAGED = Path("/etc/claude-code/CLAUDE.md")
_IMPORT = compile_lazily(r"(?<![\w`])@([^\s`]+)")


def list_context_files(request: ContextRequest) -> Iterator[ContextFile]:
    """Yield what the client loads in the directory of the request, then LEARNED.md if the person chose that its copy is not loaded.

    If the request names no version, the newest known one is meant.
    """
    home, place = config_dir(os.environ), locate_directory(request.cwd)
    version = client_rules.parse_version(request.client) or client_rules.NESTED_AGENTS_SINCE
    if request.occasion == "agent" and request.agent in WITHOUT_RULES:
        return
    here, tree, main = place
    patterns = read_patterns(home, dict.fromkeys([tree, here]))
    yield from list_loaded(home, place, version, patterns)
    if find_exclude(tree / PROJECT_RULE, patterns) is not None:
        learned = tree / LEARNED if (tree / LEARNED).is_file() else main / LEARNED
        yield ContextFile(learned, "never", "", meant=True)


def list_loaded(
    home: Path,
    place: tuple[Path, Path, Path],
    version: client_rules.Version,
    patterns: list[ExcludePattern],
) -> Iterator[ContextFile]:
    """The instruction files and rules of the person and of the project, with what they import. `place`: as `locate_directory` says."""
    here, tree, _ = place
    seen: set[Path] = set()
    for path in _list_candidates(home, here, tree, version):
        yield from _load_file(path, here, version, patterns, seen, HOPS)


def _list_candidates(home: Path, here: Path, tree: Path, version: client_rules.Version) -> Iterator[Path]:
    with_rules = client_rules.loads_rules(version)
    yield MANAGED
    yield home / "CLAUDE.md"
    yield from list_rules(home / "rules") if with_rules else ()
    for above in reversed(tree.parents):
        yield above / "CLAUDE.md"
    has_instructions = False
    below = here.relative_to(tree).parts if here.is_relative_to(tree) else ()
    for place in (tree.joinpath(*below[:depth]) for depth in range(len(below) + 1)):
        for name in ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"):
            has_instructions = has_instructions or (place / name).is_file()
            yield place / name
        rules = place / CONTEXT_FILES.rules
        if with_rules and (version <= client_rules.LINKS_UNTIL or not leads_out(rules, tree)):
            yield from list_rules(rules)
    if version >= client_rules.NESTED_AGENTS_SINCE and not has_instructions:
        yield from dict.fromkeys([tree / AGENTS, here / AGENTS])


def _load_file(
    path: Path,
    here: Path,
    version: client_rules.Version,
    patterns: list[ExcludePattern],
    seen: set[Path],
    hops: int,
) -> Iterator[ContextFile]:
    """A file if the client loads it, and what it imports: only from below the session's directory, without a question."""
    if path in seen or find_exclude(path, patterns) is not None or not (text := read_text(path)).strip():
        return
    seen.add(path)
    matter, body = split_matter(text)
    when: Literal["start", "read", "never"] = "start"
    if "\npaths:" in matter:
        when = client_rules.when_paths_load(version, headless=False)
    if when != "never":
        yield ContextFile(path, when, body)
    for name in _IMPORT.findall(body) if hops else ():
        target = Path(os.path.normpath(path.parent / name))  # an absolute name replaces the parent
        if target.is_relative_to(here):
            yield from _load_file(target, here, version, patterns, seen, hops - 1)


KEY = "claudeMdExcludes"
MANAGED = Path(
    "/Library/Application Support/ClaudeCode/managed-settings.json"
    if sys.platform == "darwin"
    else "/etc/claude-code/managed-settings.json"
)
_TOKEN = compile_lazily(r"\*\*/|/\*\*\Z|\*\*|\*|\?|\[[^\]/]+\]|\{[^{}]*\}|.", re.DOTALL)
_GLOBS = {"**/": "(?:.*/)?", "/**": "(?:/.*)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


class ExcludePattern(Struct, frozen=True):
    pattern: str
    file: Path


def read_patterns(client_home: Path, directories: Iterable[Path]) -> list[ExcludePattern]:
    """The patterns that count in a session: of the managed settings, the person's, and those of these directories. A file that is
    missing or cannot be parsed has none."""
    names = ("settings.json", "settings.local.json")
    project = [one / ".claude" / name for one in directories for name in names]
    files = dict.fromkeys([MANAGED, client_home / "settings.json", *project])
    return [ExcludePattern(pattern, file) for file in files for pattern in _list_patterns(file)]


def find_exclude(path: Path, patterns: Iterable[ExcludePattern]) -> ExcludePattern | None:
    """The first pattern that excludes this absolute path; None if the client loads it."""
    text = path.as_posix()
    return next((one for one in patterns if re.fullmatch(translate_glob(one.pattern), text)), None)


def translate_glob(pattern: str) -> str:
    made: list[str] = []
    for token in _TOKEN.findall(pattern):
        if token in _GLOBS:
            made.append(_GLOBS[token])
        elif len(token) > 1 and token[0] == "{":
            made.append("(?:" + "|".join(map(translate_glob, token[1:-1].split(","))) + ")")
        elif len(token) > 1 and token[0] == "[":
            inner = token[1:-1].replace("\\", "\\\\").replace("[", "\\[")
            made.append("[" + ("^" + inner[1:] if inner[0] in "!^" and len(inner) > 1 else inner) + "]")
        else:
            made.append(re.escape(token))
    return "".join(made)


def _list_patterns(file: Path) -> list[str]:
    found = list[str]()
    with suppress(ValueError, RecursionError, AttributeError, TypeError):
        said = json.loads(read_text(file) or "{}").get(KEY) or ()
        found = [one for one in said if isinstance(one, str) and one] if isinstance(said, list) else []
    return [one for one in found if _is_valid(one)]


def _is_valid(pattern: str) -> bool:
    try:
        re.compile(translate_glob(pattern))
    except re.error:
        return False
    return True


MOST = 500
"""Rules of one directory that are looked at."""


def locate_directory(directory: Path) -> tuple[Path, Path, Path]:
    """The real path of a directory, the top of the tree that it is in, and that of the main work tree.

    Without git the tree is the nearest directory with a project's rules, otherwise the directory itself, which need not
    exist.
    """
    here = Path(os.path.realpath(directory))
    found = find_repository(next(one for one in (here, *here.parents) if one.is_dir()))
    if found is not None:
        return here, found.here, found.top
    tree = next((one for one in (here, *here.parents) if (one / PROJECT_RULE).is_file()), here)
    return here, tree, tree


def find_link(path: Path, root: Path) -> Path | None:
    """The first link on the way from the work tree to a file, such as `.claude`; None if there is none."""
    names = path.relative_to(root).parts
    places = (root.joinpath(*names[:n]) for n in range(1, len(names) + 1))
    return next((place for place in places if place.is_symlink()), None)


def find_defect(path: Path) -> str:
    """Why a path that exists has no lines for the client."""
    if not path.is_file():
        return "is a link to nothing" if not path.exists() else "is not an ordinary file"
    return "has no line" if os.access(path, os.R_OK) else "cannot be read"


def list_rules(directory: Path) -> list[Path]:
    """The rules below a directory, by name."""
    found = sorted(directory.rglob("*.md")) if directory.is_dir() else []
    return found[:MOST]


def split_matter(text: str) -> tuple[str, str]:
    head, mark, rest = text.partition("\n---\n") if text.startswith("---\n") else ("", "", "")
    return (head, rest) if mark and head else ("", text)


def count_items(text: str) -> int:
    """The number of list items of a text, without those in comments, code and front matter."""
    from tacitd.text.markdown import lines_of  # a session's start counts none

    try:
        return len(lines_of(text.encode("utf-8", "replace")))
    except FileRefusedError:
        return 0
