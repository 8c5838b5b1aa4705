"""Facts and lines as rows: schema.sql has what their columns mean.

Every function that reads takes `rows` (`Tools.rows`, `Tx.rows`, or a command's), every function that changes takes the transaction.
A project is its number; None is the person.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from msgspec import Struct
from msgspec.structs import astuple, replace

from tacitd.text.hashes import sha256

if TYPE_CHECKING:
    from tacitd.contract import Rows, Tools, Tx
    from tacitd_handlers.learning.sources import Place

FactState = Literal["waiting", "written", "known", "left out", "review", "refused", "aside", "forgotten"]
LineState = Literal["present", "removed", "gone", "replaced", "forgotten", "withheld"]

WAITING: tuple[FactState, ...] = ("waiting",)
ASIDE: tuple[FactState, ...] = ("aside",)
"""The calls about them were lost, or answered with nothing of use."""
ASIDE_ID = "learning.aside"
"""Of the problem, with the place's name, while facts are put aside."""
PRESENT: tuple[LineState, ...] = ("present",)
ID_LENGTH = 8


class FactRow(Struct, frozen=True):
    number: int
    project: int | None
    session: str
    prompt: int | None
    heard_in: int | None
    said_at: float
    text: str
    words: str
    same: str
    corrected: bool
    line: int | None
    state: FactState
    reason: str
    tries: int


class LineRow(Struct, frozen=True):
    number: int
    id: str
    project: int | None
    path: str
    heading: str
    text: str
    same: str
    by: Literal["tacitd", "person"]
    state: LineState
    written_at: float
    said: int
    last_said: float
    corrections: int
    corrected_since: tuple[float, ...]
    reworded: bool
    replaced_by: int | None
    contrary: str
    kept_at: float | None


_FACT, _LINE = ", ".join(FactRow.__struct_fields__), ", ".join(LineRow.__struct_fields__)


# --- what texts say


def digest_same(text: str) -> str:
    """What `same` has: equal for texts that say the same."""
    from tacitd_handlers.shared.equality import normalise_text  # not for `status`

    return sha256(normalise_text(text).encode("utf-8", "replace")).hexdigest()[:32]


def make_id(*parts: str) -> str:
    """A short id that is derived from what the item is: eight hexadecimal digits."""
    return sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:ID_LENGTH]


def make_line_id(path: str, text: str) -> str:
    """The id of a line in a file, also of a person's: `path` is absolute."""
    return make_id("line", path, text)


# --- what is never learned again


class Forgotten(NamedTuple):
    """What a decision forgot."""

    id: str
    root: str
    """Of the project in which it is never learned again; "" for all projects."""
    sames: frozenset[str]


def name_never(same: str, root: str) -> str:
    """The name of the choice `never` of what says this, for a project; "": for all."""
    return f"{same} {root}".rstrip()


def list_forgotten(rows: Rows, root: str | None) -> list[Forgotten]:
    """What is never learned again in a project; "": in all, None: in any. What was forgotten at one time is one decision."""
    groups = dict[tuple[float, str], list[str]]()
    for name, at in rows(
        "SELECT name, at FROM choice WHERE scope = 'text' AND what = 'never' ORDER BY at, name"
    ):
        same, _, of = name.partition(" ")
        if root is None or of in ("", root):
            groups.setdefault((at, of), []).append(same)
    return [
        Forgotten(make_id("never", of, sames[0]), of, frozenset(sames)) for (_, of), sames in groups.items()
    ]


def read_forgotten(rows: Rows, place: Place) -> Callable[[str], bool]:
    """Whether the person said that a text is never learned again in a place."""
    sames = {same for one in list_forgotten(rows, place.project_root) for same in one.sames}
    return lambda text: bool(sames) and digest_same(text) in sames


# --- reading


def find_trust(rows: Rows, root: str) -> Literal["yes", "no", ""]:
    """Whether sessions get all of a project's LEARNED.md, or only tacitd's lines of it: what the person chose with `tacitd trust`,
    otherwise yes for a file that tacitd made. "": nobody knows who wrote it."""
    chosen = rows("SELECT value FROM choice WHERE scope = 'project' AND what = 'trust' AND name = ?", root)
    if chosen:
        return "no" if chosen[0][0] == "no" else "yes"
    return "yes" if rows("SELECT 1 FROM project WHERE root = ? AND trusted", root) else ""


def read_facts(rows: Rows, project: int | None, states: Collection[FactState] = WAITING) -> list[FactRow]:
    """The facts of a project, or of the person (None), in these states, the oldest first."""
    found = rows(
        f"SELECT {_FACT} FROM learning_fact WHERE project IS ? AND state IN ({make_marks(states)}) ORDER BY number",
        project,
        *states,
    )
    return [replace(FactRow(*row), corrected=bool(row[9])) for row in found]


