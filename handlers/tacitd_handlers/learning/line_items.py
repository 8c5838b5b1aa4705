"""What a person decides about in learning: the hook `items`. Lines, the person's own lines beside them, lines that were withheld,
facts that wait or were refused, what is forgotten, and lines that could hold everywhere. The decisions are in `line_decisions`.

A line's id is that of its row, and is derived from its file and text; so is that of a person's own line.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tacitd.handler import StoredItem
from tacitd.state.store_tables import FORGOTTEN
from tacitd_handlers.learning.learned_rows import (
    FactRow,
    FactState,
    LineRow,
    digest_same,
    list_forgotten,
    make_line_id,
    read_facts,
    read_lines,
)
from tacitd_handlers.learning.line_queries import (
    DAY,
    ITEM_STATES,
    STALE,
    ItemPlace,
    describe_corrections,
    find_offers,
    group_facts,
    is_stale,
    is_unheeded,
    list_own_lines,
    list_places,
    list_words,
    make_fact_id,
    name_file,
    name_place,
    read_earlier,
    read_said,
    read_said_facts,
)

if TYPE_CHECKING:
    from tacitd.contract import Done, Rows, Tools
    from tacitd.handler import Decision

LINE, WITHHELD, FACT, OFFER = "line", "withheld line", "refused fact", "rule offer"
_SAID: Mapping[FactState, str] = {
    "review": "it waits for you",
    "aside": "no line was made of it",
    "refused": "it was refused",
}
_OPEN: tuple[FactState, ...] = tuple(_SAID)
_FORGOTTEN: tuple[FactState, ...] = ("forgotten",)


def list_items(rows: Rows, environ: Mapping[str, str], root: Path | None) -> Iterator[StoredItem]:
    """The items of one project, or of all (None), and those of the person. Raises OSError."""
    now, earlier = time.time(), read_earlier(rows)
    for place in list_places(rows, root):
        own = list_own_lines(rows, place, environ) if root is not None else None
        yield from _list_place(rows, place, own, earlier, now)
    yield from _list_unworded(rows, environ, root)
    for text, roots in find_offers(rows):
        from tacitd_handlers.learning.sources import person_root
        from tacitd_handlers.reach.client_rules import LEARNED

        why = f"it was learned in {len(roots)} projects: {', '.join(map(str, roots))}"
        # The id of the line that it would be: declined, it is a forgotten line of the person's.
        id = make_line_id(str(person_root(environ) / LEARNED), text)
        yield StoredItem(id, OFFER, text, "all projects", None, "proposed", review=why)


def _list_unworded(rows: Rows, environ: Mapping[str, str], root: Path | None) -> Iterator[StoredItem]:
    """What is forgotten and has no row: it was forgotten before the store was lost, or its fact was deleted after 90 days."""
    known = set[tuple[str, str]]()
    for table in ("learning_line", "learning_fact"):
        sql = f"SELECT same, coalesce(root, '') FROM {table} LEFT JOIN project p ON p.number = project WHERE state = 'forgotten'"
        known.update(rows(sql))
    for one in list_forgotten(rows, None if root is None else str(root)):
        if known.isdisjoint((same, one.root) for same in one.sames):
            where = "LEARNED.md" if one.root else "all projects"
            place = Path(one.root) if one.root else None
            says = partial(_is_among, one.sames)
            yield StoredItem(one.id, LINE, "", where, place, "forgotten", says=says)


def _is_among(sames: Collection[str], text: str) -> bool:
    return digest_same(text) in sames


def decide(decision: Decision, tools: Tools) -> Done:
    """Carry out a decision. Raises as `line_decisions.decide_item`."""
    from tacitd_handlers.learning.line_decisions import decide_item  # a list needs none of its modules

    return decide_item(decision, tools)


def _list_place(
    rows: Rows,
    place: ItemPlace,
    own: list[tuple[str, str, str]] | None,
    earlier: Mapping[int, list[tuple[int, str]]],
    now: float,
) -> Iterator[StoredItem]:
    said = read_said(rows, place.number)
    lines = read_lines(rows, place.number, ("present", "withheld", "forgotten"))
    present = [one for one in lines if one.state == "present"]
    theirs = {text for _, _, text in own or ()} | {one.text for one in present if one.by == "person"}
    for line in lines:
        facts = said.get(line.number, ())
        texts = [text for one in facts for text in (one.text, one.words, one.beginning)]
        texts += [text for _, text in earlier.get(line.number, ())]
        is_withheld = line.state == "withheld"
        why = (
            _explain_review(line, theirs if own is not None else None, now) if line.state == "present" else ""
        )
        yield StoredItem(
            line.id,
            WITHHELD if is_withheld else LINE,
            _show(line.text),
            name_place(line, place.root),
            place.root,
            ITEM_STATES[line.state],
            by_person=line.state == "present" and line.by == "person",
            review="you removed it, and said it again since" if is_withheld else why,
            words=tuple(one.beginning for one in list_words(facts)),
            earlier=tuple(dict.fromkeys(text for text in texts if text and text != line.text)),
        )
    known = {one.id for one in lines if one.state != "forgotten"}
    for path, heading, text in own or ():
        id = make_line_id(path, text)
        if id not in known:
            where = f"{name_file(path, place.root)} · {heading}" if heading else name_file(path, place.root)
            yield StoredItem(id, LINE, text, where, place.root, by_person=True)
    listed = {one.same for one in lines if one.state != "withheld"} | {digest_same(text) for text in theirs}
    # What waits for a decision or was refused, each text once, however often it came; then such texts that are forgotten.
    for states in (_OPEN, _FORGOTTEN):
        groups = group_facts(read_facts(rows, place.number, states))
        for same, group in groups.items():
            if same not in listed:
                yield _make_fact_item(rows, place, group)
        listed |= groups.keys()


def _explain_review(line: LineRow, theirs: Collection[str] | None, now: float) -> str:
    """Why a person is asked about a line; "" if they are not. `theirs`: their own lines; None if they were not read."""
    kept = line.kept_at or 0.0
    if line.contrary and not kept and (theirs is None or line.contrary in theirs):
        return f"it contradicts your line: {line.contrary}"
    if is_unheeded(line):
        hook = f"`tacitd learned --check {line.id}` prints one"
        return f"you {describe_corrections(line)}: drop it, or have it checked by a hook: {hook}"
    if is_stale(line, now) and now - max(line.last_said, kept) > STALE:
        return f"it was last said {int((now - line.last_said) / DAY)} days ago"
    return ""


# --- facts that are no lines


def _make_fact_item(rows: Rows, place: ItemPlace, group: list[FactRow]) -> StoredItem:
    last, texts = group[-1], [text for one in group for text in (one.text, one.words)]
    said = read_said_facts(rows, [one.number for one in group])
    times = f" ({len(group)} times)" if len(group) > 1 else ""
    is_forgotten = last.state == "forgotten"
    return StoredItem(
        make_fact_id(place.number, last.same),
        FACT,
        _show(last.text),
        "LEARNED.md",
        place.root,
        "forgotten" if is_forgotten else "proposed",
        review="" if is_forgotten else f"{_SAID[last.state]}: {last.reason.rstrip('.')}{times}",
        words=tuple(one.beginning for one in list_words(said)),
        earlier=tuple(dict.fromkeys(text for text in texts if text and text != last.text)),
    )


def _show(text: str) -> str:
    return "" if text == FORGOTTEN else text
