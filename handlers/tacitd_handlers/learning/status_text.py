"""Learning's lines in `tacitd status`. Pure: the handler's part of the status document in, lines out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tacitd.clock import local_minutes, parse_utc
from tacitd.text.plurals import count_noun
from tacitd.text.shorten import shorten_line
from tacitd_handlers.learning.rule_life import PROPOSAL
from tacitd_handlers.learning.state import FORGOTTEN_FACT, SECRET_FACT, UNREADABLE

COUNT_LABELS = {
    "seen": ("prompt", " seen"),
    "asked": ("", " put to the model"),
    "facts": ("fact", ""),
    "lines": ("line", " written"),
}
"""Labels of the counts in `COUNTED_FIELDS`: the noun, "" for none, and what follows it."""
SHORT = 80
"""Characters of a rule in a line of the status."""
LISTED = 3
"""Maximum number of projects with a line each. If there are more, this many are named in one line."""


def _was(number: int) -> str:
    return "was" if number == 1 else "were"


def format_status_lines(status: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines for the status. A line that begins with `!` needs the user's attention."""
    for span in ("today", "total"):
        yield f"{span}: " + ", ".join(
            (count_noun(status[span][key], noun) if noun else str(status[span][key])) + rest
            for key, (noun, rest) in COUNT_LABELS.items()
        )
    yield from _describe_projects(status["projects"])
    for why, number in status["skipped"].items():
        if why == UNREADABLE:
            yield f"{count_noun(number, 'line')} of answers {_was(number)} left out: {why}"
            continue
        what = "fact" if why in (SECRET_FACT, FORGOTTEN_FACT) else "prompt"
        yield f"{count_noun(number, what)} {_was(number)} left out: {why}"
    if number := status["withheld"]:
        yield f"{count_noun(number, 'line')} that you removed {_was(number)} learned again: `tacitd learned --withheld`"
    if number := status.get("offers", 0):
        yield f"{count_noun(number, 'line')} {_was(number)} learned in three projects: `tacitd adopt` makes a rule for all of it"
    refused = status["refused"]
    if number := refused["waits"]:
        wait = "waits" if number == 1 else "wait"
        yield f"! {count_noun(number, 'proposal')} of the model {wait} for your decision: `tacitd learned --refused`"
    if number := refused["refused"]:
        yield f"{count_noun(number, 'proposal')} of the model {_was(number)} refused: `tacitd learned --refused`"
    yield from _describe_unheeded(status.get("unheeded", {}))
    for root, number in status["untrusted"].items():
        yield (
            f"! {count_noun(number, 'line')} of {root}/LEARNED.md came with the project, so its sessions do not load them: `tacitd trust {root}` "
            "prints them and asks"
        )
    for what in status["rules_problems"]:
        yield f"! {what}"
    for what in status["files_refused"]:
        if what not in status.get("files_reported", ()):  # a degradation reports those
            yield f"! {what}"


def _describe_unheeded(unheeded: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield one line about the rules that are not heeded, given them by root, the most often corrected first."""
    named = [(line, root) for root, lines in unheeded.items() for line in lines]
    if not named:
        return
    line, root = named[0]
    more = f" and {len(named) - 1} more" if len(named) > 1 else ""
    yield (
        f"! “{shorten_line(line, SHORT)}” in {root}{more}: corrected at least twice since it was written. {PROPOSAL[0].upper()}{PROPOSAL[1:]}; "
        f"`tacitd review {root}` asks about it, `tacitd report {root}` shows the corrections"
    )


def _describe_projects(projects: Mapping[str, str]) -> Iterator[str]:
    """Yield where tacitd writes, given the UTC time of the first write by root: a line each, or one line if over LISTED.

    The times in the lines are local.
    """
    if len(projects) > LISTED:
        first = ", ".join(list(projects)[:LISTED])
        yield f"writes in {len(projects)} projects: {first} and {len(projects) - LISTED} more"
        return
    for root, since in projects.items():
        at = parse_utc(since)
        yield f"writes in {root} since {since if at is None else local_minutes(at).replace('T', ' ')}"
