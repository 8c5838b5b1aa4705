"""Read and write learning's files in a project's `tmp/`. What is written and when is decided elsewhere.

`tmp/learning-raw.jsonl` is a projection of the handler's log, so it can be written again if `tmp/` is cleaned. LEARNED.md
and AGENTS.md are not written here, but through transactions.

A project's contents are untrusted: a link, a FIFO or a device may have the name of one of our files, and a repository can
contain links. The functions here neither follow a link out of the project nor block on a FIFO or a device.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from tacitd.errors import FileRefusedError
from tacitd.files.disk import Disk, RealDisk, make_dirs
from tacitd.files.log import Log
from tacitd.files.rename import remove_files, rename_file
from tacitd.files.replaced import replace_file
from tacitd_handlers.learning.folders import is_internal
from tacitd_handlers.learning.raw_facts import (
    RawFile,
    encode_raw_line,
    make_raw_record,
    parse_raw_file,
)
from tacitd_handlers.learning.safe_read import leads_out, read_plain_bytes, resolve_links
from tacitd_handlers.learning.state import Extracted

RAW = "learning-raw.jsonl"
SUMMARY = "known-facts-summary.md"
LEARNED = "LEARNED.md"
TITLE = "Learned Preferences"
CLAIMED = ".processing.jsonl"
TEXT_LIMIT = 200_000
"""Bytes that are read of a directive or a Markdown file that goes into a prompt."""
RAW_LIMIT = 16 << 20
"""Maximum size in bytes of one file of facts."""


class ProjectPaths(Struct, frozen=True):
    """The paths of one project."""

    root: Path
    disk: Disk | None = None
    """Where changes are made; None: the real disk."""

    @property
    def tmp_dir(self) -> Path:
        """The directory for temporary files, `tmp/`."""
        return self.root / "tmp"

    @property
    def raw_file(self) -> Path:
        """Facts that are not written as lines yet, one JSON line for each call (SPEC S-02)."""
        return self.tmp_dir / RAW

    @property
    def summary_file(self) -> Path:
        """The known-facts summary, for the fast tier (SPEC S-41)."""
        return self.tmp_dir / SUMMARY

    @property
    def learned_file(self) -> Path:
        """The learned lines, read by the user and by agents."""
        return self.root / LEARNED

    @property
    def agents_file(self) -> Path:
        """The project's own instructions. It belongs to the user, and learning never writes it."""
        return self.root / "AGENTS.md"


class RawAccess(Struct, frozen=True):
    """What may be done with the files in a project's `tmp/`. See `raw_ownership` for the rules."""

    raw: Literal["own", "appended", "closed"] = "own"
    """`own`: it may be appended to and claimed. `appended`: it came with the project; the bytes from `begin` on were
    written on this machine and may be read. `closed`: git tracks it or cannot list its files; it is neither read nor
    written."""
    begin: int = 0
    """Byte offset for `appended`."""
    source: str = ""
    """Digest that identifies a raw file that came with the project; "" otherwise."""
    summary: Literal["own", "stale", "closed"] = "own"
    """`own`: it may be used. `stale`: it came with the project, and is regenerated before it is used. `closed`: git tracks
    it or cannot list its files; it is neither read nor written."""
    claimed: tuple[Path, ...] = ()
    """Claimed files that are ours, ordered by name."""
    foreign: tuple[str, ...] = ()
    """Names of raw and claimed files that are not ours. They are neither read nor changed."""
    waiting: bool = False
    """Whether a file that is ours contains facts that are not synthesised."""
    known: bool = True
    """Whether git could list its tracked files."""


def why_not_writable(files: ProjectPaths) -> str | None:
    """Return why nothing can be written in this project now; None if it can. Called before each model call."""
    if not files.root.is_dir():
        return f"{files.root} does not exist"
    root = resolve_links(files.root)
    for directory in (files.root, files.tmp_dir):
        place = root if directory is files.root else resolve_links(directory)
        if not place.is_relative_to(root):
            return f"{directory} is a link that leads out of the project"
        if any(map(is_internal, place.relative_to(root).parts)):
            return f"{directory} is a link into a directory of version control or of Claude Code"
        if directory.exists() and not directory.is_dir():
            return f"{directory} is not a directory"
        if directory.exists() and not os.access(directory, os.W_OK | os.X_OK):
            return f"{directory} is read-only"
    return next((why for path in (files.raw_file, files.summary_file) if (why := _unfit(path))), None)