def read_lines(rows: Rows, project: int | None, states: Collection[LineState] = PRESENT) -> list[LineRow]:
    """The lines of a project, or of the person (None), in these states, the oldest first."""
    return _select_lines(rows, "project IS ?", project, states)


def read_lines_of(rows: Rows, path: str, states: Collection[LineState] = PRESENT) -> list[LineRow]:
    return _select_lines(rows, "path = ?", path, states)


def find_line(rows: Rows, id: str) -> LineRow | None:
    return next(iter(_select_lines(rows, "id = ?", id, get_args(LineState))), None)


def read_line_facts(rows: Rows, line: int) -> list[FactRow]:
    """The facts that a line was made of or that repeat it, the oldest first."""
    found = rows(
        f"SELECT {_FACT} FROM learning_fact WHERE line = ?1 OR number IN "
        "(SELECT fact FROM learning_line_fact WHERE line = ?1) ORDER BY number",
        line,
    )
    return [replace(FactRow(*row), corrected=bool(row[9])) for row in found]


def _select_lines(
    rows: Rows, where: str, value: str | int | None, states: Collection[LineState]
) -> list[LineRow]:
    found = rows(
        f"SELECT {_LINE} FROM learning_line WHERE {where} AND state IN ({make_marks(states)}) ORDER BY number",
        value,
        *states,
    )
    return [
        replace(LineRow(*row), corrected_since=tuple(json.loads(row[13])), reworded=bool(row[14]))
        for row in found
    ]


def make_marks(values: Collection[object]) -> str:
    return ", ".join("?" * len(values))


# --- changing


class NewFact(Struct, frozen=True):
    project: int | None
    session: str
    prompt: int | None
    heard_in: int | None
    said_at: float
    text: str
    words: str
    corrected: bool = False
    line: int | None = None
    state: FactState = "waiting"
    reason: str = ""


def insert_fact(tx: Tx, new: NewFact) -> None:
    """Insert a fact, once: a message says a thing once, and a program appends a line once."""
    same = digest_same(new.text)
    if tx.rows(
        "SELECT 1 FROM learning_fact WHERE prompt IS ? AND same = ? AND line IS ? AND said_at = ?",
        *(new.prompt, same, new.line, new.said_at),
    ):
        return
    values = (*astuple(new), same)
    tx.execute(
        f"INSERT INTO learning_fact({', '.join(NewFact.__struct_fields__)}, same) VALUES({make_marks(values)})",
        *values,
    )


def put_line(
    tx: Tx,
    now: float,
    project: int | None,
    path: str,
    heading: str,
    text: str,
    *,
    facts: Sequence[int] = (),
    state: LineState = "present",
    contrary: str = "",
) -> int:
    """Insert a line, or make the one with its id a line of this state again; return its number. `path`: absolute. `facts`: what it is made
    of; they are written then, and count."""
    id = make_line_id(path, text)
    for (number,) in tx.rows("SELECT number FROM learning_line WHERE id = ? AND state = 'replaced'", id):
        # It was contradicted: what is counted begins anew.
        tx.execute("DELETE FROM learning_line_fact WHERE line = ?", number)
        tx.execute("UPDATE learning_fact SET line = NULL WHERE line = ?", number)
    tx.execute(
        "INSERT INTO learning_line(id, project, path, heading, text, same, state, written_at, last_said, contrary) "
        "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(id) DO UPDATE SET state = excluded.state, heading = excluded.heading, "
        "written_at = excluded.written_at, contrary = excluded.contrary, replaced_by = NULL",
        *(id, project, path, heading, text, digest_same(text), state, now, now, contrary),
    )
    ((number,),) = tx.rows("SELECT number FROM learning_line WHERE id = ?", id)
    add_facts(tx, number, facts)
    return int(number)


def add_facts(tx: Tx, line: int, facts: Sequence[int]) -> None:
    """Say that these facts make or repeat a line. They are written then, and counted in `said`, `corrections` and `last_said`."""
    tx.executemany(
        "INSERT OR IGNORE INTO learning_line_fact(line, fact) VALUES(?, ?)", [(line, fact) for fact in facts]
    )
    tx.executemany(
        "UPDATE learning_fact SET state = 'written', reason = '' WHERE number = ? AND state IN ('waiting', 'review', 'aside', 'left out')",
        [(fact,) for fact in facts],
    )
    count_said(tx, line)


def inherit_facts(tx: Tx, old: int, new: int) -> None:
    """A line takes over what was said for another one, which it merges or rewords."""
    _inherit_made_of(tx, old, new)
    tx.execute("UPDATE learning_fact SET line = ? WHERE line = ?", new, old)
    count_said(tx, new)


