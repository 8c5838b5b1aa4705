"""The source files: LEARNED.md, the AGENTS.md of folders, and the person's own ~/.agents/LEARNED.md. Nothing is written here.

A document is split into statements: bullets, paragraphs and sentences, each with its heading. A project's contents are untrusted: a link
may lead out of it, and a FIFO may have the name of one of our files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from tacitd.errors import FileRefusedError
from tacitd.events import Project
from tacitd.files import git
from tacitd.files.formats import Bullets, bullet, split_bullet
from tacitd.files.write_checks import refuse_aliased, refuse_link, refuse_link_text
from tacitd.state.paths import find_home
from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.markdown import lines_of, put_line
from tacitd_handlers.learning.folders import GROUPS, ROOT_FILES, TITLE, VENDORED, is_internal
from tacitd_handlers.learning.learned_rows import LineRow, read_lines_of
from tacitd_handlers.reach.client_rules import AGENTS, LEARNED, TEAM_RULE
from tacitd_handlers.reach.rule_text import strip_block
from tacitd_handlers.shared import places
from tacitd_handlers.shared.model_text import is_fence, split_sentences, strip_marks
from tacitd_handlers.shared.places import leads_out, read_plain_bytes, resolve_links

if TYPE_CHECKING:
    from tacitd.contract import Leaf, Rows, Tools

_HEADING = compile_lazily(r"^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$")
_BULLET = compile_lazily(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+\S")
_COMMENT = compile_lazily(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FRONT_MATTER = compile_lazily(r"\A---\n.*?\n---\n", re.DOTALL)


class Statement(Struct, frozen=True):
    """One bullet or paragraph, joined into one line, without Markdown marks. `heading` is "" above the first one."""

    text: str
    heading: str
    is_bullet: bool


def parse_statements(markdown: str) -> tuple[Statement, ...]:
    """Return a document's bullets and paragraphs in order. Code blocks, comments and front matter are left out."""
    text = _COMMENT.sub("", _FRONT_MATTER.sub("", markdown.replace("\r\n", "\n").lstrip("\ufeff")))
    found: list[Statement] = []
    heading, block, in_code = "", list[str](), False
    for line in [*text.split("\n"), ""]:
        title = None if in_code else _HEADING.match(line)
        if is_fence(line) or in_code or title or not line.strip() or _BULLET.match(line):
            joined = strip_marks(" ".join(part.strip() for part in block))
            if any(char.isalnum() for char in joined):
                found.append(Statement(joined, heading, _BULLET.match(block[0]) is not None))
            block = []
        if is_fence(line):
            in_code = not in_code
        elif title:
            heading = strip_marks(title[1]).rstrip(":")
        elif line.strip() and not in_code:
            block.append(line)
    return tuple(found)


def known_lines(*documents: str) -> tuple[str, ...]:
    """Return the texts that a fact is compared with, given directives, AGENTS.md, LEARNED.md and the summary (S-06).

    They are each bullet and paragraph as a whole, and each of its sentences, without duplicates.
    """
    lines: dict[str, None] = {}
    for document in documents:
        for statement in parse_statements(document):
            lines[statement.text] = None
            lines.update(dict.fromkeys(split_sentences(statement.text)))
    return tuple(lines)


# --- where lines are written


READ_LIMIT = 4 << 20
"""Maximum size in bytes of a Markdown file that is read. A longer one is not a list of preferences."""
TEXT_LIMIT = 200_000
"""Bytes that are read of a document whose text goes into a prompt."""
LEAVES = Bullets()


class Place(Struct, frozen=True):
    """Where lines are written: a project, or the person's directory."""

    number: int | None
    """The row of `project`; None for the person."""
    root: Path
    project: Project | None
    is_local: bool = True
    """Whether its files are hidden from git, and those that git tracks are not written."""

    @property
    def name(self) -> str:
        """For degradations and tasks: the root, or `person`."""
        return self.project_root or "person"

    @property
    def project_root(self) -> str:
        return str(self.root) if self.project is not None else ""


def person_root(environ: Mapping[str, str]) -> Path:
    return find_home(environ) / ".agents"


def list_paths(rows: Rows, environ: Mapping[str, str], root: Path | None) -> list[Path]:
    """The files of a project, or of the person (None), that have or had lines of tacitd, and its LEARNED.md."""
    if root is None:
        return [person_root(environ) / LEARNED]
    known = rows(
        "SELECT DISTINCT l.path FROM learning_line l JOIN project p ON p.number = l.project WHERE p.root = ?",
        str(root),
    )
    return list(dict.fromkeys((root / LEARNED, *(Path(path) for (path,) in known))))


