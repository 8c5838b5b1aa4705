"""`tacitd status`: the status document as lines for a person, or as JSON.

The document is read from the store; the daemon is only asked whether it answers.
"""

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

from tacitd.cli.common import echo_json, echo_message, echo_text, get_paths, json_option, measure_columns
from tacitd.clock import parse_utc
from tacitd.control.client import BusyError, call_daemon
from tacitd.errors import UNAVAILABLE, UnavailableError, UsageError
from tacitd.files.locks import find_holder
from tacitd.handler import Degradation
from tacitd.plugins import find_declarations
from tacitd.state.paths import Paths, find_file_in_the_way, read_socket_file
from tacitd.status import read_stored_status
from tacitd.text.sanitize import escape_output
from tacitd.text.wording import count_noun, format_age, format_dollars, pluralise_noun
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
    if in_the_way is not None:
        echo_message(f"no daemon runs; {in_the_way} is a file where a directory belongs: move it away")
        return UNAVAILABLE
    if silent is not None:
        process = f" (process {document['pid']})" if document["pid"] else ""
        echo_message(f"{silent.what}{process}; this is what the store says", silent.hint)
        return UNAVAILABLE
    if not document["running"]:
        echo_message("no daemon runs; `tacitd run` starts one")
        return UNAVAILABLE
    return 0


def _read_status(places: Paths) -> tuple[dict[str, Any], BusyError | None]:
    """The document, and the error if a daemon runs that does not answer."""
    pid, problem, silent = None, None, None
    try:
        answer = call_daemon(places.socket, "ping", timeout=PING)
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


def find_silent_daemon(places: Paths) -> int | None:
    """The id of a daemon whose socket was removed: the process that holds the lock, which a command may do too, if it has listened."""
    pid = find_holder(places.state_dir / "lock")
    return pid if str(pid) == read_socket_file(places.state_dir)[1] else None


def find_gone_socket(places: Paths) -> BusyError | None:
    """The error for a daemon that runs without its socket; None if none does."""
    if find_silent_daemon(places) is None:
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
    columns = measure_columns()
    dull = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"  # no-color.org
    return layout_lines(lines, columns, colours=columns is not None and not dull)


def _watch_status(*, as_json: bool, verbose: bool) -> None:
    """Print the status once a second until Ctrl-C. Raises UsageError without a terminal, where it would print without end."""
    if as_json or not sys.stdout.isatty():
        raise UsageError(
            "--watch needs a terminal", "`tacitd log -f --json` prints what happens, for programs"
        )
    from shutil import get_terminal_size  # it imports three compressions

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


def format_status(document: Mapping[str, Any]) -> Iterator[str]:
    """Given the status document, yield the lines that `status` prints in a pipe."""
    for line in list_status_lines(document, time.time()):
        yield line.whole


# --- the lines of the document; pure


Kind = Literal["head", "problem", "hint", "good", "plain"]

