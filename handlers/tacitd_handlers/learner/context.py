"""The session-start text: the blocks that the learner's skill reads, byte for byte (SPEC L, first page).

It fits into a budget, because Claude Code does not show the model a longer one (SPEC L-50a): the notices are printed,
and the profile gets the rest of the room. The ledger is never opened here (SPEC L-05). Repairs that the daemon made in
it are read from the notes. A session start waits for this, so imports are few, and no error keeps the profile from
being printed.
"""

from __future__ import annotations

import json
import os
import select
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import accumulate

from msgspec import Struct

from tacitd.clock import Clock, local_minutes
from tacitd.errors import FileRefusedError, TacitdError
from tacitd.files.replaced import edit_file
from tacitd_handlers.learner.formats.ledger_md import HEADER
from tacitd_handlers.learner.formats.profile_md import (
    TEMPLATE,
    LearnerProfile,
    parse_profile,
    restore_sections,
)
from tacitd_handlers.learner.learner_paths import LearnerPaths, quote_path, shorten_path
from tacitd_handlers.learner.profile_excerpt import ProfileExcerpt, fit_profile
from tacitd_handlers.learner.rules.retests import find_retests, format_block
from tacitd_handlers.learner.rules.session_stamps import SessionStamp, parse_state, resolve_session
from tacitd_handlers.learner.rules.vocabulary import names_a_session
from tacitd_handlers.learner.session_notes import NotesState, SessionNotes
from tacitd_handlers.learner.start_lines import FIRST, format_repairs, format_waiting

BUDGET = 9_000
"""Characters. Claude Code accepts 10,000 from a hook. Of a longer text the model sees the first 2 KB and a path."""
END = "\n=== END LEARNER PROFILE ===\n"
RESERVED = 300
"""Characters for the line about what was left out, without the profile's path."""
SHARE = 3
"""Lines for the next session start get at most one part in so many of the budget; the rest is printed next time."""


class ContextText(Struct, frozen=True):
    """The text for standard output, and a warning for standard error."""

    text: str
    trouble: str = ""


class ProfileFacts(Struct, frozen=True):
    """What the blocks are made of, besides the notes."""

    data: bytes
    path: str
    """The profile's path, as a person writes it."""
    restored: Sequence[str] = ()
    """The sections that were restored just now."""
    first: bool = False
    """Whether this is a first session, which chooses the header and the last line (SPEC L-51)."""


