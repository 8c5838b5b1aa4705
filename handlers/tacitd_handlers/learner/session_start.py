"""The session-start text: the blocks that the learner's skill reads, byte for byte (SPEC L, first page).

It fits into a budget, because Claude Code does not show the model a longer one (SPEC L-50a). The ledger is never opened
here (SPEC L-05). A session start waits for this, and no error keeps the profile from being printed.
"""

from __future__ import annotations

import json
import os
import select
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
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
    read_section,
    read_waiting,
    shorten_path,
)
from tacitd_handlers.learner.ledger_file import LedgerRow, format_command, names_a_session
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
from tacitd_handlers.learner.weakness_rules import MAX_ACTIVE, most_resolved, retest_due
from tacitd_handlers.shared.places import read_plain_bytes

if TYPE_CHECKING:
    from tacitd.contract import Rows, Tx
    from tacitd.session_context.context_request import ContextRequest

BUDGET = 9_000
"""Characters. Claude Code accepts 10,000 from a hook. Of a longer text the model sees the first 2 KB and a path."""
END = "\n=== END LEARNER PROFILE ===\n"
RESERVED = 300
"""Characters for the line about what was left out, without the profile's path."""
KINDS = (
    ("line of About Me", "lines of About Me"),
    ("active weakness", "active weaknesses"),
    ("older session", "older sessions"),
    ("resolved weakness", "resolved weaknesses"),
    ("line of your own", "lines of your own"),
)
"""The parts of a profile in the order in which they get room, in the singular and in the plural."""


class SessionText(Struct, frozen=True):
    """The text of a session's start, and what is to be noted about it."""

    text: str
    at: SessionStamp
    notices: tuple[str, ...]
    """Those that are in the text."""
    is_first: bool
    left_out: str = ""


def make_text(request: ContextRequest) -> str:
    """The blocks for `tacitd context`; "" where the person does not practise, and for a session that goes on or a sub-agent."""
    chosen = read_section(os.environ).get("context", "taught")
    if request.occasion not in ("start", "compact") or chosen == "never":
        return ""
    here = Path(os.path.realpath(request.cwd))
    taught = request.rows("SELECT DISTINCT root FROM learner_session WHERE root <> ''")
    if chosen != "always" and not any(here.is_relative_to(root) for (root,) in taught):
        return ""
    now = local_minutes(SystemClock().now())
    made = build_text(request.rows, load_paths(os.environ), request.session, now, request.budget)
    note_start(made)
    return made.text


def build_text(
    rows: Rows, places: LearnerPaths, session: str, now: str, budget: int = BUDGET, *, is_first: bool = False
) -> SessionText:
    """The session's blocks, at most `budget` characters.

    `session` is the session's id, "" if unknown; `now` the local time as a stamp. `is_first`: the profile was made for it. A profile
    that does not exist or lacks a heading is shown as it will be. Nothing is written.
    """
    at = find_stamp(rows, session, "", places.session_state, now)
    data, repaired = read_repaired(places)
    began = rows("SELECT 1 FROM learner_session WHERE session = ? AND first_start", at.session)
    is_first = is_first or bool(began) or not places.profile.exists()
    found = rows(
        "SELECT text FROM learner_notice WHERE coalesce(shown_in, ?) = ? ORDER BY rowid", *(at.session,) * 2
    )
    lines = list(dict.fromkeys([*format_repairs(repaired), *(text for (text,) in found)]))
    try:
        blocks, entries = parse_profile(data), list_entries(PROFILE_FORMAT.read_leaves(data))
    except FileRefusedError:
        blocks, entries = [], []
    notices = [*lines, *format_waiting(read_waiting(rows), entries)]
    retests = format_retests(find_retests(entries, now))

    def end(*more: str) -> str:
        given = [*notices, *more]
        text = "\n" + "\n".join(given) + "\n" if given else ""
        return END + text + ("\n" + retests if retests else "") + (FIRST + "\n" if is_first else "")

    title = "(new — first session)" if is_first else "(loaded automatically at session start)"
    head = (
        f"=== SESSION METADATA ===\nSession ID: {at.session}\nSession Timestamp: {at.stamp}\n"
        f"=== END SESSION METADATA ===\n=== LEARNER PROFILE {title} ===\n"
    )
    profile = data.decode("utf-8", "surrogateescape")
    room = budget - len(head) - len(end())
    if len(profile) <= room:
        return SessionText(head + profile + end(), at, tuple(lines), is_first)
    path = shorten_path(places.profile, places.user)
    room -= RESERVED + len(path)
    if blocks:
        profile, parts = fit_profile(blocks, room)
    else:
        profile, parts = profile[: profile.rfind("\n", 0, max(0, room)) + 1], ["the rest of the profile"]
    shown = f"~/{quote(path[2:])}" if path.startswith("~/") else quote(path)  # a shell still expands it
    left_out = (
        f"[LEFT OUT] {', '.join(parts)}: no room in {budget} characters. "
        f"To read all of it when needed: `cat {shown}`."
    )
    text = head + profile + end(left_out)
    if len(text) > budget:  # the notices alone are too long, for example by labels without end
        text = text[: text.rfind("\n", 0, budget) + 1]
    return SessionText(text, at, tuple(lines), is_first, left_out)


