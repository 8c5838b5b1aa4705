"""Which learned text reaches a session that starts in a directory, and what does not, with the reason.

Files are looked for as Claude Code does it: `.claude/rules` of the directory and of those above it, and of the person. Only
tacitd's own files are listed. Nothing is written.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from tacitd.files.git import (
    find_repository,
    is_tracked,
    list_tracked,
    locate_exclude_file,
    read_git,
    read_small_file,
)
from tacitd.sources.registry import CONTEXT_FILES
from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.reach.exclude_settings import (
    ExcludePattern,
    find_exclude,
    list_settings_files,
    read_patterns,
)
from tacitd_handlers.reach.rule_files import (
    USER_RULES,
    count_bullets,
    count_items,
    find_defect,
    find_link,
    leads_out,
    list_rules,
    read_text,
)
from tacitd_handlers.shared import client_rules

if TYPE_CHECKING:
    from tacitd.sources.base import ClientUse

PROJECT_RULES = Path(CONTEXT_FILES.rules) / "tacitd-learned.md"
MODULE_RULES = Path(CONTEXT_FILES.rules) / "tacitd"
LEARNED, AGENTS = "LEARNED.md", "AGENTS.md"
LISTED = {
    LEARNED: "/LEARNED.md",
    "tmp/learning-raw.jsonl": "/tmp/learning-*",
    "tmp/known-facts-summary.md": "/tmp/known-facts-summary.md",
}
"""Files of tacitd's outside `.claude/rules/`, with the patterns by which it keeps them out of git."""
LARGEST_RULES = 1 << 20
"""Bytes that are read of a .gitignore; git is asked about a longer one."""
_SOURCE = compile_lazily(r"^<!-- Written by tacitd from (?P<source>[^\n]+?): ", re.MULTILINE)
_IMPORT = compile_lazily(r"(?:^|\s)@(?:\./|\.\./)?LEARNED\.md(?=\s|$)")


class ReachedFile(Struct, frozen=True):
    """A file that sessions in the directory load."""

    path: Path
    kind: str
    """`person`, `project` or `module`."""
    when: str
    """`start`, or `read`: when a file in `folder` is read."""
    lines: int
    folder: str = ""
    """For `read`: the folder, relative to the work tree."""
    clients: str = ""
    """Which clients load it, if not all that load rules."""


class ReachProblem(Struct, frozen=True):
    """Learned text that does not arrive, or not as it should."""

    id: str
    """As in `tacitd doctor`; "" if it follows from the directory alone."""
    what: str
    why: str
    hint: str = ""


class ReachReport(Struct, frozen=True):
    """What a session in the directory loads."""

    directory: Path
    files: tuple[ReachedFile, ...]
    problems: tuple[ReachProblem, ...]
    clients: tuple[ClientUse, ...] = ()
    """The clients that were used here lately, the newest first."""


class _Survey(Struct):
    client_home: Path
    here: Path
    tree: Path
    main: Path
    """The top of the main work tree; `tree` if that is not a linked one."""
    is_git: bool
    patterns: list[ExcludePattern]
    explain: bool
    files: list[ReachedFile] = field(default_factory=list)
    problems: list[ReachProblem] = field(default_factory=list)


def survey_directory(
    client_home: Path,
    directory: Path,
    clients: Sequence[ClientUse] = (),
    list_folders: Callable[[Path], Iterable[str]] = lambda main: (),
    *,
    explain: bool = True,
) -> ReachReport:
    """Given a directory, return what a session there loads.

    `clients`: those that were used on this machine lately. `list_folders`: given a project's root, the folders whose AGENTS.md
    has lines of tacitd's. `explain`: whether all problems are looked for. Otherwise there are only those that decide what is
    loaded: a session waits for that, and nobody reads the others.
    """
    here, tree, main = locate_directory(directory)
    is_git = tree.is_dir() and find_repository(tree) is not None
    settings = list_settings_files(client_home, dict.fromkeys([tree, here]))
    survey = _Survey(client_home, here, tree, main, is_git, read_patterns(settings), explain)
    _add_person(survey)
    _add_project(survey)
    _add_modules(survey, list_folders(main))
    if explain:
        survey.problems += _list_shown(survey)
    mine = tuple(use for use in clients if _belongs_to(use.cwd, tree, main))
    survey.problems += _judge_clients(survey, mine)
    return ReachReport(here, tuple(survey.files), tuple(survey.problems), mine)


def locate_directory(directory: Path) -> tuple[Path, Path, Path]:
    """The real path of a directory, the top of the tree that it is in, and that of the main work tree.

    Without git the tree is the nearest directory with a project's rules, otherwise the directory itself, which need not
    exist.
    """
    here = Path(os.path.realpath(directory))
    existing = next(one for one in (here, *here.parents) if one.is_dir())
    found = find_repository(existing)
    if found is not None:
        return here, found.here, found.top
    tree = _find_plain_root(here)
    return here, tree, tree


def _find_plain_root(here: Path) -> Path:
    """Without git: the nearest directory with a project's rules; otherwise the directory itself."""
    return next((one for one in (here, *here.parents) if (one / PROJECT_RULES).is_file()), here)


