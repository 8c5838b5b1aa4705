"""What a person can decide about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reminders.hooks import HEADING, LIST, NAME
from tacitd.contract import Cause, Done, FileChange, Tools, Tx
from tacitd.errors import UsageError
from tacitd.files.formats import bullet
from tacitd.handler import Decision, Notice, StoredItem

STATES: Mapping[str, Any] = {
    "open": "stored",
    "theirs": "stored",
    "dropped": "forgotten",
    "asked": "proposed",
}


def list_items(rows: Any, environ: Mapping[str, str], root: Path | None) -> Iterator[StoredItem]:
    for number, text, state, words, where in rows(
        "SELECT l.number, l.text, l.state, l.words, p.root FROM reminders_line l JOIN project p ON p.number = l.project"
    ):
        if root in (None, Path(where)):
            yield StoredItem(
                f"rem{number:05}", "reminder", text, NAME, Path(where), STATES[state], words=(words,)
            )


def decide(decision: Decision, tools: Tools) -> Done:
    number = int(decision.id.removeprefix("rem"))
    found = tools.rows(
        "SELECT l.text, p.root FROM reminders_line l JOIN project p ON p.number = l.project WHERE l.number = ?",
        number,
    )
    if not found:
        raise UsageError(f"no reminder is {decision.id}")
    ((text, root),) = found
    leaf, state = bullet(HEADING, text), "dropped" if decision.choice == "drop" else "open"

    def apply(tx: Tx) -> None:
        tx.execute("UPDATE reminders_line SET state = ? WHERE number = ?", state, number)

    cause = Cause(f"{decision.choice} {number} {tools.clock.now()}", "person", decision.choice)
    put = None if state == "dropped" else text
    change = FileChange(Path(root) / NAME, LIST, lambda now, edits: {leaf: put}, cause)
    return Done(apply, (change,), notices=(Notice(state, text, NAME),))
