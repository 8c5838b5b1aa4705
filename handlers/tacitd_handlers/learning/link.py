"""Commands about the visibility of what was learned: link, share, exclude. They ask before they edit a user's file."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

import click

from tacitd.cli.common import connect_or_run, echo_message, get_paths, resolve_directory
from tacitd.clock import SystemClock
from tacitd.errors import FileRefusedError, UsageError
from tacitd.events import NoProject, Project
from tacitd.files.log import Log
from tacitd.files.replaced import edit_file
from tacitd.files.transaction import History
from tacitd.files.worktrees import list_linked_worktrees
from tacitd.sources.projects import ProjectFinder
from tacitd.sources.registry import CONTEXT_FILES
from tacitd.text.markdown_blocks import LineKind, lines_as_blocks
from tacitd.work.write_modes import WriteModes
from tacitd_handlers.learning.mirrors.mirror_names import MIRROR_PATTERNS, MODULE_MIRRORS, PROJECT_MIRROR
from tacitd_handlers.learning.safe_read import leads_out, read_plain_bytes
from tacitd_handlers.learning.store import LEARNED
from tacitd_handlers.learning.visibility import (
    exclude_file,
    hidden_by_us,
    list_temporary_patterns,
    refers_to_learned,
    strip_code,
)

IMPORTS = frozenset({"@LEARNED.md", "@../LEARNED.md"})
"""The lines that earlier versions offered for a CLAUDE.md. Such an import only works at the project's root, and there it
loads LEARNED.md a second time."""
SEE_ALSO = "See also: [LEARNED.md](LEARNED.md) for dynamically learned preferences."
LIMIT = 16 << 20


@click.command(epilog="\b\nExample: tacitd link ~/work/app\nExample: tacitd link --remove ~/work/app")
@click.argument("project", metavar="[DIR]", required=False)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--remove", is_flag=True, help="Remove an `@LEARNED.md` that an earlier version wrote.")
def link(project: str | None, yes: bool, remove: bool) -> None:
    """Show the line by which other agents find LEARNED.md in AGENTS.md as a diff, and write it after confirmation.

    Claude Code needs no line: it loads what was learned from `.claude/rules/`.
    """
    root = find_project(project).root
    if remove:
        _remove_imports(root, yes)
        return
    target = root / "AGENTS.md"
    _refuse_outside(target, root)
    if not target.is_file():
        echo_message(f"there is no {target}; Claude Code loads what was learned without a line of yours")
        return
    if refers_to_learned(target, root):
        echo_message(f"{target} refers to LEARNED.md already")
        return
    if _confirm_edit(target, lambda data: with_line(data, SEE_ALSO), yes):
        echo_message(f"{target} refers to LEARNED.md now")


def _remove_imports(root: Path, yes: bool) -> None:
    """Remove the imports of LEARNED.md from the project's CLAUDE.md files, each after confirmation."""
    found = False
    for name in (*CONTEXT_FILES.instructions, *CONTEXT_FILES.others):
        target = root / name
        if leads_out(target, root) or not target.is_file():
            continue
        if without_imports(_bytes(target)) != _bytes(target):
            found = True
            if _confirm_edit(target, without_imports, yes):
                echo_message(f"{target} does not import LEARNED.md any more")
    if not found:
        echo_message("no CLAUDE.md has a line that tacitd wrote")


def _confirm_edit(target: Path, change: Callable[[bytes | None], bytes], yes: bool) -> bool:
    """Print a change as a diff, and make it after confirmation. Aborts if it is not wanted."""
    before = _bytes(target)
    click.echo(_diff(target, before or b"", change(before)), nl=False)
    if not yes:
        click.confirm(f"Write this into {target}?", abort=True, err=True)
    return edit_file(target, change)


def _refuse_outside(target: Path, root: Path) -> None:
    if leads_out(target, root):
        raise FileRefusedError(
            f"{target} is a link that leads out of the project", "replace it with a regular file"
        )


def without_imports(data: bytes | None) -> bytes:
    """Return the bytes without the lines that only import LEARNED.md, and without the blank line before each.

    An import in code, in a comment or in a sentence is kept. Raises FileRefusedError if the file is not UTF-8.
    """
    before = data or b""
    try:
        text = before.decode("utf-8")
    except UnicodeDecodeError:
        raise FileRefusedError("the file is not UTF-8", "save it as UTF-8") from None
    lines = text.split("\n")
    opaque = [block.kind is LineKind.OPAQUE for block in lines_as_blocks([one.rstrip("\r") for one in lines])]
    kept: list[str] = []
    for line, inside in zip(lines, opaque, strict=True):
        if line.rstrip().removeprefix("\ufeff") not in IMPORTS or inside:
            kept.append(line)
        elif kept and not kept[-1].strip():
            kept.pop()
    return "\n".join(kept).encode() if len(kept) < len(lines) else before


