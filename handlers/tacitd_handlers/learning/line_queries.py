"""What commands and `status` read of learning's rows, with the words that a line came from; and where a line came from: the hook `why`.
Only SELECTs, and few imports."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tacitd.clock import local_date, utc_seconds
from tacitd.state.paths import find_home, state_dir
from tacitd.state.store_tables import FORGOTTEN
from tacitd.text.wording import count_noun, shorten_line
from tacitd_handlers.learning import UNHEEDED
from tacitd_handlers.learning.learned_rows import (
    FactRow,
    FactState,
    LineRow,
    LineState,
    make_id,
    make_marks,
    read_facts,
    read_lines,
    read_lines_of,
)

if TYPE_CHECKING:
    from tacitd.contract import Rows

PROPOSAL = "make it a check that runs by itself: a hook of Claude Code, or a rule of the project's linter"
DAY = 86_400.0
STALE = 100 * DAY
"""Seconds after which a line that was said once is stale; one that was said twice after twice as many (SPEC S-54)."""
ENOUGH = 3
"""Projects in which a line is learned before it is offered for all (SPEC S-55)."""
WORDS = 200
"""Characters of a prompt that are shown."""
NOBODY = 0
OUTSIDE = "another program of yours appended it to tmp/learning-raw.jsonl"
ITEM_STATES: Mapping[LineState, Literal["stored", "proposed", "forgotten"]] = {
    "present": "stored",
    "withheld": "proposed",
    "forgotten": "forgotten",
}
OFFERS = """
SELECT l.same, group_concat(DISTINCT l.project), max(l.number) FROM learning_line l
WHERE l.state = 'present' AND l.project IS NOT NULL
AND NOT EXISTS(SELECT 1 FROM learning_line own WHERE own.project IS NULL AND own.same = l.same AND own.state <> 'gone')
GROUP BY l.same HAVING count(DISTINCT l.project) >= ? ORDER BY count(DISTINCT l.project) DESC, l.same
"""
_FACTS = """
SELECT {}, f.number, f.text, f.words, f.session, f.said_at, coalesce(p.id, ''), coalesce(nullif(w.text, ''), f.words), p.typed, p.number,
coalesce(p.source, '') FROM {} LEFT JOIN prompt p ON p.number = f.prompt LEFT JOIN prompt_text w ON w.prompt = f.prompt
"""
_SAID = _FACTS.format(
    "k.line",
    "(SELECT line, fact FROM learning_line_fact UNION SELECT line, number FROM learning_fact WHERE line IS NOT NULL) k "
    "JOIN learning_line l ON l.number = k.line JOIN learning_fact f ON f.number = k.fact",
)


class ItemPlace(NamedTuple):
    """A project, or the person (both None)."""

    number: int | None
    root: Path | None


class SaidFact(NamedTuple):
    """A fact that a line was made of, or that repeats it, with the prompt that says it."""

    number: int
    text: str
    words: str
    """The sentence that it rests on."""
    session: str
    said_at: float
    prompt: str
    """The prompt's id; "" if another program wrote the fact."""
    beginning: str
    """Of the prompt; of the sentence where the prompt's text is gone."""
    typed: float | None
    prompt_number: int | None
    source: str
    """The client in which it was typed; "" if nobody typed it."""


def list_places(rows: Rows, root: Path | None) -> list[ItemPlace]:
    """The person and the project with this root, or all projects (None), in the order in which they were seen first."""
    found = [
        ItemPlace(number, Path(path))
        for number, path in rows("SELECT number, root FROM project ORDER BY number")
        if root is None or path == str(root)
    ]
    missing = [ItemPlace(NOBODY, root)] if root is not None and not found else []
    return [ItemPlace(None, None), *found, *missing]


def find_place(rows: Rows, root: Path | None) -> ItemPlace:
    return list_places(rows, root)[-1] if root is not None else ItemPlace(None, None)


def name_file(path: str, root: Path | None) -> str:
    """A line's file, relative to its project; the person's with `~`."""
    if root is not None and path.startswith(f"{root}/"):
        return path.removeprefix(f"{root}/")
    home = str(find_home(os.environ)).rstrip("/")
    return f"~{path.removeprefix(home)}" if path.startswith(f"{home}/") else path


def name_place(line: LineRow, root: Path | None) -> str:
    file = name_file(line.path, root)
    return f"{file} · {line.heading}" if line.heading else file


def read_said(rows: Rows, project: int | None) -> dict[int, list[SaidFact]]:
    """The facts of each line of a project, or of the person, by the line's number, the oldest first."""
    found: dict[int, list[SaidFact]] = {}
    for line, *fields in rows(f"{_SAID} WHERE l.project IS ? ORDER BY f.number", project):
        found.setdefault(line, []).append(_make_said(*fields))
    return found


def _read_said_of(rows: Rows, lines: Sequence[int]) -> list[SaidFact]:
    """The facts of these lines, the oldest first, each once."""
    found = rows(f"{_SAID} WHERE k.line IN ({make_marks(lines)}) GROUP BY f.number ORDER BY f.number", *lines)
    return [_make_said(*fields) for _, *fields in found]


