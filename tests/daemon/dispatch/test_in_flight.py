"""Which transcript has which prompts in flight."""

from __future__ import annotations

from pathlib import Path

from tacitd.dispatch.in_flight import InFlightPrompts

A, B = Path("/a.jsonl"), Path("/b.jsonl")


def test_a_claim_belongs_to_one_handler_and_ends_when_the_prompt_was_handled() -> None:
    """CLAUDE_CODE section 0 fact 13."""
    claims = InFlightPrompts()
    claims.claim_prompts("learning", ["u1", "u2"], A)
    assert claims.get_owner("learning", "u1") == A and claims.get_owner("other", "u1") is None
    claims.release_prompts("learning", ["u1", "unknown"])
    assert claims.get_owner("learning", "u1") is None and len(claims) == 1


def test_a_released_transcript_has_nothing_in_flight() -> None:
    """A claim that is not released would block the prompts of a fork for ever."""
    claims = InFlightPrompts()
    claims.claim_prompts("learning", ["u1"], A)
    claims.claim_prompts("other", ["u1"], A)
    claims.claim_prompts("learning", ["u2"], B)
    claims.release_owner(A, "learning")
    assert (claims.get_owner("learning", "u1"), claims.get_owner("other", "u1")) == (None, A)
    claims.release_owner(A)
    assert len(claims) == 1 and claims.get_owner("learning", "u2") == B
