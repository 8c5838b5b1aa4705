"""Read what the pure rules need of a project: its folders, the lines of its files, and what git reports about them.

Nothing is written here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from tacitd.errors import FileRefusedError
from tacitd.events import Project
from tacitd.files import git
from tacitd.files.disk import RealDisk
from tacitd.files.transaction import History
from tacitd.files.write_checks import (
    refuse_aliased,
    refuse_git_directory,
    refuse_link,
    refuse_link_text,
)
from tacitd.text.markdown import lines_of, put_line
from tacitd.text.markdown_text import normalise_heading
from tacitd_handlers.learning.folders import (
    AGENTS,
    LEARNED,
    ROOT_FILES,
    RULES,
    VENDORED,
    is_internal,
)
from tacitd_handlers.learning.safe_read import read_plain_bytes, resolve_links
from tacitd_handlers.learning.statements import known_lines
from tacitd_handlers.learning.store import text_of
from tacitd_handlers.learning.tombstones import GitView

READ_LIMIT = 4 << 20
"""Maximum size in bytes of a Markdown file that is read. A longer one is not a list of preferences."""


def find_root_file(project: Project, *, local: bool) -> str:
    """Return the file for lines of the whole project. `local`: whether the project is not shared through git."""
    return RULES if local and is_tracked_source(project, project.root / LEARNED) else LEARNED


def is_tracked_source(project: Project, path: Path) -> bool:
    """Whether git tracks the file behind this path, or cannot say."""
    root, file = resolve_links(project.root), resolve_links(path)
    return project.git and file.is_relative_to(root) and git.read_index_mode(root, file) != ""


def may_have_agents(project: Project, folder: str, *, local: bool = False) -> bool:
    """Whether a line may be put into a folder's AGENTS.md (SPEC S-24). `folder` is relative to the project and has no `..`.

    Not if it or the file leads out of the project, into version control or the client's directory, or to the root's AGENTS.md or
    LEARNED.md, which are the person's; if it is vendored, ignored by git or a submodule; or if git tracks the file and the project
    is `local`.
    """
    root, place = resolve_links(project.root), resolve_links(project.root / folder)
    file = resolve_links(project.root / folder / AGENTS)
    if not place.is_relative_to(root) or not file.is_relative_to(root):
        return False
    if (
        not place.is_dir()
        or place == root
        or file in (resolve_links(root / AGENTS), resolve_links(root / LEARNED))
    ):
        return False
    below = (*place.relative_to(root).parts, *file.relative_to(root).parts)
    if any(is_internal(part) or part.casefold() in VENDORED for part in (*below, *folder.split("/"))):
        return False
    parents = [p for p in (place, *place.parents) if p.is_relative_to(root) and p != root]
    if any((p / ".git").exists() for p in parents):
        return False
    if project.git and git.is_ignored(project.root, project.root / folder):
        return False
    return not (local and is_tracked_source(project, project.root / folder / AGENTS))


def open_folders(project: Project, folders: Iterable[str], *, local: bool = False) -> list[str]:
    """Return the folders that may have an AGENTS.md of ours.

    The names are untrusted, because they come from the raw file, which any program can write.
    """
    plain = [
        f for f in folders if f and not f.startswith("/") and ".." not in f.split("/") and f.isprintable()
    ]
    return [folder for folder in dict.fromkeys(plain) if may_have_agents(project, folder, local=local)]


class SharedFile(Struct, frozen=True):
    """A Markdown file that the user edits too."""

    data: bytes | None
    """The file's bytes; None if there is no file."""
    lines: tuple[str, ...]
    """The text of each bullet."""

    @property
    def text(self) -> str:
        """The text without a byte order mark; "" if there is no file."""
        return (self.data or b"").decode("utf-8", "replace").removeprefix("\ufeff")

    @property
    def all_statements(self) -> tuple[str, ...]:
        """The bullets and all other statements and sentences, which a new line must not repeat."""
        return tuple(dict.fromkeys((*self.lines, *known_lines(self.text))))


def read_shared(path: Path, root: Path) -> SharedFile:
    """Read a shared file. A missing one has no data.

    Raises FileRefusedError if it is not UTF-8, is unreadable, is longer than READ_LIMIT, or is a link that leads out of
    the project, into a git directory, to another name or to a tracked file.
    """
    place, top = resolve_links(path), resolve_links(root)
    if not place.is_relative_to(top):
        raise FileRefusedError(
            f"{path} is a link that leads out of the project", "replace it with a regular file"
        )
    refuse_git_directory(path, place, top)
    refuse_link(path, place, root, top)
    try:
        data = read_plain_bytes(path, READ_LIMIT + 1)
    except OSError as error:
        raise FileRefusedError(
            f"{path} cannot be read: {error.strerror}", "make it readable for tacitd"
        ) from None
    if data is None:
        return SharedFile(None, ())
    if len(data) > READ_LIMIT:
        raise FileRefusedError(f"{path} is longer than 4 MB", "move old contents out of it")
    try:
        return SharedFile(data, tuple(text for _, text in lines_of(data)))
    except FileRefusedError as error:
        raise FileRefusedError(f"{path}: {error.what}", error.hint) from None


