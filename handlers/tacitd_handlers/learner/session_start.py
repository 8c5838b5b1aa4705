"""The session-start text: the blocks that the learner's skill reads, byte for byte (SPEC L, first page).

It fits into a budget, because Claude Code does not show the model a longer one (SPEC L-50a). The ledger is never opened
here (SPEC L-05). A session start waits for this, and no error keeps the profile from being printed.
"""

from __future__ import annotations

import json
import os
import select
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from msgspec import Struct

from tacitd.clock import SystemClock, local_minutes
from tacitd.errors import FileRefusedError, TacitdError
from tacitd.state.paths import find_home, state_dir
from tacitd_handlers.learner import SCHEMA
from tacitd_handlers.learner.learner_paths import (
    LearnerPaths,
    expand_path,
    load_paths,
    read_file,
    read_section,
    shorten_path,
)
from tacitd_handlers.learner.learner_state import note_session, read_waiting
from tacitd_handlers.learner.notices import (
    FIRST,
    find_retests,
    format_repairs,
    format_retests,
    format_waiting,
)
from tacitd_handlers.learner.profile_text import (
    ABOUT,
    TEMPLATE,
    LearnerProfile,
    Span,
    parse_profile,
    restore_sections,
)
from tacitd_handlers.learner.session_stamps import SessionStamp, find_stamp
from tacitd_handlers.learner.vocabulary import names_a_session

if TYPE_CHECKING:
    from tacitd.contract import Rows, Tx
    from tacitd.session_context.context_request import ContextRequest

BUDGET = 9_000
"""Characters. Claude Code accepts 10,000 from a hook. Of a longer text the model sees the first 2 KB and a path."""
END = "\n=== END LEARNER PROFILE ===\n"
RESERVED = 300
"""Characters for the line about what was left out, without the profile's path."""
NOTICES = 10
"""Notices that a session gets; the rest is printed at the next start."""
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
    if request.occasion not in ("start", "compact") or not is_practice_directory(
        request.cwd, os.environ, request.rows
    ):
        return ""
    places = load_paths(os.environ)
    made = build_text(
        request.rows, places, request.session, local_minutes(SystemClock().now()), request.budget
    )
    note_start(made)
    return made.text


def is_practice_directory(cwd: Path, environ: Mapping[str, str], rows: Rows) -> bool:
    """Whether the learner's blocks belong into the sessions of a directory (`learner.context`, `learner.directories`)."""
    section, user = read_section(environ), find_home(environ)
    chosen, given = section.get("context", "taught"), section.get("directories", ())
    if chosen == "always":
        return True
    names = given.split(",") if isinstance(given, str) else given
    places = [expand_path(str(name).strip(), user) for name in names if str(name).strip()]
    here = Path(os.path.realpath(cwd))
    if any(here.is_relative_to(os.path.realpath(place)) for place in places):
        return True
    taught = rows("SELECT DISTINCT root FROM learner_session WHERE root <> ''") if chosen != "never" else ()
    return any(here.is_relative_to(root) for (root,) in taught)


def build_text(
    rows: Rows,
    places: LearnerPaths,
    session: str,
    now: str,
    budget: int = BUDGET,
    *,
    is_first: bool = False,
) -> SessionText:
    """The session's blocks, at most `budget` characters.

    `session` is the session's id, "" if unknown; `now` the local time as a stamp. `is_first`: the profile was made for it. A profile that does not exist or lacks a heading
    is shown as it will be. Nothing is written.
    """
    at = find_stamp(rows, session, "", places.session_state, now)
    data = _read_profile(places)
    is_first = (
        is_first
        or data is None
        or bool(rows("SELECT 1 FROM learner_session WHERE session = ? AND first_start", at.session))
    )
    data, repaired = _repair(data)
    found = rows(
        "SELECT text FROM learner_notice WHERE coalesce(shown_in, ?) = ? ORDER BY rowid", *(at.session,) * 2
    )
    lines = list(dict.fromkeys([*format_repairs(repaired), *(text for (text,) in found)]))[:NOTICES]
    notices = [*lines, *format_waiting(read_waiting(rows), _parse(data))]
    path = shorten_path(places.profile, places.user)
    text, left_out = render_blocks(data, path, at, notices, now, budget, is_first=is_first)
    return SessionText(text, at, tuple(lines), is_first, left_out)


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


def needs_files(places: LearnerPaths) -> bool:
    """Whether the profile does not exist or lacks a heading."""
    data = _read_profile(places)
    return data is None or _repair(data)[0] != data


def _repair(data: bytes | None) -> tuple[bytes, list[str]]:
    """The profile with its headings, and those that were missing."""
    try:
        return (TEMPLATE, []) if data is None else restore_sections(data)
    except FileRefusedError:
        return data or b"", []


