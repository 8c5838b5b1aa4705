"""Learning's part of `tacitd status`, when facts that wait are written, and its sections of `tacitd report`: SELECTs over its rows.

When facts are written is in what the daemon told last; a fact that it does not name waits for the end of its session.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacitd.clock import local_date, parse_utc, utc_seconds
from tacitd.text.wording import count_noun, shorten_line
from tacitd_handlers.learning import UNHEEDED
from tacitd_handlers.learning.learned_rows import LineState, read_lines
from tacitd_handlers.learning.line_queries import ENOUGH, OFFERS, PROPOSAL, list_places, name_file

if TYPE_CHECKING:
    from tacitd.contract import Rows
    from tacitd.report.sections import ReportScope, ReportSection

SYNC = "`tacitd sync --write` does it now"
END = "two minutes after its client has ended, or after `session.idle` without work"
SHORT = 80
NEWEST = 1000
_EVERY: tuple[LineState, ...] = ("present", "removed", "gone", "replaced", "withheld")
"""Without what is forgotten."""


# --- what waits


def list_waits(rows: Rows) -> Iterator[dict[str, str]]:
    """What waits for a synthesis: see `waits` of the status document. Facts of an excluded project wait for the person."""
    waiting = rows(
        "SELECT p.root, count(*), EXISTS(SELECT 1 FROM choice WHERE scope = 'project' AND what = 'exclude' AND name = p.root) "
        "FROM learning_fact f JOIN project p ON p.number = coalesce(f.project, f.heard_in) "
        "WHERE f.state = 'waiting' GROUP BY p.root ORDER BY p.number"
    )
    for root, number, is_off in waiting:
        until = f"`tacitd exclude --undo {root}`" if is_off else "its session ends"
        what = count_noun(number, "fact")
        yield {"project": root, "what": what, "until": until, "job": "" if is_off else "synthesize"}


def describe_waiting_facts(rows: Rows, roots: Iterable[Path], state_dir: Path, now: float) -> Iterator[str]:
    """A line for each project with waiting facts: `1 fact waits, written about 21:39; …`. Times are local."""
    numbers = {one["project"]: one["what"] for one in list_waits(rows)}
    for root in roots:
        if what := numbers.get(str(root)):
            verb = "waits" if what.startswith("1 ") else "wait"
            yield f"{what} {verb}, {describe_writing(root, state_dir, now)}"


def describe_writing(root: Path | None, state_dir: Path, now: float) -> str:
    """When the waiting facts of a project are written, and the command that does it now."""
    rows, _ = _read_rows(state_dir, now)
    named = (one for one in rows if one["handler"] == "learning" and one["project"] == str(root))
    row = next(named, {"job": "synthesize"})
    until, at = row.get("until") or "its session ends", parse_utc(row.get("at"))
    if not row["job"]:
        return f"not written before {until}"
    when = f"about {_clock_time(at)}" if at is not None and at > now else f"when {until}"
    return f"written {when}; {SYNC}"


def describe_first_lines(roots: Iterable[Path], state_dir: Path, now: float) -> str:
    """When lines come in projects that have neither lines nor waiting facts: when the first of their sessions is expected to end."""
    names = {str(root) for root in roots}
    ends = (
        parse_utc(row.get("lines_about")) for row in _read_rows(state_dir, now)[1] if row["project"] in names
    )
    times = [at for at in ends if at is not None and at > now]
    return (
        f"lines come about {_clock_time(min(times))}; {SYNC}"
        if times
        else f"lines come when a session ends: {END}"
    )


def _clock_time(at: float) -> str:
    return datetime.fromtimestamp(at).strftime("%H:%M")


def _read_rows(state_dir: Path, now: float) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of `waits` and of `sessions` of the status; none if the store cannot be read."""
    from tacitd.plugin import PluginSpec
    from tacitd.status import read_stored_status

    spec = PluginSpec("learning", status=f"{__name__}:report_status")
    document = read_stored_status(state_dir, [spec], now)
    return document.get("waits", []), document.get("sessions", [])


# --- the status


def report_status(rows: Rows, now: float) -> Mapping[str, Any]:
    """`today` and `total` (prompts, facts, lines), `projects` (by root the time of the first line, without excluded ones), `waits`,
    `withheld`, `offers`, `refused`, `unheeded` (lines by root), `no_project` (prompts), and `lines` for a person. There are no lines
    before the first prompt."""
    midnight = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
    first = rows(
        "SELECT p.root, min(l.written_at) AS first FROM learning_line l JOIN project p ON p.number = l.project "
        "WHERE p.root NOT IN (SELECT name FROM choice WHERE scope = 'project' AND what = 'exclude') "
        "GROUP BY p.root ORDER BY first"
    )
    ((withheld, no_project),) = rows(
        "SELECT (SELECT count(*) FROM learning_line WHERE state = 'withheld'), "
        "(SELECT count(*) FROM prompt WHERE passed = 'no project')"
    )
    part: dict[str, Any] = {
        "today": _count(rows, midnight),
        "total": _count(rows, 0.0),
        "projects": {root: utc_seconds(at) for root, at in first},
        "waits": list(list_waits(rows)),
        "withheld": withheld,
        "offers": len(rows(OFFERS, ENOUGH)),
        "refused": {"waits": _count_facts(rows, "review"), "refused": _count_facts(rows, "refused")},
        "unheeded": _find_unheeded(rows),
        "no_project": no_project,
    }
    is_quiet = not any(part["total"].values()) and not part["waits"] and not no_project
    return part | {"lines": [] if is_quiet else list(_format_lines(part))}


