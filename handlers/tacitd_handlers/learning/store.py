"""The files of one project that learning reads and writes. What is written and why is decided elsewhere.

`tmp/learning-raw.jsonl` is a projection of the handler's log: it can be written again if someone cleans `tmp/`.
Shared Markdown is never written here, only through a transaction.

A project is a stranger's directory: a link, a FIFO or a device may stand where a file of ours belongs, and git brings
links along. Nothing here follows one out of the project, and nothing waits for one.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tacitd.clock import utc_seconds
from tacitd.errors import FileRefusedError
from tacitd.files.disk import Disk, RealDisk, make_dirs
from tacitd.files.log import Log
from tacitd.files.rename import remove_files, rename_file
from tacitd.files.replaced import replace_file
from tacitd_handlers.learning.raw_facts import RawFile, encode_raw_line, parse_raw_file
from tacitd_handlers.learning.safe_read import leads_out, read_plain_bytes, resolve_links
from tacitd_handlers.learning.state import Extracted

RAW = "learning-raw.jsonl"
SUMMARY = "known-facts-summary.md"
LEARNED = "LEARNED.md"
TITLE = "Learned Preferences"
CLAIMED = ".processing.jsonl"
TEXT_LIMIT = 200_000
"""Bytes of a directive or a Markdown file that are read: more is no document for a prompt."""
RAW_LIMIT = 16 << 20
"""Bytes of one file of facts."""


@dataclass(frozen=True, slots=True)
class ProjectPaths:
    """The paths of one project."""

    root: Path
    disk: Disk | None = field(default=None, compare=False)
    """What changes go through; None: the machine's own."""

    @property
    def tmp_dir(self) -> Path:
        """Where what is not kept lies."""
        return self.root / "tmp"

    @property
    def raw_file(self) -> Path:
        """Facts that are not in any LEARNED.md yet, one line a call."""
        return self.tmp_dir / RAW

    @property
    def summary_file(self) -> Path:
        """What is known already, for the fast tier."""
        return self.tmp_dir / SUMMARY

    @property
    def learned_file(self) -> Path:
        """What was learned, for people and agents."""
        return self.root / LEARNED

    @property
    def agents_file(self) -> Path:
        """The project's own instructions: the person's, never written by learning."""
        return self.root / "AGENTS.md"


@dataclass(frozen=True, slots=True)
class RawAccess:
    """What may be done with the files in a project's `tmp/`: they may have come with the repository."""

    raw: Literal["own", "appended", "closed"] = "own"
    """`own`: it may be added to and claimed. `appended`: it was brought along; what follows `begin` was written here and
    may be read. `closed`: git tracks it, or cannot say."""
    begin: int = 0
    """Byte offset."""
    source: str = ""
    """What a raw file that was brought along is recognised by."""
    summary: Literal["own", "stale", "closed"] = "own"
    """`stale`: it was brought along, and is made anew before it is used. `closed`: neither read nor written."""
    claimed: tuple[Path, ...] = ()
    """Claimed files that are ours, oldest name first."""
    foreign: tuple[str, ...] = ()
    """Names of raw and claimed files that are left alone."""
    waiting: bool = False
    """Whether facts lie in files that no synthesis has finished."""
    known: bool = True
    """Whether git could say what it tracks."""


def why_not_writable(files: ProjectPaths) -> str | None:
    """Why nothing can be written in this project now; None where it can. Asked before money is spent."""
    if not files.root.is_dir():
        return f"{files.root} is not there"
    root = resolve_links(files.root)
    for directory in (files.root, files.tmp_dir):
        place = root if directory is files.root else resolve_links(directory)
        if not place.is_relative_to(root):
            return f"{directory} is a link that leads out of the project"
        if any(part.casefold() == ".git" for part in place.relative_to(root).parts):
            return f"{directory} is a link into a git directory"
        if directory.exists() and not directory.is_dir():
            return f"{directory} is not a directory"
        if directory.exists() and not os.access(directory, os.W_OK | os.X_OK):
            return f"{directory} is read-only"
    return next((why for path in (files.raw_file, files.summary_file) if (why := _unfit(path))), None)


def _unfit(path: Path) -> str | None:
    """Why a file of ours cannot be written under this name."""
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
    """Write batches into the raw file, each once: its id tells whether it is there.

    Where the raw file is not ours nothing is written: the batches wait in the handler's log. Raises OSError, and
    FileRefusedError where no file can be made.
    """
    wanted = list(batches)
    if not wanted or access.raw != "own":
        return
    if (why := why_not_writable(files)) is not None:
        raise FileRefusedError(why)
    there = {line.batch for line in read_raw(files, access).lines}
    missing = [b for b in wanted if b.id not in there]
    if not missing:
        return
    make_dirs(files.tmp_dir, files.disk or RealDisk(), private=False)
    log = Log(files.raw_file, files.disk, private=False)
    try:
        for made in missing:
            log.append(_line(made))
    finally:
        log.close()


def encode_batch(made: Extracted, *, aside: bool = False) -> bytes:
    """A batch as its line in the raw file, newline included. `aside`: in a file of facts that were put aside."""
    return encode_raw_line(
        made.at, made.facts, made.session, made.prompts, made.folders, made.id, aside=aside
    )


