"""Learning's part of `tacitd status`, when facts that wait are written, and its sections of `tacitd report`: SELECTs over its rows.

When facts are written is in what the daemon told last; a fact that it does not name waits for the end of its session.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacitd.clock import local_date, local_minutes, parse_utc, utc_seconds
from tacitd.errors import TacitdError
from tacitd.text.wording import count_noun, shorten_line
from tacitd_handlers.learning import UNHEEDED
from tacitd_handlers.learning.learned_rows import LineRow, LineState, read_lines
from tacitd_handlers.learning.line_queries import ENOUGH, OFFERS, PROPOSAL, list_places, name_file

if TYPE_CHECKING:
    from tacitd.contract import Rows
    from tacitd.report.sections import Cell, ReportScope, ReportSection

SYNC = "`tacitd sync --write` does it now"
END = "two minutes after its client has ended, or after `session.idle` without work"
_WAITING = """
SELECT p.root, count(*) FROM learning_fact f JOIN project p ON p.number = coalesce(f.project, f.heard_in)
WHERE f.state = 'waiting' GROUP BY p.root ORDER BY p.number
"""


def count_waiting_facts(rows: Rows) -> dict[str, int]:
    """How many facts wait, by the root of the project in which they were heard."""
    return dict(rows(_WAITING))


def list_waits(rows: Rows) -> Iterator[dict[str, str]]:
    """What waits for a synthesis: see `waits` of the status document. Facts of an excluded project wait for the person."""
    excluded = {
        root for (root,) in rows("SELECT name FROM choice WHERE scope = 'project' AND what = 'exclude'")
    }
    for root, number in count_waiting_facts(rows).items():
        is_off = root in excluded
        until = f"`tacitd exclude --undo {root}`" if is_off else "its session ends"
        what = count_noun(number, "fact")
        yield {"project": root, "what": what, "until": until, "job": "" if is_off else "synthesize"}


def describe_waiting_facts(rows: Rows, roots: Iterable[Path], state_dir: Path, now: float) -> Iterator[str]:
    """A line for each project with waiting facts: `1 fact waits, written about 21:39; …`. Times are local."""
    numbers = count_waiting_facts(rows)
    for root in roots:
        if number := numbers.get(str(root), 0):
            verb = "waits" if number == 1 else "wait"
            yield f"{count_noun(number, 'fact')} {verb}, {describe_writing(root, state_dir, now)}"


def describe_writing(root: Path | None, state_dir: Path, now: float) -> str:
    """When the waiting facts of a project are written, and the command that does it now."""
    row = _read_waiting_rows(state_dir, now).get(str(root), {})
    when = describe_time_of_writing(row, now)
    return when if row and not row.get("job") else f"{when}; {SYNC}"


def describe_time_of_writing(row: Mapping[str, Any], now: float) -> str:
    """When waiting facts are written, local: `written about 21:39`, `written when its session ends`."""
    until, at = str(row.get("until", "")), parse_utc(row.get("at"))
    if row and not row.get("job"):
        return f"not written before {until}"
    if at is not None and at > now:
        return f"written about {datetime.fromtimestamp(at).strftime('%H:%M')}"
    return f"written when {until or 'its session ends'}"


def describe_first_lines(roots: Iterable[Path], state_dir: Path, now: float) -> str:
    """When lines come in projects that have neither lines nor waiting facts: when the first of their sessions is expected to end."""
    names = {str(root) for root in roots}
    _, sessions = _read_rows(state_dir, now)
    rows = [row for row in sessions if row["project"] in names]
    times = [at for row in rows if (at := parse_utc(row.get("lines_about"))) is not None and at > now]
    if times:
        return f"lines come about {datetime.fromtimestamp(min(times)).strftime('%H:%M')}; {SYNC}"
    return f"lines come when a session ends: {END}"


def _read_waiting_rows(state_dir: Path, now: float) -> dict[str, Mapping[str, Any]]:
    """The rows of `waits` of learning in the status, by project; {} if the store cannot be read."""
    rows, _ = _read_rows(state_dir, now)
    return {str(row["project"]): row for row in rows if row["handler"] == "learning"}


def _read_rows(state_dir: Path, now: float) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of `waits` and of `sessions` of the status."""
    from tacitd.work.work_status import read_stored_waits

    try:
        return read_stored_waits(
            state_dir, now, "learning", lambda rows, _: {"waits": list(list_waits(rows))}
        )
    except TacitdError:
        return [], []


SHORT = 80
"""Characters of a rule in a line of the status."""
LISTED = 3
"""Maximum number of projects with a line each. If there are more, this many are named in one line."""
_UNHEEDED = """
SELECT p.root, l.text, l.corrected_since, l.kept_at FROM learning_line l LEFT JOIN project p ON p.number = l.project
WHERE l.state = 'present' AND l.corrected_since <> '[]'
"""