SCREEN = 24
"""Lines of the shortest usual terminal."""
ROWS = 3
"""Rows of one kind that are printed without `-v`: handlers that lag, reasons of parked work, learned lines. Fewer if the
screen is too small for that; one problem more."""
NARROW, NARROWEST = 40, 10
"""Columns below which the texts are not aligned, and to which they are wrapped at least."""
COLOURS: Mapping[Kind, str] = {
    "head": "\x1b[1m",
    "problem": "\x1b[31m\x1b[1m",
    "hint": "\x1b[33m",
    "good": "\x1b[32m",
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


def describe_time(at: float, now: float) -> str:
    """A local time: `14:30` today, `tomorrow 00:00`, `yesterday 23:10`, otherwise with its date."""
    try:
        when, today = datetime.fromtimestamp(at), datetime.fromtimestamp(now).date()
    except (ValueError, OverflowError, OSError):
        return "a time that cannot be shown"
    names = {today: "", today + timedelta(days=1): "tomorrow ", today - timedelta(days=1): "yesterday "}
    return f"{names.get(when.date(), f'{when:%Y-%m-%d} ')}{when:%H:%M}"


def describe_bytes(size: int) -> str:
    """A size: `999 bytes`, `12 KB`, `3.4 MB`."""
    if size < 1000:
        return f"{size} {pluralise_noun(size, 'byte')}"
    return f"{size / 1000:.0f} KB" if size < 1_000_000 else f"{size / 1e6:.1f} MB"


def _head_line(document: Mapping[str, Any], now: float) -> StatusLine:
    at = parse_utc(document["since"] if document["running"] else document["as_of"]) or 0.0
    age = format_age(now - at)
    when = f"{describe_time(at, now)} ({age})" if age else describe_time(at, now)
    if document["running"]:  # `since` is its start, also if it was paused later
        paused = ", paused" if document["state"] == "paused" else ""
        return StatusLine("tacitd", f"{document['version']}: running since {when}{paused}", "head")
    return StatusLine("tacitd", f"{document['version']}: {document['state']}, last seen {when}", "head")


def _problem_lines(document: Mapping[str, Any], rows: int | None) -> Iterator[StatusLine]:
    """What needs a person, each with its cure: degradations, the plugins' lines with `!`, damaged lines."""
    said = [text for part in document.get("slices", {}).values() for text in map(str, part.get("says", ()))]
    found = [(str(one["what"]), str(one["hint"])) for one in document["degraded"]]
    found += [(text.removeprefix("!").strip(), "") for text in said if text.startswith("!")]
    found += [(text, "") for text in _damage_texts(document.get("watching", {}).get("lines", {}))]
    for what, hint in found[:rows]:
        yield StatusLine("!", what, "problem")
        if hint:
            yield StatusLine("", f"hint: {hint}", "hint")
    if left := len(found[len(found[:rows]) :]):
        text = f"{left} more {pluralise_noun(left, 'problem')}: `tacitd status -v`"
        yield StatusLine("!", text, "problem")


def _damage_texts(counts: Mapping[str, int]) -> Iterator[str]:
    """Counts of transcript lines that were not read as usual, since the start."""
    if number := counts.get("damaged", 0):
        salvaged = counts.get("salvaged", 0)
        yield f"{count_noun(number, 'damaged line')}; {count_noun(salvaged, 'complete record')} in them {_was(salvaged)} read"
    if number := counts.get("long", 0):
        yield f"{count_noun(number, 'line')} longer than 8 MB {_was(number)} skipped"
    if number := counts.get("failed", 0):
        names = f"the log names {'it' if number == 1 else 'them'}"
        yield f"{count_noun(number, 'line')} {_was(number)} skipped because a rule failed: {names}"


def _was(number: int) -> str:
    return "was" if number == 1 else "were"


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
    """What is paused, parked (one line for each reason), and what waits for a session's end."""
    paused = document["paused"]
    if len(paused) > 1 and rows is not None:
        scopes = [str(one["scope"]) for one in paused]
        counts = ", ".join(count_noun(scopes.count(one), one) for one in dict.fromkeys(scopes))
        yield StatusLine("paused", f"{'everything' if 'all' in scopes else counts}: `tacitd status -v`")
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


def parked_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Given the rows of `parked` in the status document, yield (line, hint) for each reason, in their order.

    Several plugins that wait for the same are named together. If they wait for a time, the line names the earliest one, local.
    """
    whole: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        whole.setdefault((str(row["what"]), row["reason"], row["hint"]), []).append(row)
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for (_, reason, hint), same in whole.items():
        names = ", ".join(dict.fromkeys(str(row["handler"]) for row in same))
        groups.setdefault((names, reason, hint), []).append(
            {**same[0], "times": [row.get("not_before") for row in same]}
        )
    for (names, reason, hint), group in groups.items():
        times = sorted(at for row in group for each in row["times"] if (at := parse_utc(each)) is not None)
        until = f", until {local_time(times[0])}" if times else ""
        yield f"{names}: {_name_parked([str(row['what']) for row in group])}: {reason}{until}", hint


def _name_parked(items: list[str]) -> str:
    if len(items) == 1:
        return items[0]
    for prefix, noun in (("prompts of session ", "prompts of {} sessions"), ("growth of ", "{} transcripts")):
        if all(one.startswith(prefix) for one in items):
            return noun.format(len(items))
    return f"{len(items)} work items"


def find_reasons(degraded: Iterable[Mapping[str, Any]], projects: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Given the rows of `degraded` in the status document, yield (what, hint) of those that name a file or directory of these
    projects. `projects`: roots."""
    named = [re.compile(rf"(?<![^\s('\"]){re.escape(root)}(?![^\s/:,;)'\"])") for root in projects]
    for row in degraded:
        if any(one.search(str(row["what"])) for one in named):
            yield str(row["what"]), str(row["hint"])


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
        text += f"; {budget['reached']}, calls go on {describe_time(until, now)}"
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
    excluded, sources = watching.get("excluded", 0), watching.get("sources", {})
    named = [f"{number} of {name}" for name, number in sources.items()] if len(sources) > 1 else []
    where = f": {', '.join(named)}" if named else f" below {watching['root']}"
    parts = [f"{files}{where}", count_noun(len(projects), "project") + " since the start"]
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


def layout_lines(lines: Iterable[StatusLine], width: int | None, *, colours: bool) -> Iterator[str]:
    """Yield the lines as text. `width`: columns to which they are wrapped; None: they are not.

    What follows a wrapped line is indented below its text, on narrow terminals by two columns.
    """
    for line in lines:
        narrow = width is not None and width < NARROW
        whole = escape_output(" ".join(line.whole.split()) if narrow else line.whole)
        parts = [whole]
        if width is not None:
            from textwrap import wrap

            indent = " " * 10 if line.kind not in ("head", "problem") and not narrow else "  "
            size = max(NARROWEST, width - 1)  # the last column would make some terminals begin a new line
            parts = wrap(whole, size, subsequent_indent=indent, break_on_hyphens=False, drop_whitespace=True)
        for text in parts or [whole]:
            yield f"{COLOURS[line.kind]}{text}\x1b[0m" if colours and COLOURS[line.kind] else text