def count_said(tx: Tx, line: int) -> None:
    """Count anew how often a line was said: distinct messages of its facts and of those that repeat it; and note the times of the
    corrections that came although it was written."""
    tx.execute(
        "UPDATE learning_line SET (said, corrections, last_said) = (SELECT max(1, count(DISTINCT coalesce(prompt, -number))), "
        "count(DISTINCT CASE WHEN corrected THEN coalesce(prompt, -number) END), coalesce(max(said_at), learning_line.last_said) "
        "FROM learning_fact f WHERE f.line = learning_line.number OR f.number IN "
        "(SELECT fact FROM learning_line_fact l WHERE l.line = learning_line.number)), "
        "corrected_since = (SELECT coalesce(json_group_array(at), '[]') FROM (SELECT DISTINCT said_at AS at "
        "FROM learning_fact f WHERE f.line = learning_line.number AND f.corrected AND f.said_at >= learning_line.written_at "
        "ORDER BY at)) WHERE number = ?",
        line,
    )


def mark_line(tx: Tx, line: int, state: LineState, replaced_by: int | None = None) -> None:
    tx.execute(
        "UPDATE learning_line SET state = ?, replaced_by = ? WHERE number = ?", state, replaced_by, line
    )


def reword_line(tx: Tx, line: int, path: str, heading: str, text: str) -> None:
    """A person reworded or moved a line: it is theirs for good."""
    id = make_line_id(path, text)
    tx.execute("DELETE FROM learning_line WHERE id = ? AND number <> ?", id, line)
    tx.execute(
        "UPDATE learning_line SET id = ?, path = ?, heading = ?, text = ?, same = ?, by = 'person' WHERE number = ?",
        *(id, path, heading, text, digest_same(text), line),
    )


def relocate_line(tx: Tx, line: LineRow, project: int | None, path: str) -> None:
    """A line is in another file now; what was counted of it goes with it."""
    id = make_line_id(path, line.text)
    tx.execute("DELETE FROM learning_line WHERE id = ? AND number <> ?", id, line.number)
    tx.execute(
        "UPDATE learning_line SET id = ?, path = ?, project = ? WHERE number = ?",
        id,
        path,
        project,
        line.number,
    )


def split_line(tx: Tx, row: LineRow, heading: str, text: str, now: float) -> None:
    """A person gave a line another meaning: the new one is theirs, with the facts of the old one, which counts as deleted."""
    number = put_line(tx, now, row.project, row.path, heading, text)
    since = row.written_at
    tx.execute("UPDATE learning_line SET by = 'person', written_at = ? WHERE number = ?", since, number)
    _inherit_made_of(tx, row.number, number)
    mark_line(tx, row.number, "removed", number)
    count_said(tx, number)


def _inherit_made_of(tx: Tx, old: int, new: int) -> None:
    tx.execute(
        "INSERT OR IGNORE INTO learning_line_fact(line, fact) SELECT ?, fact FROM learning_line_fact WHERE line = ?",
        *(new, old),
    )


def mark_facts(tx: Tx, facts: Sequence[int], state: FactState, reason: str = "") -> None:
    tx.executemany(
        "UPDATE learning_fact SET state = ?, reason = ? WHERE number = ?",
        [(state, reason, fact) for fact in facts],
    )


def queue_message(tx: Tx, what: str, place: Place, now: float) -> None:
    """Queue work of learning's own in a place: `task_dispatch` has what each `what` is. It waits once for each place."""
    tell_plugin(tx, "learning", place, f"{what} {place.name}", {}, (), now)


def list_listeners(tools: Tools) -> list[str]:
    from tacitd_handlers.learning.prompt_templates import SYNTHESIS_PROMPT  # not for a command that reads

    return [one.name for one in tools.list_prompt_parts(SYNTHESIS_PROMPT)]


def tell_removed(tx: Tx, names: Iterable[str], place: Place, removed: Sequence[str], now: float) -> None:
    """Say which lines are gone, so that what was made of the same words goes too. `names`: the plugins."""
    key = f"removed {make_id(place.name, *removed)}"
    for name in names if removed else ():
        tell_plugin(tx, name, place, key, {"removed": list(removed)}, (), now)


def tell_plugin(
    tx: Tx, to: str, place: Place, key: str, data: Mapping[str, Any], sessions: Sequence[str], now: float
) -> None:
    """Queue a message for another plugin. `key`: what it is about, which comes once."""
    from tacitd.contract import Task  # a command that reads needs none of these
    from tacitd.events import NoProject
    from tacitd.work.messages import send_message

    project = place.project or NoProject("", "the person's")
    about = Task(0, "message", "", project, place.number, sessions[-1] if sessions else "")
    send_message(tx, "learning", to, key, about, data, now)
