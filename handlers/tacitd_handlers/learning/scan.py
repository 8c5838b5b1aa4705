"""`tacitd scan`: learn from existing transcripts, after showing what it may cost at most.

Prices are in dollars per million tokens, of the most expensive model that each tier's default name meant in 2026. A
token counts as two bytes, so that code and non-Latin scripts are not underestimated. An answer counts as 1,000 tokens
for facts and 3,000 for lines. The budget's caps apply independently of the estimate.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import cache
from math import ceil
from pathlib import Path
from shlex import quote
from typing import Any

import click
from msgspec import Struct
from msgspec.structs import asdict

from tacitd.cli.common import (
    CallMethod,
    confirm,
    connect_or_run,
    echo_json,
    echo_message,
    find_project,
    get_paths,
    json_option,
    leave_to_daemon,
    open_store,
    read_store,
    show_progress,
)
from tacitd.cli.control_commands import echo_sync
from tacitd.config.durations import parse_duration
from tacitd.config.settings import load_config
from tacitd.errors import FAILED, PARKED, TacitdError, UnavailableError, UsageError
from tacitd.events import Project
from tacitd.model.call_caps import SCAN_SHARE
from tacitd.plugins import find_plugins
from tacitd.sources.assembler import SeenPrompts
from tacitd.sources.projects import ProjectFinder
from tacitd.sources.registry import make_source
from tacitd.sources.source import OwnCalls, Source
from tacitd.sources.transcript import read_prompts
from tacitd.text.wording import count_noun
from tacitd.work.old_prompts import request_scan
from tacitd_handlers.learning.answers import EXTRACTION_ANSWER, FACTS_BYTES
from tacitd_handlers.shared.model_text import FACT_LIMIT

FACT_OVERHEAD = 100
"""Bytes that a synthesis has for each fact besides its text: whether it corrects, its day, and how often it was said."""
HEARD_OVERHEAD = 50
"""Characters that a line of an extraction's answer has besides its fact: keys, the number, and a word of the message."""
FAST_IN, FAST_OUT = 1.0, 5.0
SMART_IN, SMART_OUT = 3.0, 15.0
OVERHEAD = 8192
"""Bytes of the prompt's template, the client's system prompt, and the known-facts summary."""
FACTS_OF_ANSWER = ceil(EXTRACTION_ANSWER / (FACT_LIMIT + HEARD_OVERHEAD))
MATERIAL = 60_000
"""Bytes of facts and existing lines in one synthesis."""


class SessionVolume(Struct, frozen=True):
    project: str
    prompts: int
    """Number of prompts that were not handled yet."""
    bytes: int
    """Size of these prompts and their contexts in bytes."""
    handled: int = 0
    paused: int = 0
    """Number of `prompts` that were typed while a person had paused learning."""


class Estimate(Struct, frozen=True):
    sessions: int
    prompts: int
    calls: int
    usd: float


def estimate_cost(
    sessions: Iterable[SessionVolume], max_prompts: int, max_bytes: int, directives: int = 2
) -> Estimate:
    """Given the sessions, the limits of one call in prompts and bytes, and the number of directives of all projects, return the upper
    bounds."""
    kept = [s for s in sessions if s.prompts]
    answers = Counter[str]()
    for one in kept:
        # A batch ends before the prompt that exceeds a limit, so it may be half full.
        by_bytes = ceil(2 * one.bytes / max_bytes) if one.bytes > max_bytes else 1
        answers[one.project] += max(ceil(one.prompts / max_prompts), by_bytes)
    fast = answers.total()
    # For each project one summary call for its own directives, its syntheses, and one for what is about the person; one call for
    # each directive of all. A portion of a synthesis ends before the fact that exceeds FACTS_BYTES, so it may lack one fact.
    fact = FACT_LIMIT + FACT_OVERHEAD
    smart = directives * bool(answers)
    smart += sum(2 + ceil(n * FACTS_OF_ANSWER * fact / (FACTS_BYTES - fact)) for n in answers.values())
    tokens = sum(s.bytes for s in kept) / 2 + fast * (OVERHEAD + 300 * max_prompts) / 2
    usd = (tokens * FAST_IN + fast * 1000 * FAST_OUT) / 1e6
    usd += smart * (MATERIAL / 2 * SMART_IN + 3000 * SMART_OUT) / 1e6
    return Estimate(len(kept), sum(s.prompts for s in kept), fast + smart, round(usd, 4))


LOOK = 0.2
"""Seconds between two looks at how far a scan is."""


