"""The status document as lines for a person: problems first, then lag, what waits, what was learned, what it cost. Pure.

The lines fit on one screen; `-v` prints all of them. Times are local, with how long ago. How a line is wrapped and coloured
belongs in `terminal_text.py`. Nothing heavy is imported, because `status` must be instant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple

from tacitd.cli.parked_lines import parked_lines
from tacitd.clock import parse_utc
from tacitd.text.dollars import format_dollars
from tacitd.text.plurals import count_noun, pluralise_noun
from tacitd.work.work_status import describe_waiting

Kind = Literal["head", "problem", "hint", "good", "plain"]

SCREEN = 24
"""Lines of the shortest usual terminal."""
ROWS = 3
"""Rows of one kind that are printed without `-v`: handlers that lag, reasons of parked work, learned lines. Fewer if the
screen is too small for that; one problem more."""


class StatusLine(NamedTuple):
    """One line. `label` is "" if it continues the line before."""

    label: str
    text: str
    kind: Kind = "plain"

    @property
    def whole(self) -> str:
        """The line, aligned."""
        if self.kind == "head":
            return f"{self.label} {self.text}"
        if self.kind == "problem":
            return f"! {self.text}"
        return f"{self.label:<9} {self.text}"


def list_status_lines(document: Mapping[str, Any], now: float, *, verbose: bool = False) -> list[StatusLine]:
    """Given the status document and the time (seconds since 1970, UTC), return the lines.

    Without `verbose`, at most `SCREEN` lines with one left for the shell's prompt; the last one then says what is left out.
    Raises KeyError, TypeError or AttributeError for a document of another form.
    """
    if "version" not in document:
        what = "has not run here yet" if not document["degraded"] else "is not known"
        return [
            StatusLine("tacitd", "starts" if document["running"] else what, "head"),
            *_problem_lines(document, None),
        ]
    if verbose:
        return [*_list_own_lines(document, now, None), *_plugin_lines(document)]
    rows, shown = ROWS, _list_own_lines(document, now, ROWS)
    while len(shown) > SCREEN - 2 and rows > 1:
        rows -= 1
        shown = _list_own_lines(document, now, rows)
    extra = list(_plugin_lines(document))
    room = SCREEN - 2 - len(shown)
    if len(extra) > room + 1:
        left = len(extra) - room
        return [*shown, *extra[:room], _more(left, "line", label="more")]
    return shown + extra


def _list_own_lines(document: Mapping[str, Any], now: float, rows: int | None) -> list[StatusLine]:
    """All lines but those of plugins. `rows`: see `ROWS`; None: all."""
    shown = [_head_line(document, now), *_problem_lines(document, None if rows is None else rows + 1)]
    shown += [*_lag_lines(document, rows), *_wait_lines(document, rows), *_learned_lines(document, now, rows)]
    shown += [_spent_line(document, now), *_rejected_lines(document, rows)]
    return [*shown, *_watching_lines(document, verbose=rows is None)]


def _more(number: int, noun: str, *, label: str = "") -> StatusLine:
    """What is left out, and how to see it."""
    text = f"{number} more {pluralise_noun(number, noun)}: `tacitd status -v`" if not label else ""
    return StatusLine(label, text or f"{count_noun(number, noun)}: `tacitd status -v`", "hint")


def describe_past(at: float, now: float) -> str:
    """Given two times in seconds since 1970, return the first, local, with how long ago: `14:30 (2 h ago)`."""
    return (
        f"{describe_time(at, now)} ({describe_span(now - at)} ago)" if at <= now else describe_time(at, now)
    )


def describe_future(at: float, now: float) -> str:
    """The same for a time to come: `tomorrow 00:00 (in 9 h)`."""
    return f"{describe_time(at, now)} (in {describe_span(at - now)})" if at > now else describe_time(at, now)


def describe_time(at: float, now: float) -> str:
    """A local time: `14:30` today, `tomorrow 00:00`, `yesterday 23:10`, otherwise with its date."""
    try:
        when, today = datetime.fromtimestamp(at), datetime.fromtimestamp(now).date()
    except (ValueError, OverflowError, OSError):
        return "a time that cannot be shown"
    names = {today: "", today + timedelta(days=1): "tomorrow ", today - timedelta(days=1): "yesterday "}
    return f"{names.get(when.date(), f'{when:%Y-%m-%d} ')}{when:%H:%M}"


def describe_span(seconds: float) -> str:
    """A duration in one unit: `40 s`, `5 min`, `3 h`, `12 days`."""
    if seconds < 90:
        return f"{max(0, round(seconds))} s"
    if seconds < 90 * 60:
        return f"{round(seconds / 60)} min"
    if seconds < 36 * 3600:
        return f"{round(seconds / 3600)} h"
    return f"{round(seconds / 86400)} days"


def describe_bytes(size: int) -> str:
    """A size: `999 bytes`, `12 KB`, `3.4 MB`."""
    if size < 1000:
        return f"{size} {pluralise_noun(size, 'byte')}"
    return f"{size / 1000:.0f} KB" if size < 1_000_000 else f"{size / 1e6:.1f} MB"


def _head_line(document: Mapping[str, Any], now: float) -> StatusLine:
    at = parse_utc(document["since"] if document["running"] else document["as_of"]) or 0.0
    text = f"{document['version']}: {document['state']}"
    text += (
        f" since {describe_past(at, now)}" if document["running"] else f", last seen {describe_past(at, now)}"
    )
    return StatusLine("tacitd", text, "head")


def _problem_lines(document: Mapping[str, Any], rows: int | None) -> list[StatusLine]:
    """What needs a person, each with its cure: degradations, the plugins' lines with `!`, damaged lines."""
    found: list[list[StatusLine]] = []
    for one in document["degraded"]:
        hint = [StatusLine("", f"hint: {one['hint']}", "hint")] if one["hint"] else []
        found.append([StatusLine("!", str(one["what"]), "problem"), *hint])
    for part in document.get("slices", {}).values():
        marked = (str(text) for text in part.get("says", ()) if str(text).startswith("!"))
        found += [[StatusLine("!", text.removeprefix("!").strip(), "problem")] for text in marked]
    found += [
        [StatusLine("!", text, "problem")]
        for text in _damage_texts(document.get("watching", {}).get("lines", {}))
    ]
    shown = found[:rows]
    lines = [line for lines in shown for line in lines]
    if len(found) > len(shown):
        more = len(found) - len(shown)
        lines.append(
            StatusLine("!", f"{more} more {pluralise_noun(more, 'problem')}: `tacitd status -v`", "problem")
        )
    return lines