def render_blocks(
    data: bytes,
    path: str,
    at: SessionStamp,
    notices: Sequence[str],
    now: str,
    budget: int = BUDGET,
    *,
    is_first: bool = False,
) -> tuple[str, str]:
    """Format the blocks in at most `budget` characters, and return them with the line about what was left out.

    `data` are the profile's bytes, `path` is how a person writes its path, `now` is local `YYYY-MM-DDTHH:MM`.
    """
    title = "(new — first session)" if is_first else "(loaded automatically at session start)"
    head = (
        f"=== SESSION METADATA ===\nSession ID: {at.session}\nSession Timestamp: {at.stamp}\n"
        f"=== END SESSION METADATA ===\n=== LEARNER PROFILE {title} ===\n"
    )
    read = _parse(data)
    retests = format_retests(find_retests(read, now)) if read is not None else ""
    profile = data.decode("utf-8", "surrogateescape")
    tail = _render_tail(notices, retests, is_first=is_first)
    room = budget - len(head) - len(END) - len(tail)
    if len(profile) <= room:
        return head + profile + END + tail, ""
    room -= RESERVED + len(path)
    if read is not None:
        profile, parts = fit_profile(read, room)
    else:
        profile, parts = profile[: profile.rfind("\n", 0, max(0, room)) + 1], ["the rest of the profile"]
    left_out = (
        f"[LEFT OUT] {', '.join(parts)}: no room in {budget} characters. "
        f"To read all of it when needed: `cat {_quote_path(path)}`."
    )
    text = head + profile + END + _render_tail([*notices, left_out], retests, is_first=is_first)
    # Longer still only if the notices alone are too long, for example by labels without end.
    return text if len(text) <= budget else text[: text.rfind("\n", 0, budget) + 1], left_out


def fit_profile(profile: LearnerProfile, room: int) -> tuple[str, list[str]]:
    """The profile in at most `room` characters, and what is left out by kind.

    Headings come first, then the parts in the order of `KINDS`, sessions newest first. An entry is printed whole or not at
    all, and what is printed keeps its place. About Me gets what the active weaknesses leave, or a fifth.
    """
    kinds: dict[int, int] = {}
    parts: list[tuple[int, Span]] = []
    headings = [span.start for _, span in profile.sections]
    headings += [profile.resolved_at] if profile.resolved_at is not None else []
    parts += [(3 if placed.resolved else 1, placed.span) for placed in profile.weaknesses]
    newest = sorted(profile.sessions, key=lambda placed: placed.session.stamp, reverse=True)
    parts += [(2, placed.span) for placed in newest]
    taken = {*headings, *(at for _, span in parts for at in range(span.start, span.end))}
    about = {at for name, span in profile.sections if name == ABOUT for at in range(span.start, span.end)}
    for at, line in enumerate(profile.lines):
        if at not in taken and line.strip():
            parts.append((0 if at in about else 4, Span(at, at + 1)))
    chosen = set(headings)
    left = room - len(profile.mark) - sum(len(profile.lines[at]) + 2 for at in headings)
    reserved = min(sum(_measure(profile, span) for kind, span in parts if kind == 1), left * 4 // 5)
    full: set[int] = set()
    for kind, span in sorted(parts, key=lambda part: part[0]):
        size = _measure(profile, span)
        limit = left - reserved if kind == 0 else left
        if kind in full or size > limit:
            full |= {kind} - {1}  # a shorter weakness may still fit
            kinds[kind] = kinds.get(kind, 0) + 1
        else:
            left -= size
            chosen.update(range(span.start, span.end))
    text = profile.mark
    for at, line in enumerate(profile.lines):
        if at in chosen or (not line.strip() and at - 1 in chosen):
            text += line
    return text, [f"{number} {KINDS[kind][number != 1]}" for kind, number in sorted(kinds.items())]


def _measure(profile: LearnerProfile, span: Span) -> int:
    """The characters of a part with a blank line after it."""
    return sum(len(line) for line in profile.lines[span.start : span.end]) + 2


def _render_tail(notices: Sequence[str], retests: str, *, is_first: bool) -> str:
    text = "\n" + "\n".join(notices) + "\n" if notices else ""
    return text + ("\n" + retests if retests else "") + (FIRST + "\n" if is_first else "")


def _quote_path(path: str) -> str:
    """A path quoted for a shell, which still expands `~/`."""
    return f"~/{quote(path[2:])}" if path.startswith("~/") else quote(path)


def _read_profile(places: LearnerPaths) -> bytes | None:
    try:
        return read_file(places.profile)
    except (OSError, FileRefusedError):
        return b""


def _parse(data: bytes) -> LearnerProfile | None:
    try:
        return parse_profile(data)
    except FileRefusedError:
        return None


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
    session = given.get("session_id") if isinstance(given, dict) else None
    return session if isinstance(session, str) else ""