@click.command(
    epilog="\b\nExample: tacitd scan --since 30d --dry-run\nExample: tacitd scan --since 7d --project . --yes"
)
@click.option("--since", required=True, help="How far back: 12h, 30d, or a date such as 2026-01-31.")
@click.option("--project", metavar="DIR", help="Only this project (a directory in it).")
@click.option("--dry-run", is_flag=True, help="Print the estimate and stop.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option("Print the estimate as JSON on stdout.")
@click.pass_context
def scan(
    ctx: click.Context, since: str, project: str | None, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Learn from transcripts that were written before tacitd was installed.

    First prints an estimate: how many prompts were not handled yet, and the maximum of calls and cost. The budget's caps
    apply: prompts beyond them wait until the next day.
    """
    floor = _parse_since(since)
    config = load_config(get_paths().config_file, os.environ, find_plugins().collect_sections())
    found = dict(_find_sessions(floor, project, config.projects.exclude))
    sessions = [one for several in found.values() for one in several]
    roots = sorted({one.project for one in sessions})
    extraction = config.get_section("extraction")
    directives = sum(path.is_file() for path in config.list_directives(get_paths().home))
    est = estimate_cost(sessions, extraction.max_prompts, extraction.max_bytes, directives)
    _echo_estimate(est, sum(one.handled for one in sessions), sum(one.paused for one in sessions), as_json)
    usd, calls = SCAN_SHARE * config.budget.usd_per_day, SCAN_SHARE * config.budget.calls_per_day
    if est.prompts and not (usd and calls):
        echo_message("the budget allows no call now; what you type goes first")
    elif (days := ceil(max(est.usd / usd, est.calls / calls)) if est.prompts else 0) > 1:
        pace = f"about {days} days at ${config.budget.usd_per_day:.2f} a day"
        echo_message(f"{pace}; what you type goes first")
    if dry_run or not est.prompts:
        return
    if not yes:
        confirm("Go on?")
    transcripts = [str(path) for path in found]
    with open_store() as store, store.write() as tx:
        request_scan(tx, transcripts, floor, roots, time.time())
    try:
        with connect_or_run() as call:
            ctx.exit(_run_scan(call, roots))
    except UnavailableError as error:
        raise leave_to_daemon(error) from None


def _parse_since(since: str) -> float:
    """Return the time that `--since` means, in seconds since 1970, UTC. A date is in local time. Raises BadParameter."""
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}(T.*)?", since):
        from datetime import datetime

        with suppress(ValueError, OverflowError):
            return datetime.fromisoformat(since).astimezone().timestamp()
    with suppress(ValueError):
        # In the configuration a number without a unit is seconds. Here it would almost always be a mistake.
        if not re.fullmatch(r"\s*[\d.]+\s*", since):
            return time.time() - parse_duration(since)
        allowed = f"it has no unit: write {since.strip()}d for days"
        raise click.BadParameter(f"{since!r}: {allowed}", param_hint="--since")
    allowed = "it must be a span such as 12h or 30d, or a date such as 2026-01-31"
    raise click.BadParameter(f"{since!r}: {allowed}", param_hint="--since")


def _find_sessions(
    floor: float, project: str | None, excludes: Sequence[str]
) -> Iterator[tuple[Path, list[SessionVolume]]]:
    """Yield each transcript with prompts since `floor` (seconds since 1970, UTC), with the volume for each project."""
    from tacitd.model.port import SENTINEL

    paths = get_paths()
    own = OwnCalls(str(paths.state_dir / "model" / "work"), SENTINEL)
    source = make_source(paths.config_dir, own)
    private = [paths.state_dir, paths.config_dir]
    find_place = cache(ProjectFinder(paths.home, excludes=excludes, private=private).find_project)
    wanted = find_project(project, excludes) if project else None
    shut = read_excluded_roots(paths.state_dir)
    if wanted is not None and str(wanted.root) in shut:
        raise UsageError(f"{wanted.root} is excluded", f"`tacitd exclude --undo {quote(str(wanted.root))}`")
    seen, handled, paused = SeenPrompts(), *read_known_prompts(paths.state_dir)

    def count(path: Path) -> list[SessionVolume]:
        counts = dict[Path, Counter[str]]()
        try:
            for prompt in read_prompts(source, path):
                if prompt.time is not None and prompt.time < floor:
                    continue
                place = find_place(prompt.cwd)
                if not isinstance(place, Project) or str(place.root) in shut:
                    continue
                if wanted in (None, place) and seen.add_if_new(prompt):
                    of_root = counts.setdefault(place.root, Counter())
                    if prompt.id in handled:
                        of_root["handled"] += 1
                        continue
                    size = len(prompt.text.encode(errors="replace")) + len(prompt.context)
                    of_root.update(prompts=1, bytes=size, paused=prompt.id in paused)
        except (OSError, TacitdError) as error:
            echo_message(f"{path}: {error}")
        return [SessionVolume(str(root), **{"prompts": 0, "bytes": 0} | one) for root, one in counts.items()]

    transcripts = _transcripts(source, floor)
    with show_progress("reading") as advance:
        for number, path in enumerate(transcripts, 1):
            sessions = count(path)
            advance(number, len(transcripts))
            if sessions:
                yield path, sessions


def read_known_prompts(state_dir: Path) -> tuple[frozenset[str], frozenset[str]]:
    """Return the ids of the prompts that learning has handled, which a scan skips, and of those that were typed while a person had
    paused learning. Raises TacitdError."""
    sql = "SELECT p.id FROM prompt_task t JOIN prompt p ON p.number = t.prompt WHERE t.plugin = 'learning' AND t.state <> 'waiting'"
    handled = read_store(lambda rows: rows(sql), state_dir)
    paused = read_store(lambda rows: rows("SELECT id FROM prompt WHERE passed = 'paused'"), state_dir)
    return frozenset(id for (id,) in handled or ()), frozenset(id for (id,) in paused or ())


def read_excluded_roots(state_dir: Path) -> frozenset[str]:
    """The projects that a person excluded: nothing of them is sent. Raises TacitdError."""
    sql = "SELECT name FROM choice WHERE scope = 'project' AND what = 'exclude'"
    return frozenset(name for (name,) in read_store(lambda rows: rows(sql), state_dir) or ())


def _transcripts(source: Source, floor: float) -> list[Path]:
    found = []
    for root in source.roots:
        for folder, _, names in os.walk(root):
            for path in (Path(folder) / name for name in names):
                is_session = source.is_transcript(str(path)) and not source.is_subagent(str(path))
                with suppress(OSError):
                    if is_session and not path.is_symlink() and path.stat().st_mtime >= floor:
                        found.append(path)
    return sorted(found)


def _echo_estimate(est: Estimate, handled: int, paused: int, as_json: bool) -> None:
    """Print the estimate. `handled`: the number of prompts that were handled before; `paused`: of those that were typed while paused."""
    if as_json:
        echo_json(asdict(est) | {"handled": handled, "paused": paused})
    if handled:
        echo_message(f"handled before, which costs nothing: {count_noun(handled, 'prompt')}")
    if not est.prompts:
        echo_message("nothing new was typed since then that tacitd can learn from")
        return
    cents = ceil(est.usd * 100) / 100  # "at most" is rounded up
    what = f"{count_noun(est.prompts, 'prompt')} in {count_noun(est.sessions, 'session')}"
    echo_message(f"{what}: at most {count_noun(est.calls, 'call')} and ${cents:.2f}")
    if paused:
        echo_message(f"typed while paused, and sent to the model now: {paused} of them")


def _run_scan(call: CallMethod, roots: list[str]) -> int:
    due = [{"job": "synthesize", "project": root} for root in roots]
    try:
        said = _sync(call, due)
    except KeyboardInterrupt:  # only beside a daemon: an engine in this process stops by itself
        echo_message("not waiting any longer: the work goes on in the background; `tacitd pause` stops it")
        return FAILED
    echo_sync(said)
    return PARKED if said["parked"] else 0


def _sync(call: CallMethod, due: list[dict[str, str]]) -> Any:
    """Have everything handled now, and the jobs done that are due then; on a terminal, show meanwhile how far it is."""
    if not sys.stderr.isatty():
        return call("sync", due=due)
    said: Future[Any] = Future()
    before: int = call("lag")["done"]

    def sync() -> None:
        try:
            said.set_result(call("sync", due=due))
        except Exception as error:  # noqa: BLE001  raised again for whoever waits
            said.set_exception(error)

    # Not of an executor, which would be waited for at the end, also after Ctrl-C.
    threading.Thread(target=sync, name="sync", daemon=True).start()
    with show_progress("learning") as advance:
        is_done = False
        while not is_done:
            is_done, lag = said.done(), call("lag")
            done = lag["done"] - before
            advance(done, done + lag["waiting"] or None)  # none: they are read first
            wait([said], LOOK)
    return said.result()
