"""The session-start text: the blocks that the learner's skill reads, byte for byte (SPEC L, first page).

It fits into a budget, because Claude Code does not show the model a longer one (SPEC L-50a). The ledger is never opened
here (SPEC L-05). A session start waits for this, and no error keeps the profile from being printed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tacitd.clock import SystemClock, local_minutes
from tacitd.errors import FileRefusedError, TacitdError
from tacitd.state.paths import state_dir
from tacitd.text.wording import count_noun
from tacitd_handlers.learner import SCHEMA
from tacitd_handlers.learner.entry_texts import RESOLVED, WeaknessEntry
from tacitd_handlers.learner.learner_state import (
    LearnerPaths,
    SessionStamp,
    find_stamp,
    load_paths,
    note_session,
    read_waiting,
)
from tacitd_handlers.learner.ledger_file import SHORT, LedgerRow, format_command, time_of
from tacitd_handlers.learner.profile_text import (
    ABOUT,
    HISTORY,
    PROFILE_FORMAT,
    WEAKNESSES,
    Block,
    list_entries,
    parse_profile,
    restore_sections,
)
from tacitd_handlers.learner.weakness_rules import MAX_ACTIVE, most_resolved
from tacitd_handlers.shared.places import read_plain_bytes

if TYPE_CHECKING:
    from tacitd.contract import Rows
    from tacitd.session_context.context_request import ContextRequest

BUDGET = 9_000
"""Characters. Claude Code accepts 10,000 from a hook. Of a longer text the model sees the first 2 KB and a path."""
END = "\n=== END LEARNER PROFILE ===\n"


class SessionText(Struct, frozen=True):
    """The text of a session's start, and what is to be noted about it."""

    text: str
    at: SessionStamp
    notices: Sequence[str]
    """Those that are in the text."""
    is_first: bool
    is_whole: bool
    """Whether the profile has all headings."""


def make_text(request: ContextRequest) -> str:
    """The blocks for `tacitd context`; "" outside of projects in which a teaching session worked, and for a session that goes on or a
    sub-agent."""
    here = Path(os.path.realpath(request.cwd))
    taught = request.rows("SELECT DISTINCT root FROM learner_session WHERE root <> ''")
    is_here = any(here.is_relative_to(root) for (root,) in taught)
    if request.occasion not in ("start", "compact") or not is_here:
        return ""
    now = local_minutes(SystemClock().now())
    made = build_text(request.rows, load_paths(os.environ), request.session, now, request.budget)
    note_start(made)
    return made.text


def build_text(rows: Rows, places: LearnerPaths, session: str, now: str, budget: int = BUDGET) -> SessionText:
    """The session's blocks, at most `budget` characters.

    `session` is the session's id, "" if unknown; `now` the local time as a stamp. A profile that does not exist or lacks a heading is
    shown as it will be. Nothing is written.
    """
    at = find_stamp(rows, session, "", places.session_state, now)
    data, repaired, blocks, entries = b"", list[str](), list[Block](), list[WeaknessEntry]()
    with suppress(OSError, FileRefusedError):
        there = read_plain_bytes(places.profile)
        data = there or b""  # printed as it is if it is no text
        repaired = [] if there is None else restore_sections(parse_profile(data))[1]
        data = PROFILE_FORMAT.splice(there, {})
        blocks, entries = parse_profile(data), list_entries(PROFILE_FORMAT.read_leaves(data))
    exists = places.profile.exists()
    began = rows("SELECT 1 FROM learner_session WHERE session = ? AND first_start", at.session)
    told = "SELECT text FROM learner_notice WHERE coalesce(shown_in, ?1) = ?1 ORDER BY rowid"
    found = [*format_repairs(repaired), *(text for (text,) in rows(told, at.session))]
    notices, is_first = list(dict.fromkeys(found)), bool(began) or not exists
    more = format_waiting(read_waiting(rows), entries)
    retests = format_retests(find_retests(entries, now))
    title = "(new — first session)" if is_first else "(loaded automatically at session start)"
    head = (
        f"=== SESSION METADATA ===\nSession ID: {at.session}\nSession Timestamp: {at.stamp}\n"
        f"=== END SESSION METADATA ===\n=== LEARNER PROFILE {title} ===\n"
    )

    def end(lines: Sequence[str]) -> str:
        text = "".join(f"{line}\n" for line in lines)
        return (
            END
            + (f"\n{text}" if text else "")
            + (f"\n{retests}" if retests else "")
            + f"{FIRST}\n" * is_first
        )

    profile, tail = data.decode("utf-8", "surrogateescape"), end([*notices, *more])
    if len(head) + len(profile) + len(tail) > budget:
        shown = f"`cat {quote(str(places.profile))}`"
        left = f"[LEFT OUT] Parts of the profile: no room in {budget} characters. To read all of it when needed: {shown}."
        tail = end([*notices, *more, left])
        parts = blocks or [Block(line) for line in profile.splitlines(True)]
        profile = fit_profile(parts, budget - len(head) - len(tail))
    text = head + profile + tail
    if len(text) > budget:  # the notices alone are too long, for example by labels without end
        text = text[: text.rfind("\n", 0, budget) + 1]
    return SessionText(text, at, notices, is_first, exists and not repaired)


