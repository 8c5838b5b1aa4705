"""Commands about the visibility of what was learned: link, share, exclude. They ask before they edit a user's file."""

from __future__ import annotations

import difflib
from pathlib import Path

import click

from tacitd.cli.common import echo_message, get_paths, resolve_directory
from tacitd.clock import SystemClock
from tacitd.errors import FileRefusedError, UsageError
from tacitd.events import NoProject, Project
from tacitd.files.log import Log
from tacitd.files.rename import remove_files
from tacitd.files.replaced import edit_file
from tacitd.files.transaction import History
from tacitd.sources.projects import ProjectFinder
from tacitd.sources.registry import CONTEXT_FILES
from tacitd.state.write_modes import WriteModes
from tacitd_handlers.learning.safe_read import leads_out, read_plain_bytes
from tacitd_handlers.learning.store import LEARNED, text_of
from tacitd_handlers.learning.visibility import (
    POINTER,
    POINTER_TEXT,
    exclude_file,
    find_referring_file,
    hidden_by_us,
    list_temporary_patterns,
    refers_to_learned,
    strip_code,
)

IMPORT = "@LEARNED.md"
SEE_ALSO = "See also: [LEARNED.md](LEARNED.md) for dynamically learned preferences."
LIMIT = 16 << 20


@click.command(epilog="\b\nExample: tacitd link ~/work/app")
@click.argument("project", metavar="[DIR]", required=False)
@click.option("--yes", is_flag=True, help="Do not ask.")
def link(project: str | None, yes: bool) -> None:
    """Show the line by which agents find LEARNED.md as a diff, and write it after confirmation.

    If there is a CLAUDE.md, the line is `@LEARNED.md` in it, which Claude Code reads; otherwise "See also" in AGENTS.md.
    """
    root = _project(project).root
    target, line = _choose_target(root)
    if leads_out(target, root):
        raise FileRefusedError(
            f"{target} is a link that leads out of the project", "replace it with a regular file"
        )
    if refers_to_learned(target, root):
        echo_message(f"{target} refers to LEARNED.md already")
        return
    before = _bytes(target)
    after = with_line(before, line)
    click.echo(_diff(target, before or b"", after), nl=False)
    if not yes:
        click.confirm(f"Write this into {target}?", abort=True, err=True)
    edit_file(target, lambda now: with_line(now, line))
    echo_message(f"{target} refers to LEARNED.md now")
    if line != SEE_ALSO:
        _without_pointer(root)


def _choose_target(root: Path) -> tuple[Path, str]:
    """Return the file for the line, and the line.

    If there is neither a CLAUDE.md nor an AGENTS.md, it is the file that refers to LEARNED.md already, or a new CLAUDE.md.
    """
    for name in CONTEXT_FILES.instructions:
        if (root / name).is_file():
            return root / name, f"@{'../' * name.count('/')}{LEARNED}"
    if (root / "AGENTS.md").is_file():
        return root / "AGENTS.md", SEE_ALSO
    return find_referring_file(root) or root / CONTEXT_FILES.instructions[0], IMPORT


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


def _without_pointer(root: Path) -> None:
    """Remove the pointer, with which LEARNED.md would be loaded twice now. If it was edited, it is kept."""
    path = root / POINTER
    if not path.is_symlink() and text_of(path, root) == POINTER_TEXT:
        remove_files([path])
        echo_message(f"{path} was removed, because it is not needed any more")


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

    Nothing is added or committed. From then on git shows them, and new ones, like any other file.
    """
    place = _project(project)
    if _write_modes().get_mode(place) == "off":
        raise UsageError(f"{place.root} is excluded", f"tacitd exclude --undo {place.root}")
    path = exclude_file(place)
    if path is not None and path.exists():
        history = History(Log(get_paths().state_dir / "history.jsonl"), SystemClock())
        ours = {line.encode() for line in hidden_by_us(history, place) - set(list_temporary_patterns(place))}
        edit_file(path, lambda data: _drop_lines(data or b"", ours))
    _write_modes().set_mode(place.root, "shared")
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
    root = _project(project).root
    modes = _write_modes()
    if undo:
        modes.set_mode(root, modes.get_previous(root, "off"))
    else:
        modes.set_mode(root, "off")
    echo_message(f"{root} is {'learned from again' if undo else 'excluded'}")
    if not undo and text_of(root / POINTER, root) == POINTER_TEXT:
        echo_message(
            f"hint: {root / POINTER} still shows LEARNED.md to new sessions; delete it if you do not want that"
        )


def _project(given: str | None) -> Project:
    """Return the project that contains a directory (None: the working directory). Raises UsageError if there is none."""
    places = get_paths()
    wanted = resolve_directory(given)
    private = [places.state_dir, places.config_dir]
    place = ProjectFinder(places.home, SystemClock(), private=private).find_project(str(wanted))
    if isinstance(place, NoProject):
        raise UsageError(f"{place.cwd} is not a project: {place.reason}", "name a directory that you work in")
    return place


def _write_modes() -> WriteModes:
    return WriteModes(Log(get_paths().state_dir / "projects.jsonl"), SystemClock())