def make_format(path: Path, root: Path) -> Bullets:
    """The format of a file that may have to be made. A folder's goes with its last line, if it has no more than tacitd's title."""
    name = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name
    return Bullets(title_for(name), order=GROUPS, ends=name not in ROOT_FILES)


def title_for(name: str) -> str:
    """The title of a file that tacitd creates, such as `Learning Module` for `src/learning/AGENTS.md` (seed 003)."""
    if name in ROOT_FILES:
        return TITLE
    # Claude Code would treat `@` as an import when it loads the file.
    folder = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[\s_.@-]+", " ", Path(name).parent.name)
    return f"{' '.join(word[:1].upper() + word[1:] for word in folder.split())} Module"


def find_place(path: Path, tools: Tools) -> Place | None:
    """The place that a file belongs to; None if it is in no known project."""
    if path == person_root(os.environ) / LEARNED:
        return person_place()
    found = tools.rows("SELECT number, root, common FROM project ORDER BY length(root) DESC")
    for number, root, common in found:
        if path.is_relative_to(root):
            return make_place(number, Project(Path(root), common is not None), tools)
    return None


def make_place(number: int | None, project: Project, tools: Tools) -> Place:
    return Place(number, project.root, project, tools.write_mode(project) == "local")


def person_place() -> Place:
    return Place(None, person_root(os.environ), None)


# --- which files may have lines


def find_root_file(place: Place) -> str:
    """The file for lines of the whole project, or of the person."""
    if place.project is None:
        return LEARNED
    is_theirs = place.is_local and is_tracked_source(place.project, place.root / LEARNED)
    return TEAM_RULE if is_theirs else LEARNED


def is_tracked_source(project: Project, path: Path) -> bool:
    """Whether git tracks the file behind this path, or cannot say."""
    root, file = resolve_links(project.root), resolve_links(path)
    return project.git and file.is_relative_to(root) and git.read_index_mode(root, file) != ""


def open_folders(place: Place, folders: Iterable[str]) -> list[str]:
    """Return the folders that may have an AGENTS.md of ours. The names are untrusted: a fact or a tool named them."""
    plain = dict.fromkeys(
        f for f in folders if f and not f.startswith("/") and ".." not in f.split("/") and f.isprintable()
    )
    project = place.project
    return [one for one in plain if project is not None and _may_have_agents(project, one, place.is_local)]


def _may_have_agents(project: Project, folder: str, local: bool) -> bool:
    """Whether a line may be put into a folder's AGENTS.md (SPEC S-24).

    Not if it or the file leads out of the project, into version control or the client's directory, or to the root's AGENTS.md or
    LEARNED.md, which are the person's; if it is vendored, ignored by git or a submodule; or if git tracks the file and the project
    is `local`.
    """
    root, place = resolve_links(project.root), resolve_links(project.root / folder)
    file = resolve_links(project.root / folder / AGENTS)
    own = (resolve_links(root / AGENTS), resolve_links(root / LEARNED))
    if not place.is_relative_to(root) or not file.is_relative_to(root) or file in own:
        return False
    if not place.is_dir() or place == root:
        return False
    below = (*place.relative_to(root).parts, *file.relative_to(root).parts, *folder.split("/"))
    if any(is_internal(part) or part.casefold() in VENDORED for part in below):
        return False
    parents = (p for p in (place, *place.parents) if p.is_relative_to(root) and p != root)
    if any((p / ".git").exists() for p in parents):
        return False
    if project.git and git.is_ignored(project.root, project.root / folder):
        return False
    return not (local and is_tracked_source(project, project.root / folder / AGENTS))


def why_not_writable(place: Place) -> tuple[str, str] | None:
    """Why nothing can be written there now, and the hint that fixes it; None if it can. Called before each model call."""
    if place.project is None:
        return None
    if not place.root.is_dir():
        hint = "bring it back; what has waited for a day is listed by `tacitd rescue`, and `tacitd rescue drop` ends that"
        return f"{place.root} does not exist", hint
    if os.access(place.root, os.W_OK | os.X_OK):
        return None
    hint = "make it writable for tacitd, or run `tacitd exclude` for the project"
    return f"{place.root} is read-only", hint


def why_no_temporary(root: Path) -> str:
    """Why there are no raw file and no summary in the `tmp` of a project; "" if they can be written. Nothing depends on them."""
    directory = root / "tmp"
    if directory.is_symlink():
        return f"{directory} is a link"
    if os.path.lexists(directory) and not directory.is_dir():
        return f"{directory} is not a directory"
    if directory.exists() and not os.access(directory, os.W_OK | os.X_OK):
        return f"{directory} is read-only"
    return ""


