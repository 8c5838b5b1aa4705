"""What commands and `status` read of learning's rows, with the words that a line came from. Only SELECTs, and few imports."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tacitd.clock import local_date
from tacitd.state.paths import find_home
from tacitd.text.wording import count_noun, shorten_line
from tacitd_handlers.learning import UNHEEDED
from tacitd_handlers.learning.learned_rows import (
    FactRow,
    LineRow,
    LineState,
    make_id,
    make_marks,
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


def read_said_of(rows: Rows, lines: Sequence[int]) -> list[SaidFact]:
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