def report_status(rows: Rows, now: float) -> Mapping[str, Any]:
    """`today` and `total` (prompts, facts, lines), `projects` (by root the time of the first line), `waits`, `withheld`, `offers`,
    `refused`, `unheeded` (lines by root), `no_project` (prompts), and `lines` for a person. There are no lines before the first prompt."""
    midnight = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
    total, waiting = _count(rows, 0.0), list(list_waits(rows))
    part: dict[str, Any] = {
        "today": _count(rows, midnight),
        "total": total,
        "projects": {root: utc_seconds(at) for root, at in _list_projects(rows)},
        "waits": waiting,
        "withheld": _scalar(rows, "SELECT count(*) FROM learning_line WHERE state = 'withheld'"),
        "offers": len(rows(OFFERS, ENOUGH)),
        "refused": {
            "waits": _count_facts(rows, "review"),
            "refused": _count_facts(rows, "refused"),
        },
        "unheeded": _find_unheeded(rows),
        "no_project": _scalar(rows, "SELECT count(*) FROM prompt WHERE passed = 'no project'"),
    }
    is_quiet = not any(total.values()) and not waiting and not part["no_project"]
    return part | {"lines": [] if is_quiet else list(format_status_lines(part))}


def _count(rows: Rows, since: float) -> dict[str, int]:
    ((asked,),) = rows(
        "SELECT count(*) FROM prompt_task t JOIN prompt p ON p.number = t.prompt "
        "WHERE t.plugin = 'learning' AND t.state = 'done' AND p.typed >= ? AND p.kind <> 'bash' "
        "AND NOT (coalesce(p.text, '') GLOB '/*' AND instr(trim(p.text), ' ') = 0)",
        since,
    )
    ((facts,),) = rows(
        "SELECT count(*) FROM learning_fact WHERE said_at >= ? AND line IS NULL AND state NOT IN ('refused', 'review')",
        since,
    )
    ((lines,),) = rows("SELECT count(*) FROM learning_line WHERE written_at >= ? AND by = 'tacitd'", since)
    return {"asked": asked, "facts": facts, "lines": lines}


def _list_projects(rows: Rows) -> list[tuple[str, float]]:
    return [
        (root, at)
        for root, at in rows(
            "SELECT p.root, min(l.written_at) AS first FROM learning_line l JOIN project p ON p.number = l.project "
            "GROUP BY p.root ORDER BY first"
        )
    ]


def _count_facts(rows: Rows, state: str) -> int:
    """Texts that wait for a decision or were refused, each once."""
    return _scalar(
        rows,
        "SELECT count(DISTINCT coalesce(project, 0) || same) FROM learning_fact f WHERE state = ? AND NOT EXISTS("
        "SELECT 1 FROM learning_line l WHERE l.project IS f.project AND l.same = f.same AND l.state IN ('present', 'forgotten'))",
        state,
    )


def _find_unheeded(rows: Rows) -> dict[str, list[str]]:
    """Lines that were corrected twice since they were written, by root ("" for the person's), the most often corrected first."""
    found: dict[str, list[tuple[int, str]]] = {}
    for root, text, since, kept in rows(_UNHEEDED):
        times: list[float] = json.loads(since)
        if len(times) >= UNHEEDED and max(times) > (kept or 0.0):
            found.setdefault(root or "", []).append((-len(times), text))
    return {root: [text for _, text in sorted(lines)] for root, lines in found.items()}


def _scalar(rows: Rows, sql: str, *values: str) -> int:
    ((number,),) = rows(sql, *values)
    return int(number)


# --- lines for a person


