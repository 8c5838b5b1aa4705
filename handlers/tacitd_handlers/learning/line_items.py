"""What a person can decide about lines: the hook `items` of the learning plugin. Only reads files.

Lines that are in their files, the person's own lines beside them, lines that were withheld, texts that were refused, what is
forgotten, and offers of rules (offer_items.py). The decisions are carried out in line_decisions.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tacitd.files.log import BLANK
from tacitd.handler import StoredItem
from tacitd.state.paths import state_dir
from tacitd_handlers.learning.folders import LEARNED
from tacitd_handlers.learning.inventory import Inventory, LearnedLine
from tacitd_handlers.learning.offer_items import list_offers
from tacitd_handlers.learning.person_decisions import (
    LineDecisions,
    StoredDecision,
    make_line_id,
    make_withheld_id,
    read_decisions,
)
from tacitd_handlers.learning.refusals import make_refusal_id
from tacitd_handlers.learning.rule_life import PROPOSAL, is_flagged
from tacitd_handlers.learning.statements import known_lines
from tacitd_handlers.learning.store import text_of
from tacitd_handlers.shared.decay import DAY
from tacitd_handlers.shared.equality import find_equal, normalise_text

WORDS = 10
"""Messages that are shown with a refused text, the newest."""
ASKED_AGAIN = 100 * DAY
"""Seconds after which a line that the person kept is asked about again, if it was still not said."""


def list_items(environ: Mapping[str, str], root: Path | None) -> list[StoredItem]:
    """The items of one project, or of all (None), and those of the person. Raises OSError, LogDamagedError."""
    inventory = Inventory(state_dir(environ))
    roots = [root] if root else inventory.list_roots()
    return [*(item for each in roots for item in list_project(inventory, each)), *list_offers(inventory)]


def list_project(inventory: Inventory, root: Path) -> Iterator[StoredItem]:
    """The items of one project. What is forgotten is listed as such only. Raises OSError."""
    decisions = LineDecisions(read_decisions(inventory.state_dir / "handlers" / "learning", root))
    lines = inventory.list_lines(root)
    for line in lines:
        yield StoredItem(
            line.id,
            "line",
            line.line,
            f"{line.file} · {line.heading}" if line.heading else line.file,
            root,
            review=_why_review(line, inventory, decisions.kept_at(line.id)),
        )
    by_person = inventory.list_own_lines(root)
    for own in by_person:
        where = f"{own.file} · {own.heading}" if own.heading else own.file
        yield StoredItem(
            make_line_id(root, own.file, own.line), "line", own.line, where, root, by_person=True
        )
    # A withheld line that was accepted is not withheld any more; if it is now, it was removed and said again since then.
    for one in _list_withheld(inventory, root):
        if one.id not in decisions.dropped and not decisions.is_reworded(one.id):
            yield one
    known = {
        normalise_text(text) for text in (*(one.line for one in lines), *(one.line for one in by_person))
    }
    yield from _list_refused(inventory, root, decisions, known)
    yield from _list_forgotten(root, decisions.dropped.values())


def find_refusals(inventory: Inventory, root: Path, id: str) -> list[Mapping[str, Any]]:
    """The records of a refused text by its item's id, oldest first: one for each time. Raises OSError."""
    return [one for one in inventory.list_refusals(root) if make_refusal_id(one) == id]


def _why_review(line: LearnedLine, inventory: Inventory, kept_at: float) -> str:
    conflict = inventory.state.conflicts.get(line.root, {}).get(line.line)
    if conflict is not None and not kept_at:
        file, theirs = conflict
        if find_equal(theirs, known_lines(text_of(line.root / file, line.root))) is not None:
            return f"it contradicts your line in {file}: {theirs}"
    life = inventory.state.rule_lives.get(line.root, {}).get(line.line)
    if life is not None and is_flagged(life, kept_at):
        return f"you corrected this {life.after} times since it was written: {PROPOSAL}"
    since = max(line.strength.last_seen, kept_at)
    if line.is_stale and inventory.clock.now() - since > ASKED_AGAIN:
        days = int((inventory.clock.now() - line.strength.last_seen) / DAY)
        return f"it was last said {days} days ago"
    return ""


def _list_withheld(inventory: Inventory, root: Path) -> Iterator[StoredItem]:
    for line, file in inventory.list_withheld(root).items():
        id = make_withheld_id(root, file, line)
        why = "you removed it, and said it again since"
        yield StoredItem(id, "withheld line", line, file, root, "proposed", review=why)


def _list_refused(
    inventory: Inventory, root: Path, decisions: LineDecisions, known: Collection[str]
) -> Iterator[StoredItem]:
    """The texts that were refused since the person decided about them last, each once however often that was.

    `known`: what is in the files by now, normalised.
    """
    found: dict[str, list[Mapping[str, Any]]] = {}
    for one in inventory.list_refusals(root):
        found.setdefault(make_refusal_id(one), []).append(one)
    for id, records in found.items():
        last = records[-1]
        kind, text = str(last.get("kind", "")), str(last.get("text", ""))
        if normalise_text(text) in known or text == BLANK or decisions.is_settled(id, last["at"]):
            continue
        reason = str(last.get("reason", "")).rstrip(".")
        why = f"it waits for you: {reason}" if last.get("verdict") == "waits" else f"it was refused: {reason}"
        if len(records) > 1:
            why += f" ({len(records)} times)"
        words = dict.fromkeys(str(each) for one in records for each in one.get("words", ()))
        place = LEARNED if kind in ("fact", "line") else ""
        yield StoredItem(
            id, f"refused {kind}", text, place, root, "proposed", review=why, words=tuple(words)[-WORDS:]
        )


def _list_forgotten(root: Path, dropped: Iterable[StoredDecision]) -> Iterator[StoredItem]:
    for one in dropped:
        text = "" if one.text == BLANK else one.text
        yield StoredItem(one.id, "line", text, one.place, root, "forgotten")
