"""Which texts the mirrors may have, in the record: before a plan is carried out, and after it.

After a crash it is unknown whether a mirror has its old or its new text, so the record then has both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tacitd.events import Project
from tacitd_handlers.learning.mirrors.mirror_files import (
    OLD_POINTER,
    FoundMirror,
    inspect_mirror,
    list_trees,
)
from tacitd_handlers.learning.mirrors.mirror_plan import MirrorPlan
from tacitd_handlers.learning.mirrors.mirror_record import MirrorRecord
from tacitd_handlers.learning.mirrors.mirror_withdrawal import ABSENT, find_tree

UNCHANGED = "could not be changed now: it may be open in an editor"
"""The end of the problem of a mirror that is to be tried again soon."""


def announce_plan(record: MirrorRecord, plan: MirrorPlan) -> None:
    """Note which texts the mirrors may have while a plan is carried out, and its problems."""
    for path in plan.forgotten:
        record.written.pop(path, None)
    removed = dict.fromkeys((one.path for one in plan.changes if one.path not in plan.texts), "")
    if not plan.edits:  # otherwise an edit would be forgotten by a crash before its transaction
        adopt_texts(record, plan.adopted)
    for path, text in {**plan.texts, **removed}.items():
        record.written[path] = list(dict.fromkeys([*plan.before[path], text]))
    record.problems = list(dict.fromkeys(plan.problems))
    record.transactions += bool(plan.edits or plan.changes)


def adopt_texts(record: MirrorRecord, texts: Mapping[Path, str]) -> None:
    """Note these texts of mirrors as the ones that tacitd wrote last."""
    record.written |= {path: [text] for path, text in texts.items()}


def settle_record(record: MirrorRecord, project: Project) -> None:
    """Keep for each mirror the text that is there now, and name those that were not changed. Raises OSError."""
    trees = list_trees(project)
    for path, texts in list(record.written.items()):
        tree = find_tree(path, trees)
        found = inspect_mirror(path, tree, record.texts_of(path)) if tree is not None else ABSENT
        if tree is not None and _is_unchanged(found, texts):
            record.problems.append(f"{path} {UNCHANGED}")
        if found.state == "ours" and found.data != OLD_POINTER.encode():
            record.written[path] = [(found.data or b"").decode("utf-8", "replace")]
        elif found.state == "absent" and (tree is None or "" in texts):
            del record.written[path]


def _is_unchanged(found: FoundMirror, texts: Sequence[str]) -> bool:
    """Whether a mirror does not have the last of the texts that it may have, although nobody else changed it."""
    if len(texts) < 2 or found.state not in ("ours", "absent"):
        return False
    return (found.data or b"") != texts[-1].encode()