def build_context(places: LearnerPaths, session: str, clock: Clock, budget: int = BUDGET) -> ContextText:
    """Prepare the profile and return the session's blocks, at most `budget` characters.

    `session` is the session's id, "" if unknown. Notes the session's stamp, and marks the lines as printed.
    """
    notes, now = SessionNotes(places.home), local_minutes(clock.now())
    known = _load_notes(notes)
    at = resolve_session(session, "", known.stamps, read_session_state(places), now)
    ready = _prepare(places)
    first = ready.made or at.session in known.firsts
    facts = ProfileFacts(ready.data, shorten_path(places.profile, places.user), ready.restored, first)
    shown = _count_that_fit(known.pending_lines, budget // SHARE)
    known.pending_lines = known.pending_lines[:shown]
    text, left_out = render_blocks(facts, at, known, now, budget)
    with suppress(OSError, TacitdError):  # on a full disk the profile is still printed
        _note(notes, known, at, clock.now(), ready.restored, first=first)
    return ContextText(text, ready.trouble or left_out)


def render_blocks(
    facts: ProfileFacts, at: SessionStamp, known: NotesState, now: str, budget: int = BUDGET
) -> tuple[str, str]:
    """Format the blocks in at most `budget` characters, and return them with the line about what was left out.

    `now` is local `YYYY-MM-DDTHH:MM`.
    """
    title = "(new — first session)" if facts.first else "(loaded automatically at session start)"
    head = (
        f"=== SESSION METADATA ===\nSession ID: {at.session}\nSession Timestamp: {at.stamp}\n"
        f"=== END SESSION METADATA ===\n=== LEARNER PROFILE {title} ===\n"
    )
    read = _read(facts.data)
    lines = [*format_repairs(facts.restored), *known.pending_lines, *format_waiting(known.waiting_tags, read)]
    suggestions = format_block(find_retests(read, now)) if read is not None else ""
    profile = facts.data.decode("utf-8", "surrogateescape")
    tail = _render_tail(lines, suggestions, first=facts.first)
    if len(head) + len(profile) + len(END) + len(tail) <= budget:
        return head + profile + END + tail, ""
    room = budget - len(head) - len(END) - len(tail) - RESERVED - len(facts.path)
    excerpt = fit_profile(read, room) if read is not None else _cut_text(profile, room)
    left_out = (
        f"[LEFT OUT] {', '.join(excerpt.left_out)}: no room in {budget} characters. "
        f"To read all of it when needed: `cat {quote_path(facts.path)}`."
    )
    text = head + excerpt.text + END + _render_tail([*lines, left_out], suggestions, first=facts.first)
    # Longer still only if the notices alone are too long, for example by labels without end.
    return text if len(text) <= budget else text[: text.rfind("\n", 0, budget) + 1], left_out


def _cut_text(profile: str, room: int) -> ProfileExcerpt:
    """The first lines of a profile that cannot be parsed."""
    return ProfileExcerpt(profile[: profile.rfind("\n", 0, max(0, room)) + 1], ("the rest of the profile",))


def _count_that_fit(lines: Sequence[str], room: int) -> int:
    """How many of the first lines fit; at least one if there is any."""
    sizes = list(accumulate(len(line) + 1 for line in lines))
    return max(min(1, len(lines)), sum(size <= room for size in sizes))


def _render_tail(lines: Sequence[str], suggestions: str, *, first: bool) -> str:
    text = "\n" + "\n".join(lines) + "\n" if lines else ""
    return text + ("\n" + suggestions if suggestions else "") + (FIRST + "\n" if first else "")


def read_session_state(places: LearnerPaths) -> SessionStamp | None:
    """The session and stamp in the session-state file, or None if it is missing or incomplete."""
    try:
        return parse_state(places.session_state.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None


class PreparedProfile(Struct, frozen=True):
    """The profile's bytes after creation and repair."""

    data: bytes
    made: bool = False
    restored: tuple[str, ...] = ()
    trouble: str = ""


def _prepare(places: LearnerPaths) -> PreparedProfile:
    """Create both files if there is no profile (SPEC L-51), and restore missing sections (SPEC L-02)."""
    trouble = ""
    made, restored = False, list[str]()

    def whole(data: bytes | None) -> bytes | None:
        nonlocal made
        made = data is None
        found, restored[:] = (TEMPLATE, []) if data is None else restore_sections(data)
        return found

    try:
        new = not os.path.lexists(places.profile)
        edit_file(places.profile, whole, mode=0o600 if new else None)
        if made and not os.path.lexists(places.ledger):
            edit_file(places.ledger, lambda data: HEADER if data is None else None, mode=0o600)
    except (OSError, FileRefusedError) as error:
        trouble, restored = str(error), []
    try:
        return PreparedProfile(places.profile.read_bytes(), made, tuple(restored), trouble)
    except OSError as error:
        return PreparedProfile(b"", False, (), trouble or str(error))


def _note(
    notes: SessionNotes,
    known: NotesState,
    at: SessionStamp,
    now: float,
    restored: tuple[str, ...],
    *,
    first: bool,
) -> None:
    if names_a_session(at.session) and (at.session not in known.stamps):
        notes.record_stamp(at.session, at.stamp, now, first=first)
    if restored:
        notes.record_restored({*known.restored, *restored}, now)
    notes.mark_shown(len(known.pending_lines), now)
    notes.flush()


def _load_notes(notes: SessionNotes) -> NotesState:
    try:
        return notes.read_state()
    except OSError:
        return NotesState()


def _read(data: bytes) -> LearnerProfile | None:
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
