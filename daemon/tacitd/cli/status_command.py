"""`tacitd status`: the status document as lines for a person, or as JSON. It is read from the store; the
daemon is only asked whether it answers."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple

import click

from tacitd.cli.common import echo_json, echo_message, echo_text, get_paths, json_option, ping_daemon
from tacitd.clock import parse_utc
from tacitd.control.client import BusyError, call_daemon
from tacitd.errors import UNAVAILABLE, UnavailableError, UsageError
from tacitd.files.locks import find_holder
from tacitd.handler import Degradation
from tacitd.plugins import find_declarations
from tacitd.state.paths import Paths, find_file_in_the_way, find_silent_daemon
from tacitd.status import read_stored_status
from tacitd.text.sanitize import escape_output
from tacitd.text.wording import count_noun, format_age, format_dollars
from tacitd.work.work_status import describe_waiting, local_time

PING = 0.3
"""Seconds within which a daemon that is well answers."""
GONE_HINT = (
    "the daemon makes it again within seconds of its directory being there; `tacitd stop` works meanwhile"
)
EVERY = 1.0
"""Seconds between two looks of `--watch`."""
ERASE_SCREEN, TOP, ERASE_LINE, ERASE_REST = "\x1b[2J", "\x1b[H", "\x1b[K", "\x1b[J"
"""Control sequences: erase all, go to the first line, erase to the end of the line, erase what is below."""


@click.command(
    epilog="\b\nExample: tacitd status --watch\nExample: tacitd status --json | jq .budget",
)
@click.option(
    "-v", "--verbose", is_flag=True, help="Print everything: all projects, and all lines of plugins."
)
@json_option("Print the whole document; docs/socket.md describes it.")
@click.option("--watch", is_flag=True, help="Keep it on the terminal, up to date, until Ctrl-C.")
def status(verbose: bool, as_json: bool, watch: bool) -> int:
    """Show what is wrong, what tacitd does and waits for, what it learned today, and what that cost, on one screen.

    It is read from the store, so it is the same if no daemon runs or it does not answer; then it ends with 69.
    """
    if watch:
        _watch_status(as_json=as_json, verbose=verbose)
        return 0
    places = get_paths()
    document, silent = _read_status(places)
    in_the_way = None if document["running"] else find_file_in_the_way(places.state_dir)
    if as_json:
        echo_json(document)
    elif in_the_way is None:
        for text in _layout_status(list_status_lines(document, time.time(), verbose=verbose)):
            echo_text(text)
    if document["running"]:
        return 0
    if in_the_way is not None:
        echo_message(f"no daemon runs; {in_the_way} is a file where a directory belongs: move it away")
    elif silent is not None:
        process = f" (process {document['pid']})" if document["pid"] else ""
        echo_message(f"{silent.what}{process}; this is what the store says", silent.hint)
    else:
        echo_message("no daemon runs; `tacitd run` starts one")
    return UNAVAILABLE


def _read_status(places: Paths) -> tuple[dict[str, Any], BusyError | None]:
    """The document, and the error if a daemon runs that does not answer."""
    pid, problem, silent = None, None, None
    try:
        answer = ping_daemon(places, PING, PING)
        pid, problem = answer["pid"], answer.get("problem")
    except BusyError as error:
        silent = error
    except UnavailableError:
        silent = find_gone_socket(places)
    plugins, told = find_declarations().plugins, Degradation(**problem) if problem else None
    document = read_stored_status(places.state_dir, plugins, time.time(), pid, told)
    if silent is not None:
        document |= {"state": "no answer", "pid": find_holder(places.state_dir / "lock")}
    return document, silent


def find_gone_socket(places: Paths) -> BusyError | None:
    """The error for a daemon that runs without its socket; None if none does."""
    if find_silent_daemon(places.state_dir) is None:
        return None
    return BusyError(f"a daemon runs, but {places.socket} is gone", GONE_HINT)


def call_running_daemon(places: Paths, method: str, timeout: float = 10.0) -> Any:
    """Call a method of the daemon. Raises UnavailableError, which says whether none runs or only its socket is gone."""
    try:
        return call_daemon(places.socket, method, timeout=timeout)
    except BusyError:
        raise
    except UnavailableError as error:
        raise find_gone_socket(places) or error from None


def _layout_status(lines: Iterable[StatusLine]) -> Iterator[str]:
    if not sys.stdout.isatty():
        return layout_lines(lines, None, colours=False)
    from shutil import get_terminal_size  # it imports three compressions

    dull = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"  # no-color.org
    return layout_lines(lines, get_terminal_size().columns, colours=not dull)


def _watch_status(*, as_json: bool, verbose: bool) -> None:
    """Print the status once a second until Ctrl-C. Raises UsageError without a terminal, where it would print without end, and on one
    that cannot go back."""
    if as_json or not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        raise UsageError(
            "--watch needs a terminal", "`tacitd log -f --json` prints what happens, for programs"
        )
    from shutil import get_terminal_size

    places = get_paths()
    with suppress(KeyboardInterrupt):
        echo_text(ERASE_SCREEN, nl=False)
        while True:
            document, silent = _read_status(places)
            problem = silent.what if silent is not None else "no daemon runs; waiting for one"
            shown = [] if document["running"] else [StatusLine("!", problem, "problem")]
            shown += list_status_lines(document, time.time(), verbose=verbose)
            texts = list(_layout_status(shown))[: get_terminal_size().lines - 1]
            echo_text("".join([TOP, *(text + ERASE_LINE + "\n" for text in texts), ERASE_REST]), nl=False)
            time.sleep(EVERY)


# --- the lines of the document; pure


Kind = Literal["head", "problem", "hint", "plain"]

SCREEN = 24
"""Lines of the shortest usual terminal."""
COLOURS: Mapping[Kind, str] = {
    "head": "\x1b[1m",
    "problem": "\x1b[31m\x1b[1m",
    "hint": "\x1b[33m",
    "plain": "",
}


class StatusLine(NamedTuple):
    """One line. `label` is "" if it continues the line before."""

    label: str
    text: str
    kind: Kind = "plain"

    @property
    def whole(self) -> str:
        """The line, aligned."""
        if self.kind in ("head", "problem"):
            return f"{self.label} {self.text}"
        return f"{self.label:<9} {self.text}"


Lines = Iterator[StatusLine]
Cured = tuple[str, str]
"""A text, and the hint that helps; "" for none."""


def list_status_lines(document: Mapping[str, Any], now: float, *, verbose: bool = False) -> list[StatusLine]:
    """Given the status document and the time (seconds since 1970, UTC), return the lines.

    Without `verbose`, at most `SCREEN` lines with one left for the shell's prompt: of each kind as many rows
    as fit, three at most. Raises KeyError, TypeError or AttributeError for a document of another form.
    """
    shown: list[StatusLine] = []
    for rows in (None,) if verbose else (3, 2, 1):
        shown = list(_list_lines(document, now, rows))
        if len(shown) < SCREEN:
            break
    if verbose or len(shown) < SCREEN:
        return shown
    most = SCREEN - 2
    return [*shown[:most], StatusLine("more", f"{len(shown) - most} lines: `tacitd status -v`", "hint")]


def _list_lines(document: Mapping[str, Any], now: float, rows: int | None) -> Lines:
    """`rows`: how many of each kind are listed, and one problem more; None for all."""
    problems = _list_problems(document)
    if "version" not in document:
        what = "has not run here yet" if not document["degraded"] else "has a store that cannot be read"
        yield StatusLine("tacitd", "starts" if document["running"] else what, "head")
        yield from _list_rows("!", problems, None)
        return
    yield _make_head(document, now)
    yield from _list_rows("!", problems, None if rows is None else rows + 1)
    lags = [
        (f"{name}: {count_noun(one.get('waiting', 0), 'prompt')} in {count_noun(number, 'transcript')}", "")
        for name, one in document["handlers"].items()
        if (number := one["lag"]["transcripts"])
    ]
    yield from _list_rows("lag", lags or [("none", "")], rows)
    yield from _list_rows(
        "paused", [(f"{p['scope']} {p['name']}".rstrip(), "") for p in document["paused"]], rows
    )
    yield from _list_rows("parked", parked_lines(document["parked"]), rows)
    # Where no daemon runs, nothing writes the lines of open sessions at that time.
    sessions = document.get("sessions", ()) if document["running"] else ()
    waits = describe_waiting(document.get("waits", ()), sessions)
    yield from _list_rows("waits", [(text, "") for text in waits], rows)
    learned = document["learned"]
    yield StatusLine("learned", f"{learned['today'] or 'nothing'} today")
    for one in learned["last"][:rows]:
        when = describe_time(parse_utc(one["at"]) or 0.0, now)
        yield StatusLine("", f"{when}  {str(one['line']).partition(': ')[2]}")
    yield _make_spending(document["budget"], now)
    if document["rescued"]:
        yield StatusLine("rejected", count_noun(document["rescued"], "prompt"))
        for one in document["rescued_by_reason"][:2]:
            yield StatusLine("", f"{one['texts']} of {one['handler']}: {one['reason']}")
        hint = "hint: `tacitd rescue` lists them, `tacitd rescue retry --all` tries them again"
        yield StatusLine("", hint, "hint")
    yield from _list_watching(document, verbose=rows is None)
    for name, part in document["slices"].items():
        texts = [str(text) for text in part.get("says", ()) if not str(text).startswith("!")]
        yield from _list_rows(str(name), [(text, "") for text in texts], None)


def _list_rows(label: str, found: Iterable[Cured], rows: int | None) -> Lines:
    """The first `rows` with their hints, and how many more there are."""
    every = list(found)
    for number, (text, hint) in enumerate(every[:rows]):
        yield StatusLine("!", text, "problem") if label == "!" else StatusLine("" if number else label, text)
        if hint:
            yield StatusLine("", f"hint: {hint}", "hint")
    if left := len(every[rows:]) if rows is not None else 0:
        yield StatusLine("", f"{left} more: `tacitd status -v`", "hint")


def describe_time(at: float, now: float) -> str:
    """A local time: `14:30` today, `tomorrow 00:00`, `yesterday 23:10`, otherwise with its date."""
    try:
        when, today = datetime.fromtimestamp(at), datetime.fromtimestamp(now).date()
    except (ValueError, OverflowError, OSError):
        return "a time that cannot be shown"
    names = {today: "", today + timedelta(days=1): "tomorrow ", today - timedelta(days=1): "yesterday "}
    return f"{names.get(when.date(), f'{when:%Y-%m-%d} ')}{when:%H:%M}"


def _make_head(document: Mapping[str, Any], now: float) -> StatusLine:
    at = parse_utc(document["since"] if document["running"] else document["as_of"]) or 0.0
    age = format_age(now - at)
    when = f"{describe_time(at, now)} ({age})" if age else describe_time(at, now)
    if document["running"]:  # `since` is its start, also if it was paused later
        paused = ", paused" if document["state"] == "paused" else ""
        return StatusLine("tacitd", f"{document['version']}: running since {when}{paused}", "head")
    return StatusLine("tacitd", f"{document['version']}: {document['state']}, last seen {when}", "head")


def _list_problems(document: Mapping[str, Any]) -> Iterator[Cured]:
    """What needs a person, each once, with its cure: degradations, the plugins' lines with `!`, damaged lines."""
    yield from {str(one["what"]): str(one["hint"]) for one in document["degraded"]}.items()
    for part in document.get("slices", {}).values():
        for text in map(str, part.get("says", ())):
            if text.startswith("!"):
                yield text.removeprefix("!").strip(), ""
    counts = document.get("watching", {}).get("lines", {})
    for name, what in (
        ("damaged", f"with damage; complete records read in them: {counts.get('salvaged', 0)}"),
        ("long", "longer than 8 MB skipped"),
        ("failed", "skipped because a rule failed: see the log"),
    ):
        if number := counts.get(name, 0):
            yield f"{count_noun(number, 'line')} {what}", ""