def _damage_texts(counts: Mapping[str, int]) -> Iterator[str]:
    """Counts of transcript lines that were not read as usual, since the start."""
    if number := counts.get("damaged", 0):
        salvaged = counts.get("salvaged", 0)
        yield f"{count_noun(number, 'damaged line')}; {count_noun(salvaged, 'complete record')} in them {_was(salvaged)} read"
    if number := counts.get("long", 0):
        yield f"{count_noun(number, 'line')} longer than 8 MB {_was(number)} skipped"
    if number := counts.get("failed", 0):
        yield f"{count_noun(number, 'line')} {_was(number)} skipped because a rule failed: the log names {_them(number)}"


def _was(number: int) -> str:
    return "was" if number == 1 else "were"


def _them(number: int) -> str:
    return "it" if number == 1 else "them"


def _lag_lines(document: Mapping[str, Any], rows: int | None) -> list[StatusLine]:
    """The lag: a line for each handler that has not handled everything yet, or `none`."""
    found: list[StatusLine] = []
    for name, one in document["handlers"].items():
        lag = one["lag"]
        if lag["transcripts"] or one["gathering"]:
            prompts, files = (
                count_noun(one.get("waiting", 0), "prompt"),
                count_noun(lag["transcripts"], "transcript"),
            )
            text = f"{name}: {prompts} in {files}, {describe_bytes(lag['bytes'])}"
            found.append(StatusLine("" if found else "lag", text))
    left = len(found) - len(found[:rows])
    return [*found[:rows], *([_more(left, "handler")] if left else [])] or [StatusLine("lag", "none")]