def read_spliceable(path: Path, root: Path) -> SharedFile:
    """Read a shared file that a line is to be put into, and check that it can be edited.

    It is called before a model call, so that no answer is paid for that cannot be written. Raises FileRefusedError as
    `read_shared` does, and if the file is read-only, has several hard links, contains conflict markers, or ends in an open
    code fence or comment.
    """
    shared = read_shared(path, root)
    refuse_link_text(path, resolve_links(path), resolve_links(root), RealDisk())
    for place in (path, path.parent):
        if place.exists() and not os.access(place, os.W_OK):
            raise FileRefusedError(f"{place} is read-only", f"chmod u+w {place}")
    if shared.data is None:
        return shared
    refuse_aliased(resolve_links(path), RealDisk())
    try:
        put_line(shared.data, "General", "tacitd checks whether a line can be put here", "")
    except FileRefusedError as error:
        raise FileRefusedError(f"{path}: {error.what}", error.hint) from None
    return shared


def read_all(
    project: Project, folders: Iterable[str], *, local: bool = False
) -> tuple[dict[str, SharedFile], dict[str, str]]:
    """Read LEARNED.md, the rule file if it has the project's lines, and the AGENTS.md of these folders.

    Returns the files by path relative to the project, and the folders whose file cannot be edited now, with the reason.
    Raises FileRefusedError if LEARNED.md cannot be edited.
    """
    if find_root_file(project, local=local) == RULES:
        found = {LEARNED: read_shared(project.root / LEARNED, project.root)}
        found[RULES] = read_spliceable(project.root / RULES, project.root)
    else:
        found = {LEARNED: read_spliceable(project.root / LEARNED, project.root)}
    closed: dict[str, str] = {}
    for folder in dict.fromkeys(folders):
        name = f"{folder}/{AGENTS}"
        try:
            found[name] = read_spliceable(project.root / name, project.root)
        except FileRefusedError as error:
            closed[folder] = error.what
    return found, closed


def read_documents_of_person(project: Project) -> dict[str, tuple[str, ...]]:
    """The statements of the person's documents for the whole project, by name. tacitd has no lines in them."""
    found = {name: text_of(project.root / name, project.root) for name in (AGENTS, "CLAUDE.md")}
    return {name: known_lines(text) for name, text in found.items() if text}


def git_view(project: Project, name: str, data: bytes | None, head_then: str | None) -> GitView | None:
    """Return what git reports about one file now; None outside a git work tree.

    `name` is relative to the project; `data` are the file's bytes, None if it is missing; `head_then` is HEAD's commit at
    the last check.
    """
    if not project.git:
        return None
    return GitView(
        head_then=head_then,
        head_now=git.read_head(project.root) or None,
        in_progress=git.in_progress(project.root),
        known_blob=data is not None and git.knows_blob(project.root, data),
        tracked=git.is_tracked(project.root, project.root / name),
    )


def find_own_section(project: Project, path: Path, line: str, history: History) -> str:
    """The heading above a line if tacitd made it, so that it goes with the section's last line; otherwise ""."""
    made = {
        normalise_heading(effect.heading)
        for done in history.list_transactions(project.root)
        for operation, effect in zip(done.operations, done.effects, strict=True)
        if operation.path == path and effect.did == "put" and effect.heading
    }
    found = [heading for heading, text in lines_of(read_shared(path, project.root).data) if text == line]
    return next((heading for heading in found if normalise_heading(heading) in made), "")


def title_for(name: str) -> str:
    """The title of a file that tacitd creates, such as `Learning Module` for `src/learning/AGENTS.md` (seed 003)."""
    if name in ROOT_FILES:
        return "Learned Preferences"
    return f"{name_folder(Path(name).parent.name)} Module"


def name_folder(folder: str) -> str:
    """The name of a folder as people write it: `User Api` for `user_api`, `Graphql Client` for `graphqlClient`."""
    # Claude Code would treat `@` as an import when it loads the file.
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[\s_.@-]+", " ", folder).split()
    return " ".join(word[:1].upper() + word[1:] for word in words)
