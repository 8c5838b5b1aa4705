"""What `tacitd status --watch` shows: the status document and the newest activities as lines that fit a terminal. Pure.

The lines are cut and not wrapped, so that a line keeps its place while it changes. What does not fit below is left out from
the end, so the most important comes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tacitd.cli.parked_lines import parked_lines
from tacitd.cli.status_lines import (
    StatusLine,
    describe_bytes,
    describe_future,
    describe_span,
    describe_time,
)
from tacitd.cli.terminal_text import NARROW
from tacitd.clock import parse_utc
from tacitd.text.dollars import format_dollars
from tacitd.text.plurals import count_noun
from tacitd.work.waiting_lines import describe_waiting

BAR = 12
"""Characters of a bar."""
RECENT = 6
"""Activities that are shown."""


def list_watch_lines(
    document: Mapping[str, Any],
    recent: Sequence[Mapping[str, Any]],
    now: float,
    *,
    unicode: bool = True,
    bars: bool = True,
) -> list[StatusLine]:
    """Given the status document, the newest activities (oldest first) and the time, return the lines.

    `now`: seconds since 1970, UTC. `unicode`: whether the terminal can show a block; `bars`: whether it is wide enough. Raises KeyError, TypeError or
    AttributeError for a document of another form.
    """
    since = parse_utc(document["since"]) or now
    lines = [
        StatusLine(
            "tacitd", f"{document['version']}: {document['state']} for {describe_span(now - since)}", "head"
        )
    ]
    for one in document["degraded"]:
        lines.append(StatusLine("!", str(one["what"]), "problem"))
        if one["hint"]:
            lines.append(StatusLine("", f"hint: {one['hint']}", "hint"))
    lines += _handler_lines(document, now)
    lines += _call_lines(document, now)
    lines += _spend_lines(document, now, "" if not bars else "█" if unicode else "#")
    lines += _label_first("parked", (text for text, _ in parked_lines(document["parked"])))
    lines += _label_first("waits", describe_waiting(document["waits"], document["sessions"]))
    lines += _label_first("learned", _learned_texts(document, now), "good")
    shown = [f"{describe_time(parse_utc(one['at']) or 0.0, now)}  {one['line']}" for one in recent[-RECENT:]]
    return [*lines, *_label_first("latest", reversed(shown))]


def fit_lines(lines: Sequence[StatusLine], columns: int, rows: int) -> list[StatusLine]:
    """Given lines and the size of the terminal, return those that fit, each cut to the width, with a mark."""
    shown = list(lines)
    if len(shown) > rows:
        shown = [*shown[: max(1, rows - 1)], StatusLine("", f"{len(shown) - rows + 1} more", "hint")][:rows]
    return [StatusLine("", _cut_text(one, columns), one.kind) for one in shown]


def _cut_text(line: StatusLine, columns: int) -> str:
    whole = line.whole if columns >= NARROW else " ".join(line.whole.split())
    return whole if len(whole) <= columns else f"{whole[: max(0, columns - 3)]}..."[:columns]


def _label_first(label: str, texts: Iterable[str], kind: str = "plain") -> Iterator[StatusLine]:
    for number, text in enumerate(texts):
        yield StatusLine("" if number else label, text, kind if kind == "good" and not number else "plain")  # type: ignore[arg-type]


def _handler_lines(document: Mapping[str, Any], now: float) -> Iterator[StatusLine]:
    """One line for each handler: its lag, what it gathers and when that goes out, and what it does."""
    for number, (name, one) in enumerate(document["handlers"].items()):
        lag, parts = one["lag"], list[str]()
        if one["waiting"]:
            parts.append(count_noun(one["waiting"], "prompt"))
        goes_out = parse_utc(one.get("goes_out"))
        if goes_out is not None:
            parts.append(f"out in {describe_span(goes_out - now)}")
        if one["busy"]:
            parts.append(f"{one['busy']} running")
        if one["parked"]:
            parts.append(f"{one['parked']} parked")
        if lag["transcripts"]:
            parts.append(f"{count_noun(lag['transcripts'], 'transcript')}, {describe_bytes(lag['bytes'])}")
        yield StatusLine("" if number else "lag", f"{name:<11} {', '.join(parts) or 'none'}")


def _call_lines(document: Mapping[str, Any], now: float) -> Iterator[StatusLine]:
    calls = document.get("calls", ())
    if not calls:
        yield StatusLine("calls", "none running")
    for number, one in enumerate(calls):
        where = f" of {str(one['project']).rpartition('/')[2]}" if one["project"] else ""
        took = describe_span(now - (parse_utc(one["since"]) or now))
        yield StatusLine("" if number else "calls", f"{one['purpose']}{where}, for {took}", "good")


def _spend_lines(document: Mapping[str, Any], now: float, block: str) -> Iterator[StatusLine]:
    budget = document["budget"]
    rows = [
        ("today", budget["usd_today"], budget["usd_per_day"], "$"),
        ("calls", budget["calls_today"], budget["calls_per_day"], ""),
        ("month", budget["usd_month"], budget["usd_per_month"], "$"),
    ]
    for number, (name, spent, cap, unit) in enumerate(rows):
        share = min(1.0, spent / cap) if cap else 1.0
        bar = block * round(BAR * share) + "." * (BAR - round(BAR * share)) + " " if block else ""
        figures = f"{format_dollars(spent)} of ${cap:.2f}" if unit else f"{spent} of {cap}"
        yield StatusLine("" if number else "spent", f"{name:<6} {bar}{figures}")
    until = parse_utc(budget.get("until"))
    if until is not None:
        yield StatusLine("", f"{budget['reached']}, calls go on {describe_future(until, now)}", "hint")


def _learned_texts(document: Mapping[str, Any], now: float) -> Iterator[str]:
    learned = document["learned"]
    yield f"{learned['today'] or 'nothing'} today"
    for one in learned["last"]:
        yield f"{describe_time(parse_utc(one['at']) or 0.0, now)}  {str(one['line']).partition(': ')[2]}"
