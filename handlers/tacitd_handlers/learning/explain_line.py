"""Where a line came from: the hook `why`. It reads rows only."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacitd.clock import utc_seconds
from tacitd.state.paths import state_dir
from tacitd.state.store_tables import FORGOTTEN
from tacitd_handlers.learning.learned_rows import (
    FactRow,
    FactState,
    LineRow,
    LineState,
    make_marks,
    read_facts,
    read_lines,
)
from tacitd_handlers.learning.line_queries import (
    OUTSIDE,
    ItemPlace,
    SaidFact,
    describe_corrections,
    group_facts,
    list_places,
    list_words,
    make_fact_id,
    name_place,
    read_earlier,
    read_said_facts,
    read_said_of,
)

if TYPE_CHECKING:
    from tacitd.contract import Rows

SHORTEST_ID = 4
"""Characters of the beginning of an id."""
_STATES: Mapping[LineState, str] = {
    "present": "",
    "removed": "you removed it",
    "gone": "git took it away",
    "replaced": "another line took its place",
    "forgotten": "you forgot it",
    "withheld": "you removed it, and said it again since",
}
_FACT_STATES: Mapping[FactState, str] = {
    "review": "it waits for you: {}",
    "refused": "it was refused: {}",
    "left out": "no line was made of it; said again, it is put to the model again",
    "aside": "no answer fits it: `tacitd rescue` lists it",
}
_EVERY: tuple[LineState, ...] = tuple(_STATES)
_OPEN: tuple[FactState, ...] = ("waiting", *_FACT_STATES)
_CALLS = """
SELECT DISTINCT c.number, c.purpose, coalesce(nullif(c.model, ''), c.tier), c.begun, c.usd, c.assumed, c.tokens_in, c.tokens_out
FROM call_part k JOIN call c ON c.number = k.call
WHERE c.plugin = 'learning' AND c.ended IS NOT NULL AND (k.kind, k.row) IN (VALUES {}) ORDER BY c.number
"""
_CHANGES = """
SELECT DISTINCT c.id FROM change_line l JOIN change c ON c.number = l.change WHERE l.path = ? AND {} ORDER BY c.number
"""


def explain(rows: Rows, text: str, root: Path | None) -> Iterator[dict[str, Any]]:
    """The lines of the project and of the person that contain a text, or the line with this id in any project, and facts that are no
    lines. Each is `id`, `root` ("" for a fact), `what`, `where` (file, heading and what became of it), `at` (written), `sessions`, `words`
    (beginnings of the prompts), `said` (the same with when and in which client they were typed), `calls` of the model, `changes` (ids) and `correctedSince`."""
    wanted = text.strip().removeprefix("- ").casefold()
    found = list[dict[str, Any]]()
    if len(wanted) >= SHORTEST_ID and not set(wanted) - set("0123456789abcdef"):
        for place in list_places(rows, None):
            lines = read_lines(rows, place.number, _EVERY)
            found += [_explain_line(rows, place, one) for one in lines if one.id.startswith(wanted)]
            for same, group in group_facts(read_facts(rows, place.number, ("review", "refused"))).items():
                if (id := make_fact_id(place.number, same)).startswith(wanted):
                    found.append(_explain_fact(rows, place, group[-1]) | {"id": id})
    yield from found
    for place in list_places(rows, root) if wanted and not found else ():
        lines = [one for one in read_lines(rows, place.number, _EVERY) if wanted in one.text.casefold()]
        for line in sorted(lines, key=lambda one: one.state != "present"):
            yield _explain_line(rows, place, line)
        for fact in read_facts(rows, place.number, _OPEN):
            if wanted in fact.text.casefold():
                yield _explain_fact(rows, place, fact)


def _explain_line(rows: Rows, place: ItemPlace, line: LineRow) -> dict[str, Any]:
    numbers = [line.number]
    if line.reworded:  # it still says what the line before said
        numbers += [number for number, _ in read_earlier(rows).get(line.number, ())]
    said = read_said_of(rows, numbers)
    # The changes that put or took it; of a line whose words were purged, those that rest on its prompts.
    prompts = [one.prompt_number for one in said if one.prompt_number is not None]
    of_prompts = f"c.number IN (SELECT change FROM change_prompt WHERE prompt IN ({make_marks(prompts)}))"
    if line.text == FORGOTTEN:
        changes = rows(_CHANGES.format(of_prompts), line.path, *prompts)
    else:
        changes = rows(_CHANGES.format("? IN (l.put, l.taken)"), line.path, line.text)
    notes = [name_place(line, place.root), _STATES[line.state], describe_corrections(line)]
    if line.by == "person":
        notes.append("you reworded it")
    if said and not any(one.prompt for one in said):
        notes.append(f"you did not type it: {OUTSIDE}")
    return {
        "id": line.id,
        "root": str(place.root or ""),
        "what": line.text,
        "where": ", ".join(filter(None, notes)),
        "at": utc_seconds(line.written_at),
        **_list_origin(rows, said),
        "changes": [id for (id,) in changes],
        "correctedSince": [utc_seconds(at) for at in line.corrected_since],
    }


def _explain_fact(rows: Rows, place: ItemPlace, fact: FactRow) -> dict[str, Any]:
    where = _FACT_STATES.get(fact.state, "{}").format(fact.reason)
    if fact.state == "waiting":
        from tacitd_handlers.learning.learning_status import describe_writing

        where = f"waits, {describe_writing(place.root, state_dir(os.environ), time.time())}"
    where = where if fact.prompt is not None else f"{where}; you did not type it: {OUTSIDE}"
    return {
        "id": "",
        "root": "",  # it is in no file
        "what": fact.text,
        "where": (f"in {place.root}: " if place.root else "") + where.rstrip("."),
        "at": utc_seconds(fact.said_at),
        **_list_origin(rows, read_said_facts(rows, [fact.number])),
        "changes": [],
    }


def _list_origin(rows: Rows, said: Sequence[SaidFact]) -> dict[str, Any]:
    words = [
        {
            "words": one.beginning,
            "at": "" if one.typed is None else utc_seconds(one.typed),
            "source": one.source,
        }
        for one in list_words(said)
    ]
    keys = [("prompt", str(one.prompt_number)) for one in said if one.prompt]
    keys += [("fact", str(one.number)) for one in said]
    pairs = ", ".join(["(?, ?)"] * len(keys))
    calls = rows(_CALLS.format(pairs), *(value for key in keys for value in key)) if keys else []
    names = ("purpose", "model", "at", "usd", "assumed", "in", "out")
    return {
        "sessions": list(dict.fromkeys(one.session for one in said if one.session)),
        "words": [one["words"] for one in words],
        "said": words,
        "calls": [
            dict(zip(names, (purpose, model, utc_seconds(at), usd, bool(assumed), *tokens), strict=True))
            for _, purpose, model, at, usd, assumed, *tokens in calls
        ],
    }
