"""The files that the client loads in a session by itself, and the learned files that it does not: the hook `context_files`.

Files are looked for as the client does it, so that no line of theirs is repeated. Nothing is written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Literal

from tacitd.session_context.context_request import ContextFile, ContextRequest
from tacitd.sources.registry import CONTEXT_FILES
from tacitd.state.paths import config_dir
from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.reach import client_rules
from tacitd_handlers.reach.exclude_settings import ExcludePattern, find_exclude, read_patterns
from tacitd_handlers.reach.rule_files import list_rules, locate_directory, split_matter
from tacitd_handlers.shared.rule_names import AGENTS, LEARNED, PROJECT_RULE
from tacitd_handlers.shared.safe_read import leads_out, read_text

WITHOUT_RULES = frozenset({"Explore"})
"""Kinds of sub-agents that load no instruction files (2.1.197 and later)."""
HOPS = 4
"""How deep imports in instruction files are followed."""
MANAGED = Path("/etc/claude-code/CLAUDE.md")
_IMPORT = compile_lazily(r"(?<![\w`])@([^\s`]+)")


def list_context_files(request: ContextRequest) -> Iterator[ContextFile]:
    """Yield what the client loads in the directory of the request, then the learned files that it does not load itself.

    If the request names no version, the newest known one is meant.
    """
    home, place = config_dir(os.environ), locate_directory(request.cwd)
    version = client_rules.parse_version(request.client) or client_rules.NESTED_AGENTS_SINCE
    if request.occasion == "agent" and request.agent in WITHOUT_RULES:
        yield from _list_sources(place, frozenset(), is_excluded=False)
        return
    patterns = read_patterns(home, dict.fromkeys([place[1], place[0]]))
    loaded = list(list_loaded(home, place, version, patterns))
    yield from loaded
    is_excluded = find_exclude(place[1] / PROJECT_RULE, patterns) is not None
    yield from _list_sources(place, {one.path for one in loaded}, is_excluded=is_excluded)


def _list_sources(
    place: tuple[Path, Path, Path], loaded: Set[Path], *, is_excluded: bool
) -> Iterator[ContextFile]:
    """The learned files of the project, from the top to the directory, which the client does not load as such.

    `is_excluded`: whether a person chose that LEARNED.md is not loaded.
    """
    here, tree, main = place
    learned = tree / LEARNED if (tree / LEARNED).is_file() else main / LEARNED
    for path in (learned, *(below / AGENTS for below in _list_between(tree, here))):
        if path not in loaded and (text := read_text(path)).strip():
            meant = is_excluded and path.name == LEARNED
            yield ContextFile(path, "never", text, learned=True, meant=meant)


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
    for place in [tree, *_list_between(tree, here)]:
        for name in ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"):
            has_instructions = has_instructions or (place / name).is_file()
            yield place / name
        rules = place / CONTEXT_FILES.rules
        if with_rules and (version <= client_rules.LINKS_UNTIL or not leads_out(rules, tree)):
            yield from list_rules(rules)
    if version >= client_rules.NESTED_AGENTS_SINCE and not has_instructions:
        yield from dict.fromkeys([tree / AGENTS, here / AGENTS])


def _list_between(tree: Path, here: Path) -> list[Path]:
    """The directories below the top of the tree, down to a directory in it."""
    parts = here.relative_to(tree).parts if here.is_relative_to(tree) else ()
    return [tree.joinpath(*parts[: n + 1]) for n in range(len(parts))]


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
    is_ours = path.name == LEARNED or path.name.startswith("tacitd") or path.parent.name == "tacitd"
    if when != "never":
        yield ContextFile(path, when, body, learned=is_ours)
    for name in _IMPORT.findall(body) if hops else ():
        target = Path(os.path.normpath(path.parent / name))  # an absolute name replaces the parent
        if target.is_relative_to(here):
            yield from _load_file(target, here, version, patterns, seen, hops - 1)
