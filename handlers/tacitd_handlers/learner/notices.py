"""The notices of a session start besides the profile, and the lines for `tacitd status`.

The wording of [REPAIRED], [SYNC], [FIRST SESSION] and of the retests is the seed's and must not change.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tacitd.clock import local_minutes
from tacitd.errors import FileRefusedError
from tacitd.text.wording import count_noun
from tacitd_handlers.learner.ledger_file import LedgerRow
from tacitd_handlers.learner.profile_text import PROFILE_FORMAT, list_entries
from tacitd_handlers.learner.vocabulary import format_command
from tacitd_handlers.learner.weakness_rules import MAX_ACTIVE, most_resolved, retest_due
from tacitd_handlers.learner.weakness_text import WeaknessEntry

if TYPE_CHECKING:
    from tacitd.contract import Rows

FIRST = "[FIRST SESSION] About Me is empty. Populate from observations during the session and confirm at end."
REFUSED = 10
"""Refused reports that `status` shows, the newest."""
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


def format_waiting(waiting: Sequence[str], entries: Sequence[WeaknessEntry]) -> list[str]:
    """The notice for tags that wait for room, with suggestions for archiving (SPEC L-27)."""
    if not waiting:
        return []
    more = f" and {len(waiting) - NAMED} more" if len(waiting) > NAMED else ""
    text = f"[CAP] Known Weaknesses is full ({MAX_ACTIVE}). Waiting for room: {', '.join(waiting[:NAMED])}{more}."
    active = [one.as_weakness(one.label) for one in entries if one.status is not None and not one.resolved]
    if not active:
        return [text]
    offered = most_resolved(active)[:SUGGESTED]
    named = ", ".join(f"{w.tag} ({w.status})" for w in offered)
    how = format_command("archive", offered[0].tag)
    return [f"{text} To archive, if the learner agrees, most resolved first: {named}. Command: `{how}`."]


def find_retests(entries: Sequence[WeaknessEntry], now: str) -> list[Retest]:
    """The retests that are due, in the order of the profile. `now`: the local time, as a stamp."""
    found = ((one, retest_due(one.status or "", one.tested or "", now)) for one in entries)
    return [Retest(one.label, one.tested or "", days) for one, days in found if days is not None]


def format_retests(found: Sequence[Retest]) -> str:
    """The block of the session start; "" if there are no retests."""
    if not found:
        return ""
    lines = [f"- {one.label} (last tested {one.tested}, {one.days // 7} weeks ago)\n" for one in found]
    return f"=== RETEST SUGGESTIONS ===\n{''.join(lines)}=== END RETEST SUGGESTIONS ===\n"


def report_status(rows: Rows, now: float) -> Mapping[str, Any]:
    """What the two files contain, the retests and the tags that wait for room (SPEC L-50), and reports that were refused."""
    from tacitd_handlers.learner.learner_paths import load_paths, read_file
    from tacitd_handlers.learner.learner_state import read_waiting

    newest = "SELECT refused FROM learner_found WHERE refused <> '' ORDER BY number DESC LIMIT ?"
    refused = [text for (text,) in rows(newest, REFUSED)][::-1]
    ((count,),) = rows("SELECT coalesce(max(rows), 0) FROM learner_ledger")
    try:
        data = read_file(load_paths(os.environ).profile)
        entries = list_entries(PROFILE_FORMAT.read_leaves(data)) if data is not None else []
    except (OSError, FileRefusedError):  # the task that compares the files reports it
        data, entries = None, []
    if not count and data is None and not refused:
        return {}
    resolved = sum(one.resolved for one in entries)
    retests = [one.label for one in find_retests(entries, local_minutes(now))]
    shown = {"rows": count, "active": len(entries) - resolved, "resolved": resolved}
    shown |= {"waiting_for_room": read_waiting(rows), "retests": retests, "refused": refused}
    return shown | {"lines": list(_format_status(shown, format_waiting(read_waiting(rows), entries)))}


def _format_status(shown: Mapping[str, Any], waiting: Sequence[str]) -> Iterator[str]:
    """The learner's lines of `tacitd status`. A line that starts with `!` needs action."""
    if shown["rows"] or shown["active"] or shown["resolved"]:
        active = f"{shown['active']} active {'weakness' if shown['active'] == 1 else 'weaknesses'}"
        yield f"{count_noun(shown['rows'], 'review')} in the ledger, {active}, {shown['resolved']} resolved"
    if shown["retests"]:
        yield f"retests due: {', '.join(shown['retests'])}"
    yield from (f"! {text.removeprefix('[CAP] ')}" for text in waiting)
    yield from (f"! refused a report of practice: {text}" for text in shown["refused"])