def _count(rows: Rows, since: float) -> dict[str, int]:
    ((asked, facts, lines),) = rows(
        "SELECT (SELECT count(*) FROM prompt_task t JOIN prompt p ON p.number = t.prompt LEFT JOIN prompt_text w ON w.prompt = p.number "
        "WHERE t.plugin = 'learning' AND t.state = 'done' AND p.typed >= ?1 AND p.kind <> 'bash' "
        "AND NOT (coalesce(w.text, '') GLOB '/*' AND instr(trim(w.text), ' ') = 0)), "
        "(SELECT count(*) FROM learning_fact WHERE said_at >= ?1 AND line IS NULL AND state NOT IN ('refused', 'review')), "
        "(SELECT count(*) FROM learning_line WHERE written_at >= ?1 AND by = 'tacitd')",
        since,
    )
    return {"asked": asked, "facts": facts, "lines": lines}


def _count_facts(rows: Rows, state: str) -> int:
    ((number,),) = rows(
        "SELECT count(DISTINCT coalesce(project, 0) || same) FROM learning_fact f WHERE state = ? AND NOT EXISTS("
        "SELECT 1 FROM learning_line l WHERE l.project IS f.project AND l.same = f.same AND l.state IN ('present', 'forgotten'))",
        state,
    )
    return int(number)


def _find_unheeded(rows: Rows) -> dict[str, list[str]]:
    """Lines that were corrected twice since they were written, by root ("" for the person's), the most often corrected first."""
    found: dict[str, list[str]] = {}
    for root, text in rows(
        "SELECT coalesce(p.root, ''), l.text FROM learning_line l LEFT JOIN project p ON p.number = l.project "
        "WHERE l.state = 'present' AND json_array_length(l.corrected_since) >= ? "
        "AND json_extract(l.corrected_since, '$[#-1]') > coalesce(l.kept_at, 0) "
        "ORDER BY json_array_length(l.corrected_since) DESC, l.text",
        UNHEEDED,
    ):
        found.setdefault(root, []).append(text)
    return found


def _format_lines(part: Mapping[str, Any]) -> Iterator[str]:
    for span in ("today", "total"):
        counts = part[span]
        yield f"{span}: {count_noun(counts['asked'], 'prompt')} put to the model, " + (
            f"{count_noun(counts['facts'], 'fact')}, {count_noun(counts['lines'], 'line')} written"
        )
    if part["projects"]:
        yield f"writes in {shorten_line(', '.join(part['projects']), 300)}"
    for what, number in (
        ("lines that you removed and that were learned again (`tacitd review`)", part["withheld"]),
        ("lines learned in three projects (`tacitd review` offers them for all)", part["offers"]),
        ("! proposals of the model that wait for your decision (`tacitd review`)", part["refused"]["waits"]),
        ("refused proposals of the model (`tacitd review`)", part["refused"]["refused"]),
        ("prompts left out: no project (`tacitd prompts` says where)", part["no_project"]),
    ):
        if number:
            yield f"{what}: {number:,}"
    for root, lines in part["unheeded"].items():
        for line in lines:
            yield (
                f"! “{shorten_line(line, SHORT)}” in {root or 'all projects'}: corrected at least twice since it was written. "
                "`tacitd review` asks about it, `tacitd learned --check ID` prints a hook that checks it"
            )


# --- the report


def build_sections(rows: Rows, scope: ReportScope) -> Iterator[ReportSection]:
    """Yield what was learned: lines by week, and the newest of those in the files now; and the corrections that came although a line
    was written."""
    from tacitd.report.sections import ReportSection, ReportSeries, ReportTable

    lines = [
        (place.root, line)
        for place in list_places(rows, scope.root)
        for line in read_lines(rows, place.number, _EVERY)
    ]
    there = [one for one in lines if one[1].state == "present"]
    written = [line.written_at for _, line in lines if line.by == "tacitd"]
    again = [at for _, line in there for at in line.corrected_since]
    table = []
    for root, line in sorted(there, key=lambda one: (-one[1].written_at, one[1].number)):
        if scope.covers_time(line.written_at):
            file = name_file(line.path, root)
            where = f"{root.name}/{file}" if root is not None else file
            table.append((line.text, where, local_date(line.written_at), line.said))
    series = scope.count_by_week((at, 1.0) for at in written if scope.covers_time(at))
    yield ReportSection(
        "What was learned",
        (
            ReportSeries("Lines written by week", series),
            ReportTable("Lines", ("line", "file", "since", "said"), tuple(table[:NEWEST])),
        ),
        "The chart counts every line that was written, also what was undone or removed since, but not what is forgotten. "
        "The table has those that are in the files now.",
    )
    unheeded = []
    for root, line in sorted(there, key=lambda one: -len(one[1].corrected_since)):
        times = line.corrected_since
        if len(times) >= UNHEEDED:
            unheeded.append((line.text, root.name if root is not None else "all projects", len(times)))
    columns = ("rule", "project", "corrected since")
    series = scope.count_by_week((at, 1.0) for at in again if scope.covers_time(at))
    yield ReportSection(
        "Does it help?",
        (
            ReportSeries("Corrections of written rules by week", series),
            ReportTable("Corrected again, still not heeded", columns, tuple(unheeded)),
        ),
        "A correction counts if it says what the rule says already. Whether a rule without one helps is unknown. "
        f"A rule that is not heeded: {PROPOSAL}.",
    )
