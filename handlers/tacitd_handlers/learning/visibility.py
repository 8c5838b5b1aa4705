"""How what was learned reaches the next session, and how nothing gets published by accident.

Both are files of the project, so both are operations of a transaction, decided here and written elsewhere:
local excludes for what tacitd creates (`.git/info/exclude` is local to one clone), and a pointer that Claude
Code loads at start (`.claude/rules/*.md`, observed from 2.0.76 to 2.1.328) where nothing refers to LEARNED.md.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from tacitd.events import Project
from tacitd.files.git import UnsafeGitDirectory, locate_exclude_file
from tacitd.files.operations import AppendLine, Effect, MakeFile, Operation
from tacitd.files.temporary import TEMP_PREFIX
from tacitd.files.transaction import History
from tacitd.sources.registry import CONTEXT_FILES
from tacitd_handlers.learning.safe_read import leads_out, resolve_links
from tacitd_handlers.learning.store import LEARNED, ProjectPaths, text_of

POINTER = Path(CONTEXT_FILES.rules) / "tacitd-learned.md"
POINTER_TEXT = "@../../LEARNED.md\n"
TEMPORARY_PATTERNS = ("/tmp/learning-*", "/tmp/known-facts-summary.md")
COPY_PATTERN = f"{TEMP_PREFIX}*"
"""What a replaced file leaves where something went wrong: it may hold a person's words, in any folder."""
REFERRING_FILES = (*CONTEXT_FILES.instructions, *CONTEXT_FILES.others, str(POINTER))
RULES_LIMIT = 200
"""Rule files that are looked at."""
_IMPORT = re.compile(r"(?:^|\s)@([^\s#]*LEARNED\.md)(?:#\S*)?(?=\s|$)")
_FENCED = re.compile(
    r"^ {0,3}(?P<bar>`{3,}(?=[^`\n]*$)|~{3,}).*?(?:^ {0,3}(?P=bar)[`~]*[ \t\r]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_SPAN = re.compile(r"(?<!`)(?P<bar>`+)(?!`)[^\n]*?(?<!`)(?P=bar)(?!`)")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


def exclude_file(project: Project) -> Path | None:
    """`.git/info/exclude` of the repository; None outside one, and where nothing may be written in it."""
    located = locate_exclude_file(project.root) if project.git else None
    return located if isinstance(located, Path) else None


def why_not_hidden(project: Project) -> str:
    """Why files of ours cannot be kept out of git in this clone; "" where they can, or where there is no git."""
    located = locate_exclude_file(project.root) if project.git else None
    return located.reason if isinstance(located, UnsafeGitDirectory) else ""


def build_excludes(project: Project, patterns: Iterable[str]) -> list[Operation]:
    """Operations that hide these patterns from git in this clone, and nowhere else."""
    path = exclude_file(project)
    return [AppendLine(path, pattern) for pattern in patterns] if path is not None else []


def list_temporary_patterns(project: Project) -> list[str]:
    """Patterns for what lies in `tmp/`, also where that is a link to another place in the project, and for copies."""
    root, tmp = resolve_links(project.root), resolve_links(project.root / "tmp")
    if tmp == root / "tmp" or not tmp.is_relative_to(root):
        return [*TEMPORARY_PATTERNS, COPY_PATTERN]
    place = pattern_of(tmp.relative_to(root)) if tmp != root else ""
    return [
        *TEMPORARY_PATTERNS,
        COPY_PATTERN,
        *(f"{place}/{name.removeprefix('/tmp/')}" for name in TEMPORARY_PATTERNS),
    ]


def list_created_patterns(project: Project, targets: Iterable[Path]) -> list[str]:
    """Patterns for those of the files that are not there yet: what was there is the person's to publish.

    Where a link leads elsewhere in the project, git sees the file that it leads to, so that one is named too.
    """
    root, found = resolve_links(project.root), dict[str, None]()
    for path in (path for path in targets if not path.exists()):
        if not os.path.lexists(path):
            found[pattern_of(path.relative_to(project.root))] = None
        if resolve_links(path).is_relative_to(root):
            found[pattern_of(resolve_links(path).relative_to(root))] = None
    return list(found)


def pattern_of(path: Path) -> str:
    """The gitignore pattern for exactly this file, given relative: `/app/\\[id\\]/AGENTS.md` (gitignore(5))."""
    return "/" + re.sub(r"([\\*?\[\]])", r"\\\1", path.as_posix())


def hidden_by_us(history: History, project: Project) -> set[str]:
    """The lines that we ever put into the exclude file: only those are ours to take out again."""
    path = exclude_file(project)
    return {
        operation.line
        for operation, effect in _done_operations(history, project)
        if isinstance(operation, AppendLine) and operation.path == path and effect.did == "appended"
    }


def find_referring_file(root: Path) -> Path | None:
    """The file by which an agent finds LEARNED.md, None where nothing refers to it."""
    rules = root / CONTEXT_FILES.rules
    candidates = [root / name for name in REFERRING_FILES]
    if rules.is_dir() and not leads_out(rules, root):
        candidates += sorted(islice(rules.glob("**/*.md"), RULES_LIMIT))
    if not any((root / name).is_file() for name in CONTEXT_FILES.instructions):
        candidates.append(
            root / "AGENTS.md"
        )  # Claude Code reads it only there, and other agents follow a mention
    return next((path for path in candidates if refers_to_learned(path, root)), None)


def refers_to_learned(path: Path, root: Path) -> bool:
    """Whether this file brings LEARNED.md to an agent: by a mention in AGENTS.md, elsewhere by an `@` import of it.

    A mention alone is not followed by Claude Code, and an import in code or in a comment is none. A file behind a link
    that leads out of the project is not read.
    """
    text = text_of(path, root)
    if path == root / "AGENTS.md":
        return LEARNED in text
    named = _IMPORT.findall(strip_code(text)) if LEARNED in text else []
    return any(os.path.normpath(path.parent / name) == os.path.normpath(root / LEARNED) for name in named)


def strip_code(text: str) -> str:
    """The text without code fences, code spans and comments: what is left is what counts in Markdown."""
    return _COMMENT.sub("", _SPAN.sub("``", _FENCED.sub("", text)))


def build_pointer(project: Project, history: History) -> list[Operation]:
    """The operation that creates the pointer, where nothing refers to LEARNED.md.

    Once for a project: whoever removed it or emptied it meant that.
    """
    path = project.root / POINTER
    if (
        find_referring_file(project.root) is not None
        or os.path.lexists(path)
        or not _may_make(path, project.root)
    ):
        return []
    if any(
        isinstance(made, MakeFile) and made.path == path for made, _ in _done_operations(history, project)
    ):
        return []
    return [MakeFile(path, POINTER_TEXT)]


def _may_make(path: Path, root: Path) -> bool:
    """Whether the file can be made below the root; what only helps must not stop what matters."""
    parent = next(one for one in path.parents if os.path.lexists(one))
    inside = resolve_links(parent).is_relative_to(resolve_links(root))
    return inside and parent.is_dir() and os.access(parent, os.W_OK | os.X_OK)


def _done_operations(history: History, project: Project) -> Iterator[tuple[Operation, Effect]]:
    for entry in history.list_transactions(project.root):
        if entry.state == "done":
            yield from zip(entry.operations, entry.effects, strict=True)


def list_writable_dirs(project: Project) -> list[Path]:
    """Directories beside the project's root that its transactions may write in: its repository's own."""
    path = exclude_file(project)
    return [path.parent] if path is not None else []


def is_unreferenced(files: ProjectPaths) -> bool:
    """Whether LEARNED.md is there and no agent is told of it."""
    return files.learned_file.exists() and find_referring_file(files.root) is None
