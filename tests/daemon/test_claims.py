"""Which transcript hands over which prompts."""

from __future__ import annotations

from pathlib import Path

from tacitd.claims import Claims

A, B = Path("/a.jsonl"), Path("/b.jsonl")


def test_a_claim_is_one_handlers_and_goes_when_it_was_handled() -> None:
    """CLAUDE_CODE section 0 fact 13."""
    claims = Claims()
    claims.take("learning", ["u1", "u2"], A)
    assert claims.owner("learning", "u1") == A and claims.owner("other", "u1") is None
    claims.release("learning", ["u1", "unknown"])
    assert claims.owner("learning", "u1") is None and len(claims) == 1


def test_a_transcript_that_leaves_keeps_nothing() -> None:
    """A claim that lasted would swallow the words of the other transcript for ever."""
    claims = Claims()
    claims.take("learning", ["u1"], A)
    claims.take("other", ["u1"], A)
    claims.take("learning", ["u2"], B)
    claims.leave(A, "learning")
    assert (claims.owner("learning", "u1"), claims.owner("other", "u1")) == (None, A)
    claims.leave(A)
    assert len(claims) == 1 and claims.owner("learning", "u2") == B
