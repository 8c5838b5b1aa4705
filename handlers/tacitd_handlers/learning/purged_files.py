"""Blank a forgotten line's words in learning's files in projects: the hook `purge` of the learning plugin.

Facts that wait are in `tmp/learning-raw.jsonl`, those that are written now in claimed files, and unusable ones in files
that were put aside. Blanked facts are not facts any more, so no line is made of them. A file that git tracks, or that came
with the project, is the person's and stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tacitd.errors import FileRefusedError
from tacitd.files import git
from tacitd.files.purge import blank_in_place
from tacitd.handler import Tools
from tacitd_handlers.learning.handler import LearningHandler
from tacitd_handlers.learning.inventory import state_of
from tacitd_handlers.learning.safe_read import leads_out
from tacitd_handlers.learning.store import ProjectPaths

ASIDE = "learning-raw.*.dead.jsonl"


def purge_words(handler: LearningHandler, tools: Tools, id: str, texts: Sequence[str]) -> list[Path]:
    """Blank these texts in every project; return the files that changed. `id` is not needed. Raises OSError."""
    del id
    roots = state_of(tools.home.parent.parent).first_written_at
    return [
        path
        for root in roots
        for path, begin in _list_own_files(handler, root)
        if not leads_out(path, root) and blank_in_place(path, texts, begin)
    ]


def _list_own_files(handler: LearningHandler, root: Path) -> Iterator[tuple[Path, int]]:
    """tacitd's files with words in a project, and from which byte on each is tacitd's."""
    files = ProjectPaths(root)
    try:
        access = handler.inspect_raw_files(root)
    except FileRefusedError:  # tmp/ cannot be listed, so nothing in it can be told from the person's files
        return
    if access.raw != "closed":
        yield files.raw_file, access.begin
    for path in access.claimed:
        yield path, 0
    tracked = git.list_tracked(root, files.tmp_dir, ASIDE) if git.find_repository(root) else frozenset[str]()
    if tracked is not None:  # otherwise git cannot say which files are the person's
        mine = (path for path in sorted(files.tmp_dir.glob(ASIDE)) if path.name.casefold() not in tracked)
        yield from ((path, 0) for path in mine)
    if access.summary == "own":
        yield files.summary_file, 0
