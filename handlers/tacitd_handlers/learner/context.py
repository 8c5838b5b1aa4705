"""The session-start text: the blocks that the learner's skill reads, byte for byte (SPEC L, first page).

The ledger is never opened here (SPEC L-05). Repairs that the daemon made in it are read from the notes. A session
start waits for this, so imports are few, and no error keeps the profile from being printed.
"""

from __future__ import annotations

import json
import os
import select
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

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
from tacitd_handlers.learner.learner_paths import LearnerPaths
from tacitd_handlers.learner.rules.retests import find_retests, format_block
from tacitd_handlers.learner.rules.session_stamps import SessionStamp, parse_state, resolve_session
from tacitd_handlers.learner.rules.vocabulary import names_a_session
from tacitd_handlers.learner.session_notes import NotesState, SessionNotes
from tacitd_handlers.learner.start_lines import FIRST, format_repairs, format_waiting

LIMIT = 10_000
"""Characters that Claude Code accepts from a hook. Of a longer text the model sees the first 2 KB and a path."""


@dataclass(frozen=True, slots=True)
class ContextText:
    """The text for standard output, and a warning for standard error."""

    text: str
    trouble: str = ""


def build_context(places: LearnerPaths, session: str, clock: Clock) -> ContextText:
    """Prepare the profile and return the session's blocks.

    `session` is the session's id, "" if unknown. Notes the session's stamp, and marks the pending lines as printed.
    """
    notes, now = SessionNotes(places.home), local_minutes(clock.now())
    known = _load_notes(notes)
    at = resolve_session(session, "", known.stamps, read_session_state(places), now)
    ready = _prepare(places)
    first = ready.made or at.session in known.firsts
    text = render_blocks(ready.data, at, known, ready.restored, now, first=first)
    with suppress(OSError, TacitdError):  # on a full disk the profile is still printed
        _note(notes, known, at, clock.now(), ready.restored, first=first)
    if len(text) > LIMIT:
        long = f"{len(text)} characters: Claude Code shows the model the first 2 KB and a path to the rest"
        return ContextText(text, ready.trouble or long)
    return ContextText(text, ready.trouble)


def render_blocks(
    data: bytes, at: SessionStamp, known: NotesState, names: Iterable[str], now: str, *, first: bool
) -> str:
    """Format the blocks.

    `names` are the sections that were restored just now, `now` is local `YYYY-MM-DDTHH:MM`. `first` chooses the
    header and the request of a first session (SPEC L-51).
    """
    title = "(new — first session)" if first else "(loaded automatically at session start)"
    profile = data.decode("utf-8", "surrogateescape")
    text = (
        f"=== SESSION METADATA ===\nSession ID: {at.session}\nSession Timestamp: {at.stamp}\n"
        f"=== END SESSION METADATA ===\n=== LEARNER PROFILE {title} ===\n"
        f"{profile}\n=== END LEARNER PROFILE ===\n"
    )
    read = _read(data)
    lines = [*format_repairs(names), *known.pending_lines, *format_waiting(known.waiting_tags, read)]
    if lines:
        text += "\n" + "\n".join(lines) + "\n"
    suggestions = format_block(find_retests(read, now)) if read is not None else ""
    if suggestions:
        text += "\n" + suggestions
    return text + (FIRST + "\n" if first else "")


def read_session_state(places: LearnerPaths) -> SessionStamp | None:
    """The session and stamp in the session-state file, or None if it is missing or incomplete."""
    try:
        return parse_state(places.session_state.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None


@dataclass(frozen=True, slots=True)
class PreparedProfile:
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
