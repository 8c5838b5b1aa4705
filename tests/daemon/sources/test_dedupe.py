"""The same words said once are one prompt; said twice they are two."""

from __future__ import annotations

import pytest

from tacitd.events import Prompt, PromptKind
from tacitd.sources.assembler import SeenPrompts


def prompt(
    text: str = "yes",
    uuid: str = "",
    kind: PromptKind = "typed",
    time: float | None = 1000.0,
    session: str = "s",
    cwd: str = "/p",
) -> Prompt:
    return Prompt(kind, text, session, uuid, time, cwd)


@pytest.mark.parametrize(
    ("first", "second", "is_new"),
    [
        # CLAUDE_CODE section 0 fact 13: forks share uuids and have another session.
        (prompt(uuid="u1"), prompt(uuid="u1", session="fork", time=9999.0), False),
        (prompt(uuid="u1"), prompt(uuid="u1#1"), True),
        # CLAUDE_CODE section 6, dedupe key: the uuid first. "yes" twice is two prompts.
        (prompt(uuid="u1"), prompt(uuid="u2", time=1180.0), True),
        # The same: (session, normalised text, ten minutes).
        (prompt("Use  PNPM\n"), prompt("use pnpm", time=1599.0), False),
        (prompt("Use  PNPM\n"), prompt("use pnpm", time=401.0, uuid="u"), False),
        (prompt("Use  PNPM\n"), prompt("use pnpm", time=1601.0), True),
        (prompt("\ufb01x \u2460 Stra\u00dfe"), prompt("FIX 1  STRASSE", time=1001.0), False),
        (prompt("Use  PNPM\n"), prompt("use pnpm", session="other", time=1001.0), True),
        (prompt("yes"), prompt("yes", session="fork"), False),  # of a queued message
        (prompt("yes", time=None), prompt("yes", time=None, session="fork"), True),
        # Rule 4: the queue, the attachment and the user line contain the same prompt.
        (prompt(uuid="q1", kind="queued"), prompt(uuid="u9", time=1100.0), False),
        (prompt(uuid="q1", kind="queued"), prompt(uuid="q2", kind="queued", time=1100.0), True),
        (prompt(uuid="u5"), prompt(uuid="q7", kind="queued", time=900.0), False),
    ],
)
def test_the_same_words_typed_once_are_one_prompt(first: Prompt, second: Prompt, is_new: bool) -> None:
    seen = SeenPrompts()
    assert seen.add_if_new(first) and seen.add_if_new(second) is is_new
