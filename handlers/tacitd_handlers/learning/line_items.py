"""What a person decides about in learning: the hook `items`. Lines, the person's own lines beside them, lines that were withheld,
facts that wait or were refused, what is forgotten, and lines that could hold everywhere. The decisions are in `line_decisions`.

A line's id is that of its row, and is derived from its file and text; so is that of a person's own line.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tacitd.handler import StoredItem
from tacitd.state.store_tables import FORGOTTEN
from tacitd_handlers.learning.learned_rows import (
    FactRow,
    FactState,
    LineRow,
    digest_same,
    make_line_id,
    read_facts,
    read_lines,
)
from tacitd_handlers.learning.line_queries import (
    DAY,
    STALE,
    ItemPlace,
    describe_corrections,
    find_offers,
    group_facts,
    is_stale,
    is_unheeded,
    list_earlier,
    list_own_lines,
    list_places,
    list_texts,
    list_words,
    make_fact_id,
    name_file,
    name_place,
    read_said,
)

if TYPE_CHECKING:
    from tacitd.contract import Done, Rows, Tools
    from tacitd.handler import Decision

LINE, WITHHELD, FACT, OFFER = "line", "withheld line", "refused fact", "rule offer"
EVERYWHERE = "all projects"
_FORGOTTEN: tuple[FactState, ...] = ("forgotten",)


def list_items(rows: Rows, environ: Mapping[str, str], root: Path | None) -> Iterator[StoredItem]:
    """The items of one project, or of all (None), and those of the person. Raises OSError."""
    now = time.time()
    for place in list_places(rows, root):
        own = list_own_lines(rows, place, environ) if root is not None else None
        yield from _list_place(rows, place, own, now)
    yield from _list_offers(rows, environ)


def decide(decision: Decision, tools: Tools) -> Done:
    """Carry out a decision. Raises as `line_decisions.decide_item`."""
    from tacitd_handlers.learning.line_decisions import decide_item  # a list needs none of its modules

    return decide_item(decision, tools)


def _list_place(
    rows: Rows, place: ItemPlace, own: list[tuple[str, str, str]] | None, now: float
) -> Iterator[StoredItem]:
    said = read_said(rows, place.number)
    lines = read_lines(rows, place.number, ("present", "withheld", "forgotten"))
    present = [one for one in lines if one.state == "present"]
    theirs = {text for _, _, text in own or ()} | {one.text for one in present if one.by == "person"}
    for line in lines:
        texts = [*list_texts(said.get(line.number, ())), *(text for _, text in list_earlier(rows, line))]
        item = StoredItem(
            line.id,
            LINE,
            _show(line.text),
            name_place(line, place.root),
            place.root,
            words=tuple(one.beginning for one in list_words(said.get(line.number, ()))),
            earlier=tuple(dict.fromkeys(text for text in texts if text and text != line.text)),
        )
        yield _in_state(item, line, theirs if own is not None else None, now)
    known = {one.id for one in lines if one.state != "forgotten"}
    for path, heading, text in own or ():
        id = make_line_id(path, text)
        if id not in known:
            where = f"{name_file(path, place.root)} · {heading}" if heading else name_file(path, place.root)
            yield StoredItem(id, LINE, text, where, place.root, by_person=True)
    same = {one.same for one in present} | {digest_same(text) for text in theirs}
    yield from _list_facts(rows, place, same, {one.same for one in lines if one.state == "forgotten"})


def _in_state(item: StoredItem, line: LineRow, theirs: Collection[str] | None, now: float) -> StoredItem:
    from msgspec.structs import replace

    match line.state:
        case "withheld":
            why = "you removed it, and said it again since"
            return replace(item, kind=WITHHELD, state="proposed", review=why)
        case "forgotten":
            return replace(item, state="forgotten")
        case _:
            why = _explain_review(line, theirs, now)
            return replace(item, by_person=line.by == "person", review=why)


def _explain_review(line: LineRow, theirs: Collection[str] | None, now: float) -> str:
    """Why a person is asked about a line; "" if they are not. `theirs`: their own lines; None if they were not read."""
    kept = line.kept_at or 0.0
    if line.contrary and not kept and (theirs is None or line.contrary in theirs):
        return f"it contradicts your line: {line.contrary}"
    if is_unheeded(line):
        return (
            f"you {describe_corrections(line)}: drop it, or have it checked by a hook: `tacitd learned --check {line.id}` "
            "prints one"
        )
    if is_stale(line, now) and now - max(line.last_said, kept) > STALE:
        return f"it was last said {int((now - line.last_said) / DAY)} days ago"
    return ""


# --- facts that are no lines


def _list_facts(
    rows: Rows, place: ItemPlace, known: Collection[str], forgotten: Collection[str]
) -> Iterator[StoredItem]:
    """What waits for a decision or was refused, each text once, however often it came; and such texts that are forgotten."""
    open_facts = read_facts(rows, place.number, ("review", "refused", "aside"))
    for same, group in group_facts(open_facts).items():
        if same not in known and same not in forgotten:
            yield _make_fact_item(rows, place, group, _explain_fact(group), "proposed")
    listed = {*known, *forgotten, *(one.same for one in open_facts)}
    for same, group in group_facts(read_facts(rows, place.number, _FORGOTTEN)).items():
        if same not in listed:
            yield _make_fact_item(rows, place, group, "", "forgotten")


def _explain_fact(group: list[FactRow]) -> str:
    last = group[-1]
    reason = last.reason.rstrip(".")
    said = {"review": "it waits for you", "aside": "no line was made of it"}.get(last.state, "it was refused")
    why = f"{said}: {reason}"
    return f"{why} ({len(group)} times)" if len(group) > 1 else why


def _make_fact_item(
    rows: Rows, place: ItemPlace, group: list[FactRow], review: str, state: str
) -> StoredItem:
    last, texts = group[-1], [text for one in group for text in (one.text, one.words)]
    words = list_fact_words(rows, group)
    return StoredItem(
        make_fact_id(place.number, last.same),
        FACT,
        _show(last.text),
        "LEARNED.md",
        place.root,
        state,  # type: ignore[arg-type]
        review=review,
        words=tuple(words),
        earlier=tuple(dict.fromkeys(text for text in texts if text and text != last.text)),
    )


def list_fact_words(rows: Rows, group: Collection[FactRow]) -> list[str]:
    """The beginnings of the prompts that facts were heard in, each once, otherwise the sentences that they rest on."""
    from tacitd.text.wording import shorten_line
    from tacitd_handlers.learning.line_queries import WORDS

    found = dict[str, None]()
    for one in group:
        rest = rows("SELECT text FROM prompt WHERE number = ? AND text IS NOT NULL", one.prompt)
        words = rest[0][0] if rest else one.words
        found |= {shorten_line(words, WORDS): None} if words else {}
    return list(found)


# --- lines of several projects


def _list_offers(rows: Rows, environ: Mapping[str, str]) -> Iterator[StoredItem]:
    """Each with the id of the line that it would be: declined, it is a forgotten line of the person's."""
    for text, roots in find_offers(rows):
        from tacitd_handlers.learning.sources import person_root
        from tacitd_handlers.reach.client_rules import LEARNED

        why = f"it was learned in {len(roots)} projects: {', '.join(map(str, roots))}"
        id = make_line_id(str(person_root(environ) / LEARNED), text)
        yield StoredItem(id, OFFER, text, EVERYWHERE, None, "proposed", review=why)


def _show(text: str) -> str:
    """A stored text; "" if its words were purged."""
    return "" if text == FORGOTTEN else text
