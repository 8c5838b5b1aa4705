"""The lines of ~/.agents/LEARNED.md, for the file that every session loads: the part `person-rules`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tacitd.contract import Cause, Done, Edits, FileChange, Leaf, Task, Tools
from tacitd.files.formats import split_bullet
from tacitd.session_context.context_request import PersonRule
from tacitd.state.paths import state_dir
from tacitd.store import open_readonly
from tacitd_handlers.learning.learned_rows import LineRow, make_line_id, mark_line, read_lines_of
from tacitd_handlers.learning.sources import LEAVES, person_root
from tacitd_handlers.shared.rule_names import LEARNED
from tacitd_handlers.shared.safe_read import read_plain_bytes

if TYPE_CHECKING:
    from tacitd.clock import Clock
    from tacitd.contract import Tx

WITHDRAW = "withdraw"
"""The key of the message begins so."""
LARGEST = 1 << 20
"""Bytes that are read of the file."""


class LearnedRules:
    """The lines of the file, tacitd's and the person's. The id of a rule is that of its line."""

    title = "Learned"

    def __init__(self, environ: Mapping[str, str], clock: Clock) -> None:
        self._path, self._clock = person_root(environ) / LEARNED, clock
        self._state = state_dir(environ)

    def list_files(self) -> Sequence[Path]:
        """The file."""
        return [self._path]

    def list_rules(self) -> Sequence[PersonRule]:
        """What the person wrote or corrected first, then what was said most often and last. Raises OSError, TacitdError."""
        data = read_plain_bytes(self._path, LARGEST) or b""
        rows = self._read_rows()
        found = list[tuple[tuple[bool, int, float], PersonRule]]()
        for _, text in map(split_bullet, LEAVES.read_leaves(data)):
            row = rows.get(text)
            is_own = row is None or row.by == "person" or row.corrections > 0
            rank = (is_own, row.said if row else 1, row.last_said if row else 0.0)
            found.append((rank, PersonRule(make_line_id(str(self._path), text), text, is_own)))
        found.sort(key=lambda one: one[0], reverse=True)
        return [rule for _, rule in found]

    def _read_rows(self) -> dict[str, LineRow]:
        store = open_readonly(self._state)
        if store is None:
            return {}
        with store:
            if not store.rows("SELECT 1 FROM sqlite_master WHERE name = 'learning_line'"):
                return {}
            return {line.text: line for line in read_lines_of(store.rows, str(self._path))}

    def withdraw_rule(self, id: str) -> Callable[[Tx], None]:
        """Have the line taken out of the file, by a message to learning."""
        from tacitd.contract import Task
        from tacitd.events import NoProject
        from tacitd.work.messages import send_message

        about = Task(0, "message", id, NoProject("", "it is the person's"), None)
        return lambda tx: send_message(
            tx, "learning", "learning", f"{WITHDRAW} {id}", about, {"id": id}, self._clock.now()
        )


def withdraw_line(task: Task, tools: Tools) -> Done:
    """Take a line out of the person's file that they deleted in the file of rules; it is not learned again."""
    path, id = person_root(os.environ) / LEARNED, str(task.data["id"])

    def decide(now: Mapping[Leaf, str], edits: Edits) -> dict[Leaf, str | None]:
        return {leaf: None for leaf, text in now.items() if make_line_id(str(path), text) == id}

    def apply(tx: Tx) -> None:
        for line in read_lines_of(tx.rows, str(path)):
            if line.id == id:
                mark_line(tx, line.number, "removed")

    cause = Cause(f"{WITHDRAW} {id} {tools.clock.now()}", "copy", "you deleted its copy in rules/tacitd.md")
    return Done(apply, (FileChange(path, LEAVES, decide, cause),))