def read_repaired(places: LearnerPaths) -> tuple[bytes, list[str]]:
    """The profile with its headings, and those that were missing. A profile that is no text is returned as it is."""
    data: bytes | None = b""
    with suppress(OSError, FileRefusedError):
        data = read_plain_bytes(places.profile)
        if data is not None:
            return PROFILE_FORMAT.splice(data, {}), restore_sections(parse_profile(data))[1]
    return (PROFILE_FORMAT.splice(None, {}) if data is None else data), []


def note_start(made: SessionText) -> None:
    """Store the session's stamp and which notices it got. If the store cannot be written, they are printed once more."""
    from tacitd.store import Store

    with suppress(OSError, TacitdError):
        store = Store.open(state_dir(os.environ), SystemClock(), {"learner": SCHEMA}, owner=False)
        with closing(store):
            if not store.off:
                with store.write() as tx:
                    _store_start(tx, made)


def _store_start(tx: Tx, made: SessionText) -> None:
    if names_a_session(made.at.session):
        note_session(tx, made.at.session, stamp=made.at.stamp)
        if made.is_first:
            note_session(tx, made.at.session, first_start=1)
    tx.executemany(
        "INSERT INTO learner_notice VALUES(?, ?) ON CONFLICT(text) DO UPDATE SET shown_in = excluded.shown_in",
        [(text, made.at.session) for text in made.notices],
    )


def fit_profile(blocks: Sequence[Block], room: int) -> tuple[str, list[str]]:
    """The profile in at most `room` characters, and what is left out by kind.

    Headings come first, then the parts in the order of `KINDS`, sessions newest first. An entry is printed whole or not at
    all, and what is printed keeps its place. About Me gets a fifth at most.
    """
    chosen = {at for at, block in enumerate(blocks) if block.leaf and "\n" not in block.leaf}
    kinds = {
        at: _find_kind(block) for at, block in enumerate(blocks) if at not in chosen and block.text.strip()
    }
    left = room - sum(len(blocks[at].text) + 2 for at in chosen)
    about, missing = room // 5, Counter[int]()
    newest = sorted(kinds, key=lambda at: blocks[at].leaf if kinds[at] == 2 else "", reverse=True)
    for at in sorted(newest, key=lambda at: kinds[at]):
        kind, size = kinds[at], len(blocks[at].text) + 2
        is_full = missing[kind] and kind != 1  # a shorter weakness may still fit
        if is_full or size > (min(about, left) if kind == 0 else left):
            missing[kind] += 1
            continue
        left -= size
        about -= size if kind == 0 else 0
        chosen.add(at)
    text = "".join(
        block.text
        for at, block in enumerate(blocks)
        if at in chosen or (not block.text.strip() and at - 1 in chosen)
    )
    return text, [
        f"{number} {KINDS[kind][number != 1]}" for kind, number in sorted(missing.items()) if number
    ]


def _find_kind(block: Block) -> int:
    if block.section == ABOUT:
        return 0
    return {WEAKNESSES: 1, HISTORY: 2, RESOLVED: 3}[block.section] if block.leaf else 4


def hook_session(wait: float = 0.2) -> str:
    """Read the session id from a hook's JSON on standard input.

    Returns "" for a terminal, for invalid input, and if no complete object arrives: each read waits at most `wait`
    seconds, because the parent process may leave the pipe open.
    """
    text = b""
    try:
        fd = sys.stdin.fileno()
        ready = select.poll()  # `select` refuses descriptors above 1023
        ready.register(fd, select.POLLIN)
        while not os.isatty(fd) and ready.poll(wait * 1000):
            part = os.read(fd, 1 << 16)
            text += part
            if not part or text.rstrip().endswith(b"}"):
                break
        given = json.loads(text)
    except (OSError, ValueError, RecursionError, AttributeError):
        return ""
    session = given.get("session_id") if isinstance(given, Mapping) else None
    return session if isinstance(session, str) else ""


# --- notices. The wording of [REPAIRED], [SYNC], [FIRST SESSION] and of the retests is the seed's and must not change.

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
    if not found:
        return ""
    lines = [f"- {one.label} (last tested {one.tested}, {one.days // 7} weeks ago)\n" for one in found]
    return f"=== RETEST SUGGESTIONS ===\n{''.join(lines)}=== END RETEST SUGGESTIONS ===\n"


def report_status(rows: Rows, now: float) -> Mapping[str, Any]:
    """What the two files contain, the retests and the tags that wait for room (SPEC L-50), and reports that were refused."""
    newest = "SELECT refused FROM learner_found WHERE refused <> '' ORDER BY number DESC LIMIT ?"
    refused = [text for (text,) in rows(newest, REFUSED)][::-1]
    ((count,),) = rows("SELECT coalesce(max(rows), 0) FROM learner_ledger")
    try:
        data = read_plain_bytes(load_paths(os.environ).profile)
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
