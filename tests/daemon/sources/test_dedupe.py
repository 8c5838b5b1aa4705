"""The same words said once are one prompt; said twice they are two."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.events import Prompt, PromptKind
from tacitd.sources.dedupe import SeenPrompts, normalise_text


def prompt(
    text: str = "yes",
    uuid: str = "",
    kind: PromptKind = "typed",
    time: float | None = 1000.0,
    session: str = "s",
    cwd: str = "/p",
) -> Prompt:
    return Prompt(kind, text, session, uuid, time, cwd)


def test_a_fork_copies_under_the_same_uuid() -> None:
    """CLAUDE_CODE section 0 fact 13: forks share uuids and have another session."""
    seen = SeenPrompts()
    assert seen.add_if_new(prompt(uuid="u1"))
    assert seen.has_prompt(prompt(uuid="u1", session="fork", time=9999.0))
    assert not seen.has_prompt(prompt(uuid="u1#1"))


def test_two_typed_lines_are_two_prompts() -> None:
    """CLAUDE_CODE section 6, dedupe key: uuid first. "yes" twice is two prompts."""
    seen = SeenPrompts()
    seen.add_prompt(prompt(uuid="u1"))
    assert not seen.has_prompt(prompt(uuid="u2", time=1180.0))


def test_without_uuid_the_words_count_for_ten_minutes() -> None:
    """CLAUDE_CODE section 6, dedupe key: (session, normalised text, ten minutes)."""
    seen = SeenPrompts()
    seen.add_prompt(prompt("Use  PNPM\n"))
    assert seen.has_prompt(prompt("use pnpm", time=1599.0))
    assert seen.has_prompt(prompt("use pnpm", time=401.0, uuid="u"))
    assert not seen.has_prompt(prompt("use pnpm", time=1601.0))
    assert not seen.has_prompt(prompt("use pnpm", session="other", time=1001.0))


def test_a_queued_message_and_its_user_line_are_one() -> None:
    """CLAUDE_CODE section 6 rule 4: the queue, the attachment and the user line contain the same prompt."""
    seen = SeenPrompts()
    seen.add_prompt(prompt("stop that", uuid="q1", kind="queued"))
    assert seen.has_prompt(prompt("stop that", uuid="u9", time=1100.0))
    assert not seen.has_prompt(prompt("stop that", uuid="q2", kind="queued", time=1100.0))
    seen.add_prompt(prompt("go on", uuid="u5"))
    assert seen.has_prompt(prompt("go on", uuid="q7", kind="queued", time=900.0))


@examples(60)
@given(st.text(max_size=60))
def test_normalised_is_stable(text: str) -> None:
    """X-05: the result does not depend on how often text was normalised."""
    assert normalise_text(normalise_text(text)) == normalise_text(text)
    assert normalise_text(f"  {text}\t") == normalise_text(text)