def with_line(data: bytes | None, line: str) -> bytes:
    """Return the bytes with the line appended, with the file's own newlines; unchanged if the line is in them already.

    `data` is None if there is no file. Raises FileRefusedError if the file is not UTF-8, contains NUL bytes, or ends in an
    open code fence or comment, which would contain the line.
    """
    before = data or b""
    try:
        text = before.decode("utf-8")
    except UnicodeDecodeError:
        raise FileRefusedError("the file is not UTF-8", "save it as UTF-8") from None
    if b"\0" in before:
        raise FileRefusedError("the file contains NUL bytes: it is not text", "save it as UTF-8")
    newline = b"\r\n" if b"\r\n" in before else b"\n"
    if line in strip_code(text).splitlines():
        return before
    end = b"" if not before or before.endswith(b"\n") else newline
    gap = newline if before.strip() else b""
    after = before + end + gap + line.encode() + newline
    if line not in strip_code(after.decode("utf-8")).splitlines():
        raise FileRefusedError("a code fence or a comment in the file is not closed", "close it")
    return after


def _bytes(path: Path) -> bytes | None:
    try:
        return read_plain_bytes(path, LIMIT)
    except OSError as error:
        raise FileRefusedError(f"{path} cannot be read: {error.strerror}") from None


def _diff(path: Path, before: bytes, after: bytes) -> str:
    old, new = (data.decode("utf-8", "replace").splitlines(keepends=True) for data in (before, after))
    made = difflib.unified_diff(old, new, str(path), str(path))
    return "".join(
        text if text.endswith("\n") else f"{text}\n\\ No newline at end of file\n" for text in made
    )


@click.command(epilog="\b\nExample: tacitd share ~/work/app")
@click.argument("project", metavar="[DIR]", required=False)
def share(project: str | None) -> None:
    """Share LEARNED.md and AGENTS.md with a team: remove them from this clone's `.git/info/exclude`.

    Nothing is added or committed. From then on git shows them, and new ones, like any other file. The copies in
    `.claude/rules/` stay private: each clone makes its own.
    """
    place = find_project(project)
    if _write_modes().get_mode(place) == "off":
        raise UsageError(f"{place.root} is excluded", f"tacitd exclude --undo {place.root}")
    path = exclude_file(place)
    if path is not None and path.exists():
        history = History(Log(get_paths().state_dir / "history.jsonl"), SystemClock())
        private = {*list_temporary_patterns(place), *MIRROR_PATTERNS}
        ours = {line.encode() for line in hidden_by_us(history, place) - private}
        edit_file(path, lambda data: _drop_lines(data or b"", ours))
    _write_modes().set_mode(place.root, "shared")
    _follow_mirrors(place.root)
    learned = place.root / LEARNED
    if learned.exists():
        echo_message(f"git shows {learned} now; add and commit it if you want to")
    else:
        echo_message(f"git will show {learned} once something is learned")


def _drop_lines(data: bytes, ours: set[bytes]) -> bytes:
    """Return the bytes without the lines in `ours`."""
    return b"".join(line for line in data.splitlines(keepends=True) if line.strip() not in ours)


@click.command(
    epilog="\b\nExample: tacitd exclude ~/work/secret\nExample: tacitd exclude --undo ~/work/secret"
)
@click.argument("project", metavar="DIR")
@click.option("--undo", is_flag=True, help="Write in the project again.")
def exclude(project: str, undo: bool) -> None:
    """Stop writing in a project. What was learned there is kept; nothing from it is sent to the model any more."""
    root = find_project(project).root
    modes = _write_modes()
    if undo:
        modes.set_mode(root, modes.get_previous(root, "off"))
    else:
        modes.set_mode(root, "off")
    echo_message(f"{root} is {'learned from again' if undo else 'excluded'}")
    _follow_mirrors(root)
    if not undo:
        for left in (one for one in _list_mirrors(root) if one.exists()):
            echo_message(
                f"hint: {left} is not tacitd's text alone, so it stays; delete it if you do not want it"
            )


def find_project(given: str | None) -> Project:
    """Return the project that contains a directory (None: the working directory). Raises UsageError if there is none."""
    places = get_paths()
    wanted = resolve_directory(given)
    private = [places.state_dir, places.config_dir]
    place = ProjectFinder(places.home, SystemClock(), private=private).find_project(str(wanted))
    if isinstance(place, NoProject):
        raise UsageError(f"{place.cwd} is not a project: {place.reason}", "name a directory that you work in")
    return place


def _follow_mirrors(root: Path) -> None:
    """Have the daemon, or an engine in this process, bring the project's mirrors in step with the new choice."""
    with connect_or_run() as call:
        call("due", job="mirror", project=str(root))
        call("sync")


def _list_mirrors(root: Path) -> list[Path]:
    """Where mirrors are in the work trees of a project."""
    trees = [root, *list_linked_worktrees(root)]
    return [
        path
        for tree in trees
        for path in (tree / PROJECT_MIRROR, *sorted((tree / MODULE_MIRRORS).glob("*.md")))
    ]


def _write_modes() -> WriteModes:
    return WriteModes(get_paths().state_dir, SystemClock())