# --- what is in them


class SourceFile(Struct, frozen=True, dict=True):
    """A source file as it is."""

    path: Path
    data: bytes | None
    """None if there is no file."""
    rows: tuple[LineRow, ...] = ()
    missing: tuple[LineRow, ...] = ()
    """Lines that have a row and are not there."""
    removed: frozenset[str] = frozenset()
    """Texts of lines that a person just removed, or that are in doubt."""

    @property
    def ours(self) -> list[LineRow]:
        return [row for row in self.rows if row.by == "tacitd"]

    @cached_property
    def leaves(self) -> list[tuple[str, str]]:
        """(heading, text) of each list item."""
        return lines_of(self.data)

    @cached_property
    def statements(self) -> tuple[str, ...]:
        """The list items and all other statements and sentences, which a new line must not repeat."""
        text = (self.data or b"").decode("utf-8", "replace").removeprefix("\ufeff")
        return tuple(dict.fromkeys((*(text for _, text in self.leaves), *known_lines(text))))

    @property
    def headings(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(heading for heading, _ in self.leaves if heading))


def read_source(path: Path, root: Path, tools: Tools, *, must_edit: bool = False) -> SourceFile:
    """Read a source file, and compare it with what tacitd wrote there.

    `must_edit`: check too that a line can be put into it, so that no answer is paid for that cannot be written. Raises FileBusyError,
    and FileRefusedError if it is not UTF-8, unreadable, longer than READ_LIMIT, or a link that leads out of the project, into a git
    directory, to another name or to a tracked file; with `must_edit` also if it is read-only, has several hard links, contains conflict
    markers, or ends in an open code fence or comment.
    """
    data = read_checked(path, root)
    if must_edit:
        real = resolve_links(path)
        refuse_link_text(path, real, resolve_links(root))
        for place in (path, path.parent):
            if place.exists() and not os.access(place, os.W_OK):
                raise FileRefusedError(f"{place} is read-only", f"chmod u+w {place}")
        if data is not None:
            refuse_aliased(real)
            with _naming(path):
                put_line(data, "General", "tacitd checks whether a line can be put here", "")
    view = tools.look(path, LEAVES)
    rows = read_lines_of(tools.rows, str(path))
    there = {text for _, text in lines_of(data)}
    missing = tuple(row for row in rows if row.text not in there)
    removed = {split_bullet(leaf)[1] for leaf in (*view.edits.removed, *view.edits.changed)}
    if view.doubt in ("removed once", "cut"):
        removed = {row.text for row in missing}
    found = tuple(row for row in rows if row.text in there)
    return SourceFile(path, data, found, missing, frozenset(removed))


def read_checked(path: Path, root: Path) -> bytes | None:
    """The bytes of a source file; None if there is none. Raises FileRefusedError, see `read_source`."""
    place, top = resolve_links(path), resolve_links(root)
    if not place.is_relative_to(top):
        what = f"{path} is a link that leads out of the project"
        raise FileRefusedError(what, "replace it with a regular file")
    refuse_link(path, place, root, top)
    try:
        data = read_plain_bytes(path, READ_LIMIT + 1)
    except OSError as error:
        what = f"{path} cannot be read: {error.strerror}"
        raise FileRefusedError(what, "make it readable for tacitd") from None
    if data is not None and len(data) > READ_LIMIT:
        raise FileRefusedError(f"{path} is longer than 4 MB", "move old contents out of it")
    with _naming(path):
        lines_of(data)
    return data


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Errors name the file."""
    try:
        yield
    except FileRefusedError as error:
        raise FileRefusedError(f"{path}: {error.what}", error.hint) from None


def read_text(path: Path, root: Path | None = None) -> str:
    """A document's text, at most TEXT_LIMIT bytes of it; "" if it is missing or unreadable. Raises nothing.

    `root`: the project of a document whose text goes to a model; a link that leads out of it is not read.
    """
    if root is not None and (not os.path.lexists(path) or leads_out(path, root)):
        return ""
    text = places.read_text(path, TEXT_LIMIT)
    return strip_block(text) if path.name == AGENTS else text


def find_leaf(leaves: Mapping[Leaf, str], heading: str, text: str) -> Leaf:
    """The leaf of a line: under its heading if it is there, otherwise under any."""
    exact = bullet(heading, text)
    return exact if exact in leaves else next((one for one in leaves if split_bullet(one)[1] == text), exact)