def _wait_lines(document: Mapping[str, Any], rows: int | None) -> Iterator[StatusLine]:
    """What is paused, parked (one line for each handler and reason), and what waits for a session's end."""
    paused = document["paused"]
    if len(paused) > 1 and rows is not None:
        yield StatusLine("paused", f"{_count_paused(paused)}: `tacitd status -v`")
    else:
        for one in paused:
            yield StatusLine("paused", f"{one['scope']} {one['name']}".rstrip())
    groups = list(parked_lines(document["parked"]))
    for text, hint in groups[:rows]:
        yield StatusLine("parked", text)
        if hint:
            yield StatusLine("", f"hint: {hint}", "hint")
    if left := len(groups) - len(groups[:rows]):
        yield _more(left, "reason")
    # Where no daemon runs, nothing writes the lines of open sessions at that time.
    sessions = document.get("sessions", ()) if document["running"] else ()
    waiting = list(describe_waiting(document.get("waits", ()), sessions))
    for text in waiting[:rows]:
        yield StatusLine("waits", text)
    if left := len(waiting) - len(waiting[:rows]):
        yield _more(left, "project")


def _count_paused(paused: Sequence[Mapping[str, Any]]) -> str:
    scopes = [str(one["scope"]) for one in paused]
    if "all" in scopes:
        return "everything"
    return ", ".join(count_noun(scopes.count(one), one) for one in dict.fromkeys(scopes))


def _learned_lines(document: Mapping[str, Any], now: float, rows: int | None) -> Iterator[StatusLine]:
    learned = document["learned"]
    yield StatusLine(
        "learned", f"{learned['today'] or 'nothing'} today", "good" if learned["today"] else "plain"
    )
    for one in learned["last"][:rows]:
        when = describe_time(parse_utc(one["at"]) or 0.0, now)
        yield StatusLine("", f"{when}  {str(one['line']).partition(': ')[2]}")


def _spent_line(document: Mapping[str, Any], now: float) -> StatusLine:
    budget = document["budget"]
    text = (
        f"today {format_dollars(budget['usd_today'])} of ${budget['usd_per_day']:.2f} in {budget['calls_today']} of "
        f"{count_noun(budget['calls_per_day'], 'call')}; this month {format_dollars(budget['usd_month'])} of ${budget['usd_per_month']:.2f}"
    )
    until = parse_utc(budget.get("until"))
    if until is not None:
        text += f"; {budget['reached']}, calls go on {describe_future(until, now)}"
    return StatusLine("spent", text)


def _rejected_lines(document: Mapping[str, Any], rows: int | None) -> Iterator[StatusLine]:
    letters, texts = document["dead_letters"], document["rescued"]
    if letters or texts:
        yield StatusLine(
            "rejected", f"{count_noun(letters, 'dead letter')}; {count_noun(texts, 'text')} kept"
        )
        for one in document["rescued_by_reason"][:2]:
            yield StatusLine("", f"{one['texts']} of {one['handler']}: {one['reason']}")
        yield StatusLine(
            "", "hint: `tacitd rescue` lists them, `tacitd rescue retry --all` tries them again", "hint"
        )


def _watching_lines(document: Mapping[str, Any], *, verbose: bool) -> Iterator[StatusLine]:
    watching, model = document["watching"], document["model"]
    files, projects = count_noun(watching["transcripts"], "transcript"), watching.get("projects", ())
    excluded = watching.get("excluded", 0)
    parts = [f"{files} below {watching['root']}", count_noun(len(projects), "project") + " since the start"]
    parts += [f"{excluded} excluded"] if excluded else []
    yield StatusLine("watching", ", ".join(parts))
    if not verbose:
        return
    for root in projects:
        yield StatusLine("", str(root))
    if model:
        where = model.get("program") or "not found"
        yield StatusLine("model", f"claude: {where}; {count_noun(model.get('children', 0), 'call')} running")
    unknown = sum(number for name, number in watching["lines"].items() if name.startswith("unknown "))
    if unknown:
        yield StatusLine(
            "",
            f"{count_noun(unknown, 'line')} of types, or with values, unknown to this version {_was(unknown)} skipped",
        )


def _plugin_lines(document: Mapping[str, Any]) -> Iterator[StatusLine]:
    """What the plugins say, without what needs a person: that is among the problems."""
    for name, part in document["slices"].items():
        texts = [str(text) for text in part.get("says", ()) if not str(text).startswith("!")]
        for number, text in enumerate(texts):
            yield StatusLine("" if number else str(name), text)