def _add_person(survey: _Survey) -> None:
    path, what = survey.client_home / USER_RULES, "what is known of you"
    if not _add_file(survey, path, "person", "start", what) and os.path.lexists(path) and not path.is_file():
        hint = "move it away; tacitd then makes its own"
        survey.problems.append(ReachProblem("", what, f"{path} {find_defect(path)}", hint))


def _add_project(survey: _Survey) -> None:
    path = survey.tree / PROJECT_RULES
    what = f"the lines of {LEARNED}"
    source = survey.tree / LEARNED if (survey.tree / LEARNED).is_file() else survey.main / LEARNED
    link = find_link(path, survey.tree)
    if leads_out(path.parent, survey.tree):
        if count_items(source):
            hint = f"make {link} a directory of the project"
            why = f"{link} leads out of the project, where newer clients load no rules"
            survey.problems.append(ReachProblem("reach.linked", what, why, hint))
        return
    loaded = _add_file(survey, path, "project", "start", what)
    if not survey.explain:
        return
    if link == path and loaded:
        why = f"{path} is a link, which newer clients load at the project's root only, or ask about"
        hint = "remove the link; tacitd then makes a file when the next session starts"
        survey.problems.append(ReachProblem("reach.linked", what, why, hint))
    elif count_items(source) and find_exclude(path, survey.patterns) is None:
        survey.problems += _explain_copy(survey, path, source, link, what)
    if loaded and survey.is_git and is_tracked(survey.tree, path):
        survey.problems.append(_make_committed(survey, path, what))
    for name in (*CONTEXT_FILES.instructions, *CONTEXT_FILES.others):
        if path.is_file() and _IMPORT.search(read_text(survey.tree / name)):
            why = f"{survey.tree / name} imports {LEARNED} too, which asks for permission in sub-folders"
            survey.problems.append(
                ReachProblem(
                    "reach.twice",
                    f"{what} are loaded twice",
                    why,
                    f"remove the import from {survey.tree / name}; `tacitd link --remove {survey.tree}` does it if tacitd wrote it",
                )
            )


def _make_committed(survey: _Survey, path: Path, what: str) -> ReachProblem:
    why = f"git tracks {path}, so it is what the repository has: tacitd neither reads nor writes it"
    hint = f"git rm --cached {path.relative_to(survey.tree)}, and commit that"
    return ReachProblem("reach.committed", f"{what} as they are now", why, hint)


def _explain_copy(
    survey: _Survey, path: Path, source: Path, link: Path | None, what: str
) -> Iterator[ReachProblem]:
    """Why a project's copy lacks lines of its source."""
    if link is not None and not path.is_file():
        hint = "make it a directory" if link != path else "remove it"
        yield ReachProblem("", what, f"{link} is a link, and tacitd writes nothing through one", hint)
    elif not os.path.lexists(path):
        hint = (
            "it is made while the daemon runs, unless reach.project_rules or projects.write is off; for lines that came "
            f"with the repository, read them, then run `tacitd trust {survey.main}`"
        )
        yield ReachProblem("", what, f"{path} does not exist", hint)
    elif not count_items(path):
        hint = "it is made again when the next session starts" if path.is_file() else "move it away"
        yield ReachProblem("", what, f"{path} {find_defect(path)}", hint)
    elif (missing := count_bullets(source) - count_bullets(path)) > 0:
        hint = (
            "a change is copied within a minute while the daemon runs; for lines that came with the repository, read them, "
            f"then run `tacitd trust {survey.main}`"
        )
        lines = f"{missing} lines" if missing > 1 else "1 line"
        yield ReachProblem("", f"{lines} of {LEARNED}", f"{path} does not have them", hint)


def _add_modules(survey: _Survey, known: Iterable[str]) -> None:
    if leads_out(survey.tree / CONTEXT_FILES.rules, survey.tree):
        return
    listed: set[str] = set()
    rules = list_rules(survey.tree / MODULE_RULES)
    tracked = (
        list_tracked(survey.tree, survey.tree / MODULE_RULES, "*.md")
        if rules and survey.is_git and survey.explain
        else None
    )
    for path in rules:
        text = read_text(path)
        found = _SOURCE.search(text)
        source = found["source"] if found is not None else ""
        folder = source.rpartition("/")[0]
        if not folder:
            continue
        listed.add(folder)
        if _is_attached(survey, folder):
            _add_file(survey, path, "module", "read", f"the lines for {folder}", folder)
            if path.name.casefold() in (tracked or ()):
                survey.problems.append(_make_committed(survey, path, f"the lines for {folder}"))
            _add_nested(survey, survey.tree / source, folder)
    for folder in sorted(set(known) - listed):
        source = survey.tree / folder / AGENTS
        if not count_items(source if source.is_file() else survey.main / folder / AGENTS):
            continue
        if _is_attached(survey, folder) and not _add_nested(survey, source, folder):
            hint = "it is made while the daemon runs, unless reach.project_rules or projects.write is off"
            why = f"{survey.tree / MODULE_RULES} has no copy of them"
            survey.problems.append(ReachProblem("", f"the lines for {folder}", why, hint))