def format_status_lines(part: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines for the status. A line that begins with `!` needs the person's attention."""
    for span in ("today", "total"):
        counts = part[span]
        yield f"{span}: {count_noun(counts['asked'], 'prompt')} put to the model, " + (
            f"{count_noun(counts['facts'], 'fact')}, {count_noun(counts['lines'], 'line')} written"
        )
    yield from _describe_projects(part["projects"])
    if number := part["withheld"]:
        yield f"{count_noun(number, 'line')} that you removed {_was(number)} learned again: `tacitd learned --withheld`"
    if number := part["offers"]:
        yield f"{count_noun(number, 'line')} {_was(number)} learned in three projects: `tacitd review` offers it for all"
    if number := part["refused"]["waits"]:
        wait = "waits" if number == 1 else "wait"
        yield f"! {count_noun(number, 'proposal')} of the model {wait} for your decision: `tacitd review`"
    if number := part["refused"]["refused"]:
        yield f"{count_noun(number, 'proposal')} of the model {_was(number)} refused: `tacitd learned --refused`"
    if number := part["no_project"]:
        yield f"{count_noun(number, 'prompt')} {_was(number)} left out: no project (`tacitd prompts` says where)"
    yield from _describe_unheeded(part["unheeded"])


def _was(number: int) -> str:
    return "was" if number == 1 else "were"


def _describe_unheeded(unheeded: Mapping[str, list[str]]) -> Iterator[str]:
    named = [(line, root) for root, lines in unheeded.items() for line in lines]
    if not named:
        return
    line, root = named[0]
    more = f" and {len(named) - 1} more" if len(named) > 1 else ""
    yield (
        f"! “{shorten_line(line, SHORT)}” in {root or 'all projects'}{more}: corrected at least twice since it was written. "
        "`tacitd review` asks about it, `tacitd learned --check ID` prints a hook that checks it"
    )


def _describe_projects(projects: Mapping[str, str]) -> Iterator[str]:
    """Where tacitd writes, given the UTC time of the first line by root: a line each, or one line if over LISTED."""
    from tacitd.clock import parse_utc

    if len(projects) > LISTED:
        first = ", ".join(list(projects)[:LISTED])
        yield f"writes in {len(projects)} projects: {first} and {len(projects) - LISTED} more"
        return
    for root, since in projects.items():
        at = parse_utc(since)
        yield f"writes in {root} since {since if at is None else local_minutes(at).replace('T', ' ')}"


NEWEST = 1000
"""Lines that are listed."""
_EVERY: tuple[LineState, ...] = ("present", "removed", "gone", "replaced", "withheld")
"""Without what is forgotten."""


def build_sections(rows: Rows, scope: ReportScope) -> Iterator[ReportSection]:
    """Yield what was learned, and whether it is heeded."""
    lines = [
        (place.root, line)
        for place in list_places(rows, scope.root)
        for line in read_lines(rows, place.number, _EVERY)
    ]
    yield build_learned(lines, scope)
    yield build_effects([one for one in lines if one[1].state == "present"], scope)


def build_learned(lines: list[tuple[Path | None, LineRow]], scope: ReportScope) -> ReportSection:
    """How many lines were written, by week, and the newest of those that are in the files now."""
    from tacitd.report.sections import ReportSection, ReportSeries, ReportTable, make_buckets

    buckets = make_buckets(scope.since, scope.now)
    written = [
        (line.written_at, 1.0)
        for _, line in lines
        if line.by == "tacitd" and scope.covers_time(line.written_at)
    ]
    there = [
        (root, line) for root, line in lines if line.state == "present" and scope.covers_time(line.written_at)
    ]
    there.sort(key=lambda one: (-one[1].written_at, one[1].number))
    table = ReportTable(
        "Lines", ("line", "file", "since", "said"), tuple(_describe_line(*one) for one in there[:NEWEST])
    )
    note = (
        "The chart counts every line that was written, also what was undone or removed since, but not what is forgotten. "
        "The table has those that are in the files now."
    )
    series = ReportSeries(f"Lines written by {buckets.unit}", buckets.count(written))
    return ReportSection("What was learned", (series, table), note)


def _describe_line(root: Path | None, line: LineRow) -> tuple[Cell, ...]:
    file = name_file(line.path, root)
    where = f"{root.name}/{file}" if root is not None else file
    return line.text, where, local_date(line.written_at), line.said


def build_effects(lines: list[tuple[Path | None, LineRow]], scope: ReportScope) -> ReportSection:
    """The corrections that came although a line was written."""
    from tacitd.report.sections import ReportSection, ReportSeries, ReportTable, make_buckets

    buckets = make_buckets(scope.since, scope.now)
    times = [(at, 1.0) for _, line in lines for at in line.corrected_since if scope.covers_time(at)]
    series = ReportSeries(f"Corrections of written rules by {buckets.unit}", buckets.count(times))
    unheeded = [one for one in lines if len(one[1].corrected_since) >= UNHEEDED]
    unheeded.sort(key=lambda one: -len(one[1].corrected_since))
    table = ReportTable(
        "Corrected again, still not heeded",
        ("rule", "project", "corrected since", "by month", "proposal"),
        tuple(
            (
                line.text,
                root.name if root is not None else "all projects",
                len(line.corrected_since),
                _format_months(line),
                PROPOSAL,
            )
            for root, line in unheeded
        ),
    )
    return ReportSection(
        "Does it help?",
        (series, table),
        "A correction counts if it says what the rule says already. Whether a rule without one helps is unknown.",
    )


def _format_months(line: LineRow) -> str:
    months = Counter(datetime.fromtimestamp(at).strftime("%Y-%m") for at in line.corrected_since)
    return ", ".join(f"{month}: {number}" for month, number in sorted(months.items()))
