"""How the prompts of the hooks' benchmark are judged: the pure rules."""

from __future__ import annotations

import pytest

from paired_times import Turn, Verdict, judge_turns

NOISE = (0.0, 4.0, 8.0, 2.0, 6.0, 1.0, 7.0, 3.0, 5.0, 4.0)
"""A busy machine slows the prompts of one turn alike."""


def make_turns(added: float, trivial: float = 1.0, process: float = 10.0) -> list[Turn]:
    return [Turn(50 + n, 50 + n + trivial, 50 + n + added + n % 2, process) for n in NOISE]


@pytest.mark.parametrize(
    ("added", "waits", "word"),
    [(0.0, False, "kept"), (4.0, False, "within noise"), (15.0, False, "MISSED"), (15.0, True, "kept")],
)
def test_what_is_asked_depends_on_whether_the_client_waits(added: float, waits: bool, word: str) -> None:
    """Without waiting the noise, which is 4.5 ms here; otherwise two processes and what `true` adds."""
    found = judge_turns(make_turns(added), waits=waits)
    assert found.word == word
    assert found.asked == pytest.approx(21.0 if waits else 4.5)
    assert found.trivial == 1.0 and found.beyond == pytest.approx(found.reached - 1)
    assert added <= found.interval[0] <= found.reached <= found.interval[1] <= added + 1


def test_a_client_that_waits_may_always_take_the_noise() -> None:
    """Also where hooks cost less than that."""
    assert judge_turns(make_turns(0.0, process=0.1), waits=True).asked == pytest.approx(4.5)


def test_the_same_turns_are_judged_the_same() -> None:
    """The drawing begins with the same seed."""
    assert judge_turns(make_turns(5.0), waits=False) == judge_turns(make_turns(5.0), waits=False)


@pytest.mark.parametrize(
    ("excess", "word"), [((0.1, 3.0), "MISSED"), ((-3.0, 0.0), "kept"), ((-1.0, 0.1), "within noise")]
)
def test_only_an_interval_on_one_side_is_a_result(excess: tuple[float, float], word: str) -> None:
    """What the noise may explain is neither kept nor missed."""
    assert Verdict(1.0, 1.0, (0.0, 2.0), excess, 0.0, 1.0, (0.0, 2.0)).word == word
