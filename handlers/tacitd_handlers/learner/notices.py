"""The notices of a session start besides the profile, and the lines for `tacitd status`. Pure.

The wording of [REPAIRED], [SYNC], [FIRST SESSION] and of the retests is the seed's and must not change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from typing import Any

from msgspec import Struct

from tacitd.text.plurals import count_noun
from tacitd_handlers.learner.ledger_file import LedgerRow
from tacitd_handlers.learner.profile_text import LearnerProfile
from tacitd_handlers.learner.weakness_rules import MAX_ACTIVE, Weakness, most_resolved, retest_due

FIRST = "[FIRST SESSION] About Me is empty. Populate from observations during the session and confirm at end."
NAMED = 20
"""Waiting tags that a notice names."""
SUGGESTED = 3
"""Entries suggested for archiving."""


class Retest(Struct, frozen=True):
    """A short-term resolved weakness that was not tested for 14 days or more (SPEC L-50)."""

    label: str
    tested: str
    days: int


def format_repairs(names: Sequence[str]) -> list[str]:
    """The notices for restored headings (SPEC L-02)."""
    return [
        f"[REPAIRED] Restored missing section: {name}. Let the learner know if they didn't intend to remove it."
        for name in names
    ]


def format_synced(rows: Sequence[LedgerRow]) -> list[str]:
    """The notices for rows that the ledger lacked (SPEC L-38)."""
    return [f"[SYNC] Appended missing ledger row for {row.stamp} session (pattern=unknown)." for row in rows]


def format_command(verb: str, *arguments: str) -> str:
    """A command of `tacitd learner`, quoted for a shell."""
    dashes = ["--"] if any(argument.startswith("-") for argument in arguments) else []
    return " ".join(["tacitd learner", verb, *dashes, *(quote(argument) for argument in arguments)])


def format_waiting(waiting: Sequence[str], profile: LearnerProfile | None) -> list[str]:
    """The notice for tags that wait for room, with suggestions for archiving (SPEC L-27)."""
    if not waiting:
        return []
    more = f" and {len(waiting) - NAMED} more" if len(waiting) > NAMED else ""
    text = f"[CAP] Known Weaknesses is full ({MAX_ACTIVE}). Waiting for room: {', '.join(waiting[:NAMED])}{more}."
    offered = list_archivable(profile) if profile is not None else []
    if not offered:
        return [text]
    named = ", ".join(f"{w.tag} ({w.status})" for w in offered)
    how = format_command("archive", offered[0].tag)
    return [f"{text} To archive, if the learner agrees, most resolved first: {named}. Command: `{how}`."]


def list_archivable(profile: LearnerProfile) -> list[Weakness]:
    """The active entries to suggest, in order."""
    entries = [placed.entry for placed in profile.weaknesses if not placed.resolved]
    active = [entry.as_weakness(entry.label) for entry in entries if entry.status is not None]
    return most_resolved(active)[:SUGGESTED]


def find_retests(profile: LearnerProfile, now: str) -> list[Retest]:
    """The retests that are due, in the order of the profile. `now`: the local time, as a stamp."""
    found = []
    for placed in profile.weaknesses:
        label, status, tested = placed.entry.label, placed.entry.status or "", placed.entry.tested or ""
        days = retest_due(status, tested, now)
        if days is not None:
            found.append(Retest(label, tested, days))
    return found


def format_retests(found: Sequence[Retest]) -> str:
    """The block of the session start; "" if there are no retests."""
    if not found:
        return ""
    lines = [f"- {one.label} (last tested {one.tested}, {one.days // 7} weeks ago)\n" for one in found]
    return f"=== RETEST SUGGESTIONS ===\n{''.join(lines)}=== END RETEST SUGGESTIONS ===\n"


def format_status_lines(shown: Mapping[str, Any]) -> Iterator[str]:
    """The learner's lines of `tacitd status`. A line that starts with `!` needs action."""
    if shown.get("rows") or shown.get("active") or shown.get("resolved"):
        active = shown["active"]
        counts = (
            f"{active} active {'weakness' if active == 1 else 'weaknesses'}, {shown['resolved']} resolved"
        )
        yield f"{count_noun(shown['rows'], 'review')} in the ledger, {counts}"
    if shown.get("retests"):
        yield f"retests due: {', '.join(shown['retests'])}"
    if shown.get("waiting_for_room"):
        text = f"Known Weaknesses is full ({MAX_ACTIVE}); waiting for room: {', '.join(shown['waiting_for_room'])}"
        first = shown.get("archivable", ())[:1]
        how = f"; `{format_command('archive', *first)}` archives the most resolved one" if first else ""
        yield f"! {text}{how}"
    for text in shown.get("refused", ()):
        yield f"! refused a report of practice: {text}"