def _unfit(path: Path) -> str | None:
    """Return why a file of ours cannot be written under this name; None if it can."""
    if path.is_symlink():
        return f"{path} is a link; remove it"
    if path.exists() and not path.is_file():
        return f"{path} is not an ordinary file; remove it"
    if path.exists() and not os.access(path, os.W_OK):
        return f"{path} is read-only"
    return None


def _is_plain(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def append_raw(files: ProjectPaths, batches: Iterable[Extracted], access: RawAccess) -> None:
    """Append the batches whose ids are not in the raw file or in a claimed one yet.

    If the raw file is not ours, nothing is written and the batches wait in the handler's log. Raises OSError, and
    FileRefusedError if nothing can be written in the project.
    """
    wanted = list(batches)
    if not wanted or access.raw != "own":
        return
    if (why := why_not_writable(files)) is not None:
        raise FileRefusedError(why)
    present = {line.batch for line in read_raw(files, access).lines}
    missing = [b for b in wanted if b.id not in present]
    if not missing:
        return
    make_dirs(files.tmp_dir, files.disk or RealDisk(), private=False)
    log = Log(files.raw_file, files.disk, private=False)
    try:
        for made in missing:
            log.append(_make_record(made))
    finally:
        log.close()


def encode_batch(made: Extracted, *, aside: bool = False) -> bytes:
    """Return a batch's line for the raw file, newline included. `aside`: for a file of facts that were put aside."""
    return encode_raw_line(_make_record(made, aside=aside))


def _make_record(made: Extracted, *, aside: bool = False) -> Mapping[str, object]:
    """The record of a batch: seed 003's fields, and those by which a batch is recognised when it is written again."""
    return make_raw_record(
        made.at,
        made.facts,
        made.session,
        made.prompts,
        made.folders,
        made.id,
        aside=aside,
        marks=made.marks,
    )


def read_raw(files: ProjectPaths, access: RawAccess) -> RawFile:
    """Read the raw file and the claimed files. Raises OSError and FileRefusedError."""
    return parse_raw_file(b"\n".join(facts_in(path) for path in [*access.claimed, files.raw_file]))


def facts_in(path: Path, begin: int = 0) -> bytes:
    """Return the bytes of one file of facts from byte offset `begin` on; b"" if there is no file.

    Raises OSError, and FileRefusedError for 16 MB or more, because cutting the file would lose facts.
    """
    data = read_plain_bytes(path, RAW_LIMIT, begin) or b""
    if len(data) == RAW_LIMIT:
        raise FileRefusedError(f"{path} is longer than 16 MB", "move it away, or split it")
    return data


def claim_raw_file(files: ProjectPaths, now: float, access: RawAccess) -> int:
    """Rename the raw file for a synthesis. What other tools append from now on is in a new raw file (SPEC S-22).

    A raw file that came with the project is not renamed; the lines that were appended since are copied instead. Returns
    the byte offset of the end of the copied lines, 0 if none were copied. `now` (seconds since 1970, UTC) becomes part of
    the name, because claimed files are handled in the order of their names. Raises OSError, and FileRefusedError for 16 MB
    or more.
    """
    if access.raw == "appended":
        return _copy_appended(files, access)
    if access.raw == "own" and _is_plain(files.raw_file):
        rename_file(files.raw_file, _new_claim(files, now), files.disk)
    return 0


def _copy_appended(files: ProjectPaths, access: RawAccess) -> int:
    """Copy the whole lines that were appended into a claimed file. Return the byte offset of their end, 0 without any.

    The file's name is made from the source and the offset. After a crash the same copy is therefore found again; lines that
    were appended since are copied the next time.
    """
    number, name = 0, f"learning-raw.{access.source[:12]}-{access.begin:x}"
    target = files.tmp_dir / f"{name}{CLAIMED}"
    # An archive can contain a file with this name. It is not our copy, so another name is used.
    while target not in access.claimed and os.path.lexists(target):
        number += 1
        target = files.tmp_dir / f"{name}-{number}{CLAIMED}"
    if target in access.claimed:
        return access.begin + _size(target)
    data = facts_in(files.raw_file, access.begin)
    lines = data[: data.rfind(b"\n") + 1]
    if not lines:
        return 0
    replace_file(target, lines, disk=files.disk)
    return access.begin + len(lines)


def _new_claim(files: ProjectPaths, now: float) -> Path:
    return files.tmp_dir / f"learning-raw.{int(now * 1000):012x}-{os.urandom(3).hex()}{CLAIMED}"


def release_claimed(files: ProjectPaths, read: Mapping[Path, int]) -> list[Path]:
    """Remove claimed files whose facts are handled up to the sizes in `read`, in bytes. Return those that stay.

    Trigger: a file has grown since. Why: a program that had it open when it was claimed still writes into it. Outcome: it
    stays claimed, and the added bytes are read the next time. Raises OSError.
    """
    grown = [path for path, size in read.items() if _size(path) > size]
    remove_files([path for path in read if path not in grown], files.disk)
    return grown


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except FileNotFoundError:
        return 0


def put_aside(files: ProjectPaths, paths: Iterable[Path]) -> list[Path]:
    """Rename claimed files to `.dead.jsonl`, so that the user can inspect their facts. Return the new paths (SPEC S-23).

    Raises OSError.
    """
    aside = []
    for path in paths:
        target = path.with_name(path.name.replace(CLAIMED, ".dead.jsonl"))
        rename_file(path, target, files.disk)
        aside.append(target)
    return aside


def put_lines_aside(files: ProjectPaths, id: str, batches: Iterable[Extracted]) -> Path:
    """Write facts that are only in the handler's log into a `.dead.jsonl` file, and return its path (SPEC S-23).

    `id` identifies the work, so that the same file is written again after a crash. Raises OSError.
    """
    target = files.tmp_dir / f"learning-raw.{id}.dead.jsonl"
    make_dirs(files.tmp_dir, files.disk or RealDisk(), private=False)
    replace_file(target, b"".join(encode_batch(made, aside=True) for made in batches), disk=files.disk)
    return target


def take_back(
    files: ProjectPaths, names: Iterable[str], now: float, note_made: Callable[[list[str]], None]
) -> bool:
    """Claim files again that were put aside. Return whether there were any. Raises OSError.

    They get new names, because calls about facts are counted by the name of their file, and the facts would be rejected at
    once. `note_made` is called with the new names before the files are renamed.
    """
    claims = {path: _new_claim(files, now) for name in names if _is_plain(path := files.tmp_dir / name)}
    if claims:
        note_made([target.name for target in claims.values()])
    for path, target in claims.items():
        rename_file(path, target, files.disk)
    return bool(claims)


def text_of(path: Path, root: Path | None = None) -> str:
    """Return a document's text, at most TEXT_LIMIT bytes of it; "" if it is missing or unreadable. Raises nothing.

    Bytes that are not UTF-8 are left out. `root`: the project of a document whose text goes to a model; a link that leads
    out of it is not read.
    """
    if root is not None and leads_out(path, root):
        return ""
    try:
        data = read_plain_bytes(path, TEXT_LIMIT) or b""
    except (OSError, FileRefusedError):
        return ""
    return data.decode("utf-8", "ignore").removeprefix("\ufeff")


def write_summary(files: ProjectPaths, text: str) -> bool:
    """Replace the summary's file. Return whether it changed. Raises OSError and FileRefusedError."""
    if (why := why_not_writable(files)) is not None:
        raise FileRefusedError(why)
    make_dirs(files.tmp_dir, files.disk or RealDisk(), private=False)
    return replace_file(files.summary_file, text.encode("utf-8", "replace"), disk=files.disk)
