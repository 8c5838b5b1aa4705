"""The state of a session for which seed 001 has no field, as notes in `context` (SPEC P-26). Pure.

The notes have fixed beginnings: the last prompts, the end of the assistant's last text, the edited files, the branch. A person's
note may begin in the same way, so they are found again by what was written. They are replaced as the session goes on, and
take only places that no other note needs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct

from tacitd_handlers.continuity.stored_progress import TranscriptProgress

EDITED = 8
"""Files that are named at most, the most edited ones first."""
BEFORE, PROMPT, SAID, FILES, BRANCH = (
    "Prompt before: ",
    "Last prompt: ",
    "Assistant at the end: ",
    "Files edited: ",
    "Branch: ",
)
ANSWER_DUE = "Assistant before the last prompt: "
"""Instead of `SAID`, if the last prompt has no answer yet: what the prompt answers."""
NEWER = "Summary since then: "
"""A summary that is newer than the one that a person wrote, which stays in its field."""
LABELS = (NEWER, ANSWER_DUE, BEFORE, PROMPT, SAID, FILES, BRANCH)


class SplitNotes(Struct, frozen=True):
    """The notes of a session's file."""

    state: Mapping[str, str]
    """Those of this module: the text by its label."""
    others: Sequence[str]
    """A person's notes, and answers to questions."""


def make_state_notes(now: TranscriptProgress) -> tuple[str, ...]:
    """Return the notes of the state, the most useful first."""
    made = [(SAID if now.answered or not now.typed else ANSWER_DUE, now.said)]
    if now.typed:
        asked = f' (asked: "{now.replied}")' if now.replied and now.answered else ""
        made.append((PROMPT, now.typed[-1] + asked))
    files = sorted(now.edits.items(), key=lambda one: -one[1])
    made.append(
        (FILES, ", ".join(f"{path} ({count})" if count > 1 else path for path, count in files[:EDITED]))
    )
    made.append((BRANCH, now.branch))
    if len(now.typed) > 1:
        made.append((BEFORE, now.typed[-2]))
    return tuple(label + text for label, text in made if text)


def list_own_notes(now: TranscriptProgress) -> frozenset[str]:
    """Return the notes that tacitd wrote last, and those whose write a crash may have interrupted; answers not included."""
    summaries = {NEWER + one for one in (now.written_summary, now.summary, *now.pending_texts) if one}
    return frozenset({*now.written_state, *now.pending_texts, *summaries})


def add_state_notes(
    have: Sequence[Any], others: Sequence[Any], old: Collection[str], new: Sequence[str], most: int
) -> list[Any]:
    """Return the notes of a file: `others` have the first right to the `most` places, then come the new notes of the state.

    `have`: the notes in the file. One of `new` that was written before (`old`) and that a person removed is not added again.
    """
    state = [one for one in new if (one not in old or one in have) and one not in others]
    return [*others, *state[: max(0, most - len(others))]]


def split_notes(found: Sequence[Any], own: Collection[str] | None = None) -> SplitNotes:
    """Return the notes of a file by kind. What is not a text is left out.

    `own`: the notes that tacitd wrote. If that is not known (None), the last of several with one beginning counts as its.
    """
    state: dict[str, str] = {}
    others: list[str] = []
    for one in reversed(found):
        if not isinstance(one, str):
            continue
        label = next((label for label in LABELS if one.startswith(label)), "")
        if label and label not in state and (own is None or one in own):
            state[label] = one[len(label) :]
        else:
            others.append(one)
    return SplitNotes(state, others[::-1])
