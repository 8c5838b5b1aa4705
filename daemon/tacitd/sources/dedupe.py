"""Which prompts were seen before, in this transcript or any other. No disk, no clock. `work/prompt_rows` has the same rule in SQL.

Claude Code writes the same text more than once. A fork copies a whole session with the same uuids and a new session id.
A message typed while the model worked is in the queue, in an attachment, and sometimes in a user line (CLAUDE_CODE
section 0 facts 13 and 16, section 6). So a prompt counts as seen

- if its id was seen, in any file;
- otherwise, if its (session, normalised text) was seen within ten minutes and one of the two has no uuid or came through
  the queue. Two typed lines with different uuids are two prompts, even if both are "yes".
"""

from __future__ import annotations

from unicodedata import normalize

from tacitd.events import Prompt
from tacitd.text.hashes import blake2b

WINDOW = 600.0
"""Seconds within which the same text in one session is the same prompt."""

REPEATS = {"bare": ("bare", "queue", "line"), "queue": ("bare", "line"), "line": ("bare", "queue")}
"""For each group, those that it can repeat. `bare`: without a uuid. `queue`: through the queue. `line`: a record of its own."""


def group_of(id: str, kind: str) -> str:
    """The group of a prompt with this id and kind."""
    return "bare" if id.startswith("~") else "queue" if kind == "queued" else "line"


def normalise_text(text: str) -> str:
    """Given text, return it as it is compared: NFKC, case folded, white space folded. Idempotent."""
    folded = text.lower() if text.isascii() else normalize("NFKC", text).casefold()
    return " ".join(folded.split())


def digest_text(text: str) -> bytes:
    """The 16 bytes by which a text is compared."""
    return blake2b(normalise_text(text).encode(errors="replace"), digest_size=16).digest()


class SeenPrompts:
    """The prompts of a run. Keeps digests, never text."""

    def __init__(self) -> None:
        self._ids = set[str]()
        self._typed: dict[tuple[str, bytes], list[tuple[str, float | None]]] = {}
        """By session and text, the groups and times."""

    def add_if_new(self, prompt: Prompt) -> bool:
        """Whether this prompt is new; it is added then."""
        id, group = prompt.id, group_of(prompt.id, prompt.kind)
        if id in self._ids:
            return False
        same = self._typed.setdefault((prompt.session, digest_text(prompt.text)), [])
        if any(other in REPEATS[group] and _is_near(time, prompt.time) for other, time in same):
            return False
        self._ids.add(id)
        same.append((group, prompt.time))
        return True


def _is_near(one: float | None, other: float | None) -> bool:
    return one is None or other is None or abs(one - other) <= WINDOW