def note_start(made: SessionText) -> None:
    """Store the session's stamp and which notices it got. If the store cannot be written, they are printed once more."""
    from tacitd.store import Store

    at = made.at
    with suppress(OSError, TacitdError):
        store = Store.open(state_dir(os.environ), SystemClock(), {"learner": SCHEMA}, owner=False)
        with closing(store):
            if store.off:
                return
            with store.write() as tx:
                note_session(tx, at.session, stamp=at.stamp, first_start=made.is_first)
                tx.execute("DELETE FROM learner_notice WHERE shown_in <> ?", at.session)
                shown = [(text, at.session) for text in made.notices]
                tx.executemany("INSERT OR REPLACE INTO learner_notice VALUES(?, ?)", shown)


def fit_profile(blocks: Sequence[Block], room: int) -> str:
    """The profile in at most `room` characters.

    Headings come first, then About Me with a fifth of the room, active weaknesses, sessions from the newest on, resolved weaknesses,
    and other lines. An entry is printed whole or not at all, and what is printed keeps its place.
    """
    order = (ABOUT, WEAKNESSES, HISTORY, RESOLVED)
    kinds = [
        order.index(one.section) if one.section == ABOUT or one.leaf in order or "\n" in one.leaf else 4
        for one in blocks
    ]
    chosen = {at for at, block in enumerate(blocks) if block.leaf and "\n" not in block.leaf}
    left = room - sum(len(blocks[at].text) + 2 for at in chosen)
    rooms, full = {0: room // 5}, set[int]()
    given = [at for at, block in enumerate(blocks) if at not in chosen and block.text.strip()]
    given.sort(key=lambda at: blocks[at].leaf if kinds[at] == 2 else "", reverse=True)
    for at in sorted(given, key=kinds.__getitem__):
        kind, size = kinds[at], len(blocks[at].text) + 2
        if (kind in full and kind != 1) or size > min(left, rooms.get(kind, left)):
            full.add(kind)  # a shorter weakness may still fit
            continue
        left -= size
        rooms[0] -= size if kind == 0 else 0
        chosen.add(at)
    kept = (at in chosen or (not block.text.strip() and at - 1 in chosen) for at, block in enumerate(blocks))
    return "".join(block.text for block, is_kept in zip(blocks, kept, strict=True) if is_kept)


# --- notices. The wording of [REPAIRED], [SYNC], [FIRST SESSION] and of the retests is the seed's and must not change.

FIRST = "[FIRST SESSION] About Me is empty. Populate from observations during the session and confirm at end."
RETEST = timedelta(days=14)
SUGGESTED = 3
"""Entries suggested for archiving."""


def format_repairs(names: Sequence[str]) -> list[str]:
    return [
        f"[REPAIRED] Restored missing section: {name}. Let the learner know if they didn't intend to remove it."
        for name in names
    ]


def format_synced(rows: Sequence[LedgerRow]) -> list[str]:
    return [f"[SYNC] Appended missing ledger row for {row.stamp} session (pattern=unknown)." for row in rows]


def format_waiting(waiting: Sequence[str], entries: Sequence[WeaknessEntry]) -> list[str]:
    """The notice for tags that wait for room, with suggestions for archiving (SPEC L-27)."""
    if not waiting:
        return []
    text = f"[CAP] Known Weaknesses is full ({MAX_ACTIVE}). Waiting for room: {', '.join(waiting)}."
    active = [one.as_weakness(one.label) for one in entries if one.status is not None and not one.resolved]
    if offered := most_resolved(active)[:SUGGESTED]:
        named = ", ".join(f"{w.tag} ({w.status})" for w in offered)
        how = format_command("archive", offered[0].tag)
        text += f" To archive, if the learner agrees, most resolved first: {named}. Command: `{how}`."
    return [text]


def find_retests(entries: Sequence[WeaknessEntry], now: str) -> list[dict[str, Any]]:
    """The short-term resolved entries that were not tested for 14 days or more (SPEC L-50), in the order of the profile: label, tested,
    days since then. `now`: the local time, as a stamp.
    """
    today, found = time_of(now), list[dict[str, Any]]()
    for one in entries:
        then = time_of(one.tested or "")
        if one.status == SHORT and then is not None and today is not None and today - then >= RETEST:
            found.append({"label": one.label, "tested": one.tested, "days": (today - then).days})
    return found


def format_retests(found: Sequence[Mapping[str, Any]]) -> str:
    if not found:
        return ""
    lines = [
        f"- {one['label']} (last tested {one['tested']}, {one['days'] // 7} weeks ago)\n" for one in found
    ]
    return f"=== RETEST SUGGESTIONS ===\n{''.join(lines)}=== END RETEST SUGGESTIONS ===\n"


def report_status(rows: Rows, now: float) -> Mapping[str, Any]:
    """What the two files contain, the retests and the tags that wait for room (SPEC L-50)."""
    ((count,),) = rows("SELECT count(*) FROM learner_report WHERE done")
    entries: list[WeaknessEntry] = []
    with suppress(OSError, FileRefusedError):  # the task that compares the files reports it
        entries = list_entries(
            PROFILE_FORMAT.read_leaves(read_plain_bytes(load_paths(os.environ).profile) or b"")
        )
    if not (count or entries):
        return {}
    resolved, waiting = sum(one.resolved for one in entries), read_waiting(rows)
    active = len(entries) - resolved
    retests = [one["label"] for one in find_retests(entries, local_minutes(now))]
    reviews, weaknesses = count_noun(count, "review"), "weakness" if active == 1 else "weaknesses"
    lines = [f"{reviews} in the ledger, {active} active {weaknesses}, {resolved} resolved"]
    lines += [f"retests due: {', '.join(retests)}"] if retests else []
    lines += [f"! {text.removeprefix('[CAP] ')}" for text in format_waiting(waiting, entries)]
    return {"lines": lines}
