"""Which transcript hands over which prompts."""

from __future__ import annotations

from pathlib import Path

from tacitd.dispatch.in_flight import InFlightPrompts

A, B = Path("/a.jsonl"), Path("/b.jsonl")


def test_a_claim_is_one_handlers_and_goes_when_it_was_handled() -> None:
    """CLAUDE_CODE section 0 fact 13."""
    claims = InFlightPrompts()
    claims.claim_prompts("learning", ["u1", "u2"], A)
    assert claims.get_owner("learning", "u1") == A and claims.get_owner("other", "u1") is None
    claims.release_prompts("learning", ["u1", "unknown"])
    assert claims.get_owner("learning", "u1") is None and len(claims) == 1


def test_a_transcript_that_leaves_keeps_nothing() -> None:
    """A claim that lasted would swallow the words of the other transcript for ever."""
    claims = InFlightPrompts()
    claims.claim_prompts("learning", ["u1"], A)
    claims.claim_prompts("other", ["u1"], A)
    claims.claim_prompts("learning", ["u2"], B)
    claims.release_owner(A, "learning")
    assert (claims.get_owner("learning", "u1"), claims.get_owner("other", "u1")) == (None, A)
    claims.release_owner(A)
    assert len(claims) == 1 and claims.get_owner("learning", "u2") == B