def read_said_facts(rows: Rows, facts: Collection[int]) -> list[SaidFact]:
    """These facts, the oldest first."""
    sql = _FACTS.format("NULL", "learning_fact f")
    found = rows(f"{sql} WHERE f.number IN ({make_marks(facts)}) ORDER BY f.number", *facts)
    return [_make_said(*fields) for _, *fields in found]


def _make_said(*fields: Any) -> SaidFact:
    said = SaidFact(*fields)
    return said._replace(beginning=shorten_line(said.beginning, WORDS))


def read_earlier(rows: Rows) -> dict[int, list[tuple[int, str]]]:
    """Number and text of the lines whose place another one took, by that one's number, the newest first."""
    found: dict[int, list[tuple[int, str]]] = {}
    for line, *old in rows(
        "WITH RECURSIVE old(line, number, text) AS ("
        "SELECT replaced_by, number, text FROM learning_line WHERE replaced_by IS NOT NULL "
        "UNION SELECT old.line, l.number, l.text FROM learning_line l JOIN old ON l.replaced_by = old.number) "
        "SELECT line, number, text FROM old"
    ):
        found.setdefault(line, []).append(tuple(old))
    return found


def list_words(said: Sequence[SaidFact]) -> Iterator[SaidFact]:
    """The facts whose prompts begin in different ways: the first of each."""
    known = set[str]()
    for one in said:
        if one.beginning and one.beginning not in known:
            known.add(one.beginning)
            yield one


def is_stale(line: LineRow, now: float) -> bool:
    """Whether a line was not said for 100 days times the number of times it was said (S-54)."""
    return now - line.last_said > STALE * line.said


def describe_count(said: int, sessions: int, corrections: int = 0) -> str:
    """`said 3 times in 2 sessions, 1 of them a correction`; `said once`."""
    text = "said once" if said == 1 else f"said {said} times"
    if said > 1 and sessions:
        text += f" in {count_noun(sessions, 'session')}"
    if said > 1 and corrections:
        text += f", {corrections} of them {'a correction' if corrections == 1 else 'corrections'}"
    return text


def describe_corrections(line: LineRow) -> str:
    """`corrected 2 times since it was written (2026-11-20, 2026-11-24)`; "" for a line that is heeded."""
    times = line.corrected_since
    if not times:
        return ""
    days = ", ".join(dict.fromkeys(map(local_date, times)))
    return f"corrected {'once' if len(times) == 1 else f'{len(times)} times'} since it was written ({days})"


def is_unheeded(line: LineRow) -> bool:
    """Whether it was corrected twice although it is written, and not kept by the person since."""
    times = line.corrected_since
    return len(times) >= UNHEEDED and max(times) > (line.kept_at or 0.0)


# --- what is no line of tacitd


def make_fact_id(project: int | None, same: str) -> str:
    return make_id("fact", str(project or ""), same)


def group_facts(facts: Collection[FactRow]) -> dict[str, list[FactRow]]:
    """Facts that say the same are one item."""
    groups: dict[str, list[FactRow]] = {}
    for one in facts:
        groups.setdefault(one.same, []).append(one)
    return groups


def find_offers(rows: Rows) -> Iterator[tuple[str, list[Path]]]:
    """Lines that are in three projects and not the person's, with the projects' roots. What the person declined, removed or took is a row
    of the person's, and is not offered."""
    for _, numbers, newest in rows(OFFERS, ENOUGH):
        roots = rows(f"SELECT root FROM project WHERE number IN ({numbers}) ORDER BY root")
        ((text,),) = rows("SELECT text FROM learning_line WHERE number = ?", newest)
        yield text, [Path(root) for (root,) in roots]


def list_own_lines(rows: Rows, place: ItemPlace, environ: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Path, heading and text of the list items in a place's files that are not tacitd's. A file that cannot be read has none."""
    from tacitd.errors import FileRefusedError
    from tacitd.text.markdown import lines_of
    from tacitd_handlers.learning.sources import READ_LIMIT, list_paths
    from tacitd_handlers.shared.places import leads_out, read_plain_bytes

    found = list[tuple[str, str, str]]()
    for path in list_paths(rows, environ, place.root):
        if place.root is not None and leads_out(path, place.root):
            continue
        try:
            items = lines_of(read_plain_bytes(path, READ_LIMIT))
        except (OSError, FileRefusedError):
            continue
        ours = {line.text for line in read_lines_of(rows, str(path))}
        found += [(str(path), heading, text) for heading, text in items if text not in ours]
    return found


# --- why

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
    lines. Each is `id`, `root`, `what`, `where` (file, heading and what became of it), `at` (written), `sessions`, `words` (beginnings of
    the prompts), `said` (the same with when and in which client they were typed), `calls` of the model, `changes` (ids) and `correctedSince`."""
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
    said = _read_said_of(rows, numbers)
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
        "root": str(place.root or ""),
        "what": fact.text,
        "where": where.rstrip("."),
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