def parked_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[Cured]:
    """Given the rows of `parked` in the status document, yield (line, hint) for each reason, with the
    earliest time that one waits for."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["reason"], row["hint"]), []).append(row)
    for (reason, hint), group in groups.items():
        names = ", ".join(dict.fromkeys(str(row["handler"]) for row in group))
        first, *more = dict.fromkeys(str(row["what"]) for row in group)
        times = [at for row in group if (at := parse_utc(row.get("not_before"))) is not None]
        until = f", until {local_time(min(times))}" if times else ""
        yield f"{names}: {f'{len(more) + 1} work items' if more else first}: {reason}{until}", hint


def find_reasons(degraded: Iterable[Mapping[str, Any]], projects: Iterable[str]) -> Iterator[Cured]:
    """Given the rows of `degraded` in the status document, yield (what, hint) of those that name a file or directory of these
    projects. `projects`: roots."""
    named = [re.compile(rf"(?<![^\s('\"]){re.escape(root)}(?![^\s/:,;)'\"])") for root in projects]
    for what, hint in {str(row["what"]): str(row["hint"]) for row in degraded}.items():
        if any(one.search(what) for one in named):
            yield what, hint


def _make_spending(budget: Mapping[str, Any], now: float) -> StatusLine:
    text = (
        f"today {format_dollars(budget['usd_today'])} of ${budget['usd_per_day']:.2f} in {budget['calls_today']} of "
        f"{count_noun(budget['calls_per_day'], 'call')}; this month {format_dollars(budget['usd_month'])} of ${budget['usd_per_month']:.2f}"
    )
    until = parse_utc(budget.get("until"))
    if until is not None:
        text += f"; {budget['reached']}, calls go on {describe_time(until, now)}"
    return StatusLine("spent", text)


def _list_watching(document: Mapping[str, Any], *, verbose: bool) -> Lines:
    watching, model = document["watching"], document["model"]
    projects = watching.get("projects", ())
    sources = watching.get("sources", {})
    named = [f"{number} of {name}" for name, number in sources.items()] if len(sources) > 1 else []
    where = f": {', '.join(named)}" if named else f" below {watching['root']}"
    parts = [
        count_noun(watching["transcripts"], "transcript") + where,
        f"{count_noun(len(projects), 'project')} since the start",
    ]
    parts += [f"{watching['excluded']} excluded"] if watching.get("excluded") else []
    yield StatusLine("watching", ", ".join(parts))
    if not verbose:
        return
    for root in projects:
        yield StatusLine("", str(root))
    if model:
        program = model.get("program") or "not found"
        yield StatusLine(
            "model", f"claude: {program}; {count_noun(model.get('children', 0), 'call')} running"
        )
    if unknown := sum(number for name, number in watching["lines"].items() if name.startswith("unknown ")):
        yield StatusLine(
            "", f"{count_noun(unknown, 'line')} with types or values unknown to this version skipped"
        )


def layout_lines(lines: Iterable[StatusLine], width: int | None, *, colours: bool) -> Iterator[str]:
    """Yield the lines as text. `width`: columns to which they are wrapped, below their text; None: they are
    not."""
    for line in lines:
        whole = escape_output(line.whole)
        parts = [whole]
        if width is not None:
            from textwrap import wrap

            indent = " " * 10 if line.kind in ("plain", "hint") and width > 40 else "  "
            size = max(10, width - 1)  # the last column would make some terminals begin a new line
            parts = wrap(whole, size, subsequent_indent=indent, break_on_hyphens=False)
        for text in parts:
            yield f"{COLOURS[line.kind]}{text}\x1b[0m" if colours and COLOURS[line.kind] else text
