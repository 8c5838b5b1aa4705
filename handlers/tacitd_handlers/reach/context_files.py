"""The files that the client loads in a session by itself, and the learned files that it does not: the hook `context_files`.

tacitd's own files come from `reach_survey`. The person's and the project's are looked for as the client does it, so that
no line of theirs is repeated. Nothing is written.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Literal

from tacitd.session_context.context_request import ContextFile, ContextRequest
from tacitd.sources.registry import CONTEXT_FILES
from tacitd.state.paths import config_dir
from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.reach.exclude_settings import (
    ExcludePattern,
    find_exclude,
    list_settings_files,
    read_patterns,
)
from tacitd_handlers.reach.reach_survey import LEARNED, ReachReport, locate_directory, survey_directory
from tacitd_handlers.reach.rule_files import leads_out, read_text
from tacitd_handlers.shared import client_rules

WITHOUT_RULES = frozenset({"Explore"})
"""Kinds of sub-agents that load no instruction files (2.1.197 and later)."""
HOPS = 4
"""How deep imports in instruction files are followed."""
MOST = 200
"""Files of one directory that are read."""
MANAGED = Path("/etc/claude-code/CLAUDE.md")
_IMPORT = compile_lazily(r"(?<![\w`])@([^\s`]+)")
_AGENTS = "AGENTS.md"


def list_context_files(request: ContextRequest) -> Iterator[ContextFile]:
    """Yield what the client loads in the directory of the request, then the learned files that it does not load itself.

    Of two equal versions the newest known one is meant if the request names none.
    """
    home = config_dir(os.environ)
    version = client_rules.parse_version(request.client) or client_rules.NESTED_AGENTS_SINCE
    if request.occasion == "agent" and request.agent in WITHOUT_RULES:
        yield from _list_sources(request.cwd, frozenset(), is_excluded=False)
        return
    report = survey_directory(home, request.cwd, explain=False)
    loads_rules = client_rules.loads_rules(version)
    own: set[Path] = set()
    for one in report.files:
        own.add(one.path)
        when: Literal["start", "read", "never"] = "never"
        if one.path.name == _AGENTS:
            when = "read" if version >= client_rules.NESTED_AGENTS_SINCE else "never"
        elif loads_rules:
            when = "start" if one.when == "start" else client_rules.when_paths_load(version, headless=False)
        if when == "start" or when == "read":
            yield ContextFile(one.path, when, _strip_matter(read_text(one.path)), learned=True)
    others = list(_list_others(home, report, version, own))
    yield from others
    about_learned = [
        problem.why for problem in report.problems if LEARNED in problem.what and problem.id != "reach.twice"
    ]
    is_excluded = "claudeMdExcludes" in "".join(about_learned[:1])
    yield from _list_sources(request.cwd, {one.path for one in others} | own, is_excluded=is_excluded)


def _list_sources(cwd: Path, loaded: Set[Path], *, is_excluded: bool) -> Iterator[ContextFile]:
    """The learned files of the project, from the top to the directory, which the client does not load as such.

    `is_excluded`: whether a person chose that LEARNED.md is not loaded.
    """
    here, tree, main = locate_directory(cwd)
    places = [tree, *_list_between(tree, here)]
    learned = tree / LEARNED if (tree / LEARNED).is_file() else main / LEARNED
    for path in (learned, *(place / _AGENTS for place in places if place != tree)):
        if path not in loaded and (text := read_text(path)).strip():
            meant = is_excluded and path.name == LEARNED
            yield ContextFile(path, "never", text, learned=True, meant=meant)


def _list_others(
    home: Path, report: ReachReport, version: client_rules.Version, own: set[Path]
) -> Iterator[ContextFile]:
    """The instruction files of the person and of the project, with what they import."""
    here, tree, _ = locate_directory(report.directory)
    patterns = read_patterns(list_settings_files(home, dict.fromkeys([tree, here])))
    seen = set(own)
    for path in _list_candidates(home, here, tree, version):
        yield from _load_file(path, here, patterns, seen, HOPS)


def _list_candidates(home: Path, here: Path, tree: Path, version: client_rules.Version) -> Iterator[Path]:
    yield MANAGED
    yield home / "CLAUDE.md"
    yield from _list_rules(home / "rules", version)
    within = [tree, *_list_between(tree, here)]
    for place in reversed(tree.parents):
        yield place / "CLAUDE.md"
    has_instructions = False
    for place in within:
        for name in ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"):
            has_instructions = has_instructions or (place / name).is_file()
            yield place / name
        rules = place / CONTEXT_FILES.rules
        if version <= client_rules.LINKS_UNTIL or not leads_out(rules, tree):
            yield from _list_rules(rules, version)
    if version >= client_rules.NESTED_AGENTS_SINCE and not has_instructions:
        yield from dict.fromkeys([tree / _AGENTS, here / _AGENTS])


def _list_rules(directory: Path, version: client_rules.Version) -> list[Path]:
    if not client_rules.loads_rules(version) or not directory.is_dir():
        return []
    return sorted(directory.rglob("*.md"))[:MOST]


def _list_between(tree: Path, here: Path) -> list[Path]:
    """The directories below the top of the tree, down to a directory in it."""
    if not here.is_relative_to(tree):
        return []
    parts = here.relative_to(tree).parts
    return [tree.joinpath(*parts[: n + 1]) for n in range(len(parts))]


def _load_file(
    path: Path, here: Path, patterns: list[ExcludePattern], seen: set[Path], hops: int
) -> Iterator[ContextFile]:
    """A file if the client loads it, and what it imports: only from below the session's directory, without a question."""
    if path in seen or find_exclude(path, patterns) is not None or not (text := read_text(path)).strip():
        return
    seen.add(path)
    body = _strip_matter(text)
    limited = text.startswith("---\n") and re.search(r"^paths:", text[: len(text) - len(body)], re.M)
    yield ContextFile(path, "read" if limited else "start", body, learned=path.name == LEARNED)
    for name in _IMPORT.findall(body) if hops else ():
        target = Path(os.path.normpath(path.parent / name))  # an absolute name replaces the parent
        if target.is_relative_to(here):
            yield from _load_file(target, here, patterns, seen, hops - 1)


def _strip_matter(text: str) -> str:
    """The text without front matter."""
    head, mark, rest = text.partition("\n---\n") if text.startswith("---\n") else ("", "", "")
    return rest if mark and head else text
