"""Decide which lines of a source were written on this machine.

A repository can bring a LEARNED.md. Its text is a stranger's, and a mirror would put it into every session. A line is
therefore shown only if tacitd wrote it, if it appeared in the file while tacitd watched and git did not bring it, or if
the person trusts the project.
"""

from __future__ import annotations

import hashlib
from collections.abc import Set
from pathlib import Path

from tacitd.events import Project
from tacitd.files import git
from tacitd_handlers.learning.mirrors.mirror_files import REVISIONS
from tacitd_handlers.learning.mirrors.mirror_record import LINES_LIMIT, SourceRecord
from tacitd_handlers.learning.mirrors.mirror_units import MirrorUnit, SourceText, UnitKind, parse_source


def hash_line(words: str) -> str:
    """16 hexadecimal digits by which a line is remembered. Its text is not stored, because it may be the person's."""
    return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()[:16]


def note_lines(
    before: SourceRecord | None, data: SourceText, brought: Set[str] | None, head: str
) -> SourceRecord:
    """Return the record of a source after a look at it.

    `brought`: the hashes of lines that are a stranger's unless they are known already; None: new lines are judged at the
    next look.
    """
    now = list_hashes(data)
    lines = dict(before.lines) if before is not None else {}
    if len(lines) > LINES_LIMIT:
        lines = {key: here for key, here in lines.items() if key in now}
    if brought is not None:
        lines |= {key: key not in brought for key in sorted(now - lines.keys())}
    return SourceRecord(lines, head)


def list_hashes(data: SourceText) -> set[str]:
    """The hashes of all lines of a source."""
    return {hash_line(words) for words in {x.words for x in data.units if x.kind is not UnitKind.BLANK}}


def has_new_lines(before: SourceRecord | None, data: SourceText) -> bool:
    """Whether the file has a line that was not seen before."""
    known = before.lines if before is not None else {}
    return not list_hashes(data) <= known.keys()


def find_brought(
    project: Project, tree: Path, path: Path, data: bytes, parts: SourceText, head_then: str
) -> Set[str] | None:
    """Return the hashes of those lines of a source that git may have brought; None if git cannot say now.

    `tree`: the work tree that contains it. All lines may be git's if the file is or was tracked and HEAD moved since the last
    look or a merge or the like is under way, or if git has the file's content already. Otherwise those are that a version of
    the file in git has: a person may have typed others into a file that git wrote.
    """
    if not project.git:
        return frozenset()
    tracked = git.list_tracked(tree, path.parent, path.name)
    versions = git.read_versions(tree, path, (*REVISIONS, head_then))
    if tracked is None or versions is None:
        return None
    is_in_git = path.name.casefold() in tracked or versions.keys() & {"HEAD", head_then}
    moved = git.read_head(tree) != head_then or git.in_progress(tree)
    if (is_in_git and moved) or git.knows_blob(tree, data):
        return list_hashes(parts)
    theirs = {_words_in_git(unit) for text in set(versions.values()) for unit in parse_source(text).units}
    return {hash_line(unit.words) for unit in parts.units if _words_in_git(unit) in theirs}


def _words_in_git(unit: MirrorUnit) -> bytes:
    return git.normalize_ident(unit.words.encode("utf-8", "replace"))
