"""Decide which lines of a source were written on this machine.

A repository can bring a LEARNED.md. Its text is a stranger's, and a mirror would put it into every session. A line is
therefore shown only if tacitd wrote it, if it appeared in the file while tacitd watched and git did not bring it, or if
the person trusts the project.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

from tacitd.events import Project
from tacitd.files import git
from tacitd_handlers.learning.mirrors.mirror_record import LINES_LIMIT, SourceRecord
from tacitd_handlers.learning.mirrors.mirror_units import SourceText, UnitKind

Origin = Literal["here", "git", "unknown"]


def hash_line(words: str) -> str:
    """16 hexadecimal digits by which a line is remembered. Its text is not stored, because it may be the person's."""
    return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()[:16]


def note_lines(
    before: SourceRecord | None, data: SourceText, *, origin: Origin, head: str, first: bool
) -> SourceRecord:
    """Return the record of a source after a look at it.

    `origin`: where new lines come from; "unknown": they are judged at the next look. `first`: what a line counts as that
    the file had before it was looked at for the first time.
    """
    now = list_hashes(data)
    lines = dict(before.lines) if before is not None else {}
    if len(lines) > LINES_LIMIT:
        lines = {key: here for key, here in lines.items() if key in now}
    new = now - lines.keys()
    if before is None:
        lines.update(dict.fromkeys(sorted(new), first))
    elif origin != "unknown":
        lines.update(dict.fromkeys(sorted(new), origin == "here"))
    return SourceRecord(lines, head)


def list_hashes(data: SourceText) -> set[str]:
    """The hashes of all lines of a source."""
    return {hash_line(words) for words in {x.words for x in data.units if x.kind is not UnitKind.BLANK}}


def has_new_lines(before: SourceRecord | None, data: SourceText) -> bool:
    """Whether the file has a line that was not seen before."""
    known = before.lines if before is not None else {}
    return not list_hashes(data) <= known.keys()


def find_origin(project: Project, tree: Path, path: Path, data: bytes, head_then: str) -> Origin:
    """Where the new lines of a source come from. `tree`: the work tree that contains it.

    Git brings lines only into a file that it tracks. It did if HEAD moved since the last look, if a merge or the like is
    under way, or if git has the file's content already.
    """
    if not project.git:
        return "here"
    tracked = git.list_tracked(tree, path.parent, path.name)
    if tracked is None:
        return "unknown"
    if path.name.casefold() not in tracked:
        return "here"
    moved = git.read_head(tree) != head_then or git.in_progress(tree)
    return "git" if moved or git.knows_blob(tree, data) else "here"