def _line(made: Extracted) -> Mapping[str, object]:
    """Seed 003's form, with what a replay is recognised by besides."""
    seed = {"ts": utc_seconds(made.at), "facts": list(made.facts)}
    return seed | {
        "session": made.session,
        "prompts": list(made.prompts),
        "folders": list(made.folders),
        "batch": made.id,
    }


def read_raw(files: ProjectPaths, access: RawAccess) -> RawFile:
    """Everything in our raw file and in claimed ones; lines that are no facts are told apart."""
    return parse_raw_file(b"\n".join(facts_in(path) for path in [*access.claimed, files.raw_file]))


def facts_in(path: Path, begin: int = 0) -> bytes:
    """The bytes of one file of facts from `begin` on; b"" where there is none.

    Raises OSError, and FileRefusedError where there are more than 16 MB of them: cutting would lose some.
    """
    data = read_plain_bytes(path, RAW_LIMIT, begin) or b""
    if len(data) == RAW_LIMIT:
        raise FileRefusedError(f"{path} is longer than 16 MB", "move it away, or split it")
    return data


def claim_raw_file(files: ProjectPaths, now: float, access: RawAccess) -> int:
    """Take the raw file for a synthesis: what other tools append from now on goes into a new one (SPEC S-22).

    Of a raw file that was brought along, the lines that were appended since are copied, and the file is left as it is.
    Return up to which byte that was; 0 where nothing was copied. `now` is seconds since 1970, UTC: claimed files are
    worked on in the order of their names. Raises OSError, and FileRefusedError where there are more than 16 MB.
    """
    if access.raw == "appended":
        return _copy_appended(files, access)
    if access.raw == "own" and _is_plain(files.raw_file):
        rename_file(files.raw_file, _new_claim(files, now), files.disk)
    return 0


def _copy_appended(files: ProjectPaths, access: RawAccess) -> int:
    """Copy the whole lines that were appended into a claimed file. Its name says where they came from: after a crash the
    same copy is found again, and what was appended since comes the next time."""
    number, name = 0, f"learning-raw.{access.source[:12]}-{access.begin:x}"
    target = files.tmp_dir / f"{name}{CLAIMED}"
    # An archive can bring a file with this name along: that one is not our copy.
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
    return files.tmp_dir / f"learning-raw.{int(now * 1000):012x}-{secrets.token_hex(3)}{CLAIMED}"


def release_claimed(files: ProjectPaths, read: Mapping[Path, int]) -> list[Path]:
    """The facts of these claimed files stand in Markdown now, as far as the files were read: so many bytes. Return those
    that stay.

    Trigger: a file has grown since. Why: a program that had it open when it was claimed goes on writing into it.
    Outcome: it stays as a claimed one, and what was added is read the next time. Raises OSError.
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
    """These facts could not be used: rename their files, so that a person can look at them. Raises OSError."""
    aside = []
    for path in paths:
        target = path.with_name(path.name.replace(CLAIMED, ".dead.jsonl"))
        rename_file(path, target, files.disk)
        aside.append(target)
    return aside


def put_lines_aside(files: ProjectPaths, id: str, batches: Iterable[Extracted]) -> Path:
    """The same for facts that wait in the handler's log alone: write them into a file. `id` names the work, so that the
    same file is written again after a crash. Raises OSError."""
    target = files.tmp_dir / f"learning-raw.{id}.dead.jsonl"
    make_dirs(files.tmp_dir, files.disk or RealDisk(), private=False)
    replace_file(target, b"".join(encode_batch(made, aside=True) for made in batches), disk=files.disk)
    return target


def take_back(
    files: ProjectPaths, names: Iterable[str], now: float, note_made: Callable[[list[str]], None]
) -> bool:
    """Claim files again that were put aside; whether there were any. With new names, because calls about the facts of a
    file are counted by its name. `note_made` is given these names before a file has one. Raises OSError."""
    claims = {path: _new_claim(files, now) for name in names if _is_plain(path := files.tmp_dir / name)}
    if claims:
        note_made([target.name for target in claims.values()])
    for path, target in claims.items():
        rename_file(path, target, files.disk)
    return bool(claims)


def text_of(path: Path, root: Path | None = None) -> str:
    """A document's text; "" where there is none or it is not UTF-8 (then it says nothing to a model either).

    `root`: the project of a document whose text goes to a model. It is "" too where a link leads out of the project.
    """
    if root is not None and leads_out(path, root):
        return ""
    try:
        data = read_plain_bytes(path, TEXT_LIMIT) or b""
    except (OSError, FileRefusedError):
        return ""
    return data.decode("utf-8", "ignore").removeprefix("\ufeff")


def write_summary(files: ProjectPaths, text: str) -> bool:
    """Replace the summary. Raises OSError and FileRefusedError. Returns whether it changed."""
    if (why := why_not_writable(files)) is not None:
        raise FileRefusedError(why)
    make_dirs(files.tmp_dir, files.disk or RealDisk(), private=False)
    return replace_file(files.summary_file, text.encode("utf-8", "replace"), disk=files.disk)