def _list_shown(survey: _Survey) -> Iterator[ReachProblem]:
    """Other files of tacitd's that git shows although the exclude file lists them: LEARNED.md, and those in `tmp/`."""
    exclude = locate_exclude_file(survey.main) if survey.is_git else None
    listed = read_small_file(exclude).splitlines() if isinstance(exclude, Path) else []
    names = [name for name, pattern in LISTED.items() if pattern in listed and (survey.main / name).exists()]
    output: bytes | None = b""
    if isinstance(exclude, Path) and names and _may_include_again(survey.main, exclude, names):
        output = read_git(["ls-files", "-z", "-o", "--exclude-standard", "--", *names], survey.main)
    for name in filter(None, os.fsdecode(output or b"").split("\0")):
        why = f"a rule in {survey.main / '.gitignore'} or in one below it includes it again"
        hint = f"add `/{name}` as the last line of {survey.main / '.gitignore'}"
        yield ReachProblem("", f"git shows {survey.main / name}", why, hint)


def _may_include_again(main: Path, exclude: Path, names: Iterable[str]) -> bool:
    """Whether git may show files although the exclude file lists them, so that git must be asked.

    gitignore(5): only a pattern with `!` does it, in the exclude file itself or in a .gitignore of their directories; the
    person's own exclude file yields to these. What git takes of a .gitignore that is tracked and not checked out is its own matter.
    """
    ignores = {(main / name).parent / ".gitignore" for name in names} | {main / ".gitignore"}
    rules = [read_small_file(file, LARGEST_RULES) for file in (exclude, *ignores)]
    if any("!" in text or len(os.fsencode(text)) >= LARGEST_RULES for text in rules):
        return True
    return any(not file.exists() and is_tracked(main, file) for file in ignores)


def _is_attached(survey: _Survey, folder: str) -> bool:
    """Whether the client attaches rules for a folder here. If not, the reason is added."""
    place = survey.tree / folder
    if place.is_relative_to(survey.here) or survey.here.is_relative_to(place):
        return True
    hint = f"start the session in {survey.tree}, or with --add-dir {survey.tree}"
    why = f"{folder} is outside {survey.here}, where Claude Code attaches nothing"
    survey.problems.append(ReachProblem("", f"the lines for {folder}", why, hint))
    return False


def _add_nested(survey: _Survey, path: Path, folder: str) -> bool:
    """AGENTS.md of a module: newer clients load it by themselves if the project has no CLAUDE.md. Returns whether they do."""
    names = (*CONTEXT_FILES.instructions, *CONTEXT_FILES.others)
    if not path.is_file() or any((survey.tree / name).exists() for name in names):
        return False
    since = client_rules.format_version(client_rules.NESTED_AGENTS_SINCE)
    return _add_file(survey, path, "module", "read", "", folder, f"{since} and later")


def _add_file(
    survey: _Survey, path: Path, kind: str, when: str, what: str, folder: str = "", clients: str = ""
) -> bool:
    """Add a file with list items, or the reason why it is not loaded. Returns whether it is loaded."""
    count = count_items(path)
    if not count:
        return False
    found = find_exclude(path, survey.patterns)
    if found is None:
        survey.files.append(ReachedFile(path, kind, when, count, folder, clients))
        return True
    if what:
        why = f"claudeMdExcludes in {found.file} excludes {path} ({found.pattern})"
        hint = f"change claudeMdExcludes in {found.file} if they should be loaded"
        survey.problems.append(ReachProblem("reach.excluded", what, why, hint))
    return False


def _judge_clients(survey: _Survey, clients: Sequence[ClientUse]) -> Iterator[ReachProblem]:
    """What the clients that were used here do not load."""
    known = [(client_rules.parse_version(use.version), use) for use in clients]
    old = {use.version for version, use in known if version and not client_rules.loads_rules(version)}
    if old and survey.files:
        since = client_rules.format_version(client_rules.RULES_SINCE)
        why = f"Claude Code {', '.join(sorted(old))}, used here, does not load rules (known from {since} on)"
        yield ReachProblem("reach.old-client", "nothing of this", why, "update Claude Code")
    modules = any(one.kind == "module" for one in survey.files)
    never = {
        use.version
        for version, use in known
        if version
        and client_rules.loads_rules(version)
        and client_rules.when_paths_load(version, headless=use.headless) == "never"
    }
    if never and modules:
        since = client_rules.format_version(client_rules.ATTACHED_SINCE)
        why = f"`claude -p` of {', '.join(sorted(never))}, used here, attaches no rules for paths (known from {since} on)"
        yield ReachProblem("reach.old-client", "the lines for modules", why, "update Claude Code")


def _belongs_to(cwd: str, tree: Path, main: Path) -> bool:
    """Whether a session in this directory works in the project."""
    if not cwd.startswith("/"):
        return False
    place = Path(os.path.realpath(cwd))
    found = find_repository(next(one for one in (place, *place.parents) if one.is_dir()))
    return found.top == main if found is not None else place.is_relative_to(tree)
