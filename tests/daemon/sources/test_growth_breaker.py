"""The growth breaker."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.sources.growth_breaker import HOUR, LIMIT_OF_ALL, GrowthBreaker


class Hand:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.at = 0.0

    def monotonic(self) -> float:
        return self.at


def _loop(breaker: GrowthBreaker, hand: Hand, sessions: int, *, gap: float = 1.0, first: int = 0) -> None:
    for i in range(first, first + sessions):
        hand.at += gap
        breaker.note_session("/w", f"s{i}", 1.7e9 + hand.at)


def test_closes_above_the_limit_and_says_so() -> None:
    """RELIABILITY row 16: a loop of self-made sessions stops at the breaker; other directories continue."""
    hand = Hand()
    breaker = GrowthBreaker(hand.monotonic)
    _loop(breaker, hand, 30)
    assert not breaker.is_closed("/w") and breaker.list_degradations() == []
    _loop(breaker, hand, 1, first=30)
    assert breaker.is_closed("/w") and not breaker.is_closed("/other")
    (problem,) = breaker.list_degradations()
    assert problem.id == "breaker.closed" and "/w" in problem.what and problem.hint


def test_opens_when_the_last_hour_falls_under_half() -> None:
    """DESIGN "Model": it opens by itself when they stop."""
    hand = Hand()
    breaker = GrowthBreaker(hand.monotonic)
    _loop(breaker, hand, 40)
    hand.at = HOUR + 25
    assert breaker.is_closed("/w"), "15 are left"
    hand.at += 1
    assert not breaker.is_closed("/w") and breaker.list_degradations() == []


def test_the_same_session_counts_once() -> None:
    """DESIGN "Model": sessions are counted, not records."""
    hand = Hand()
    breaker = GrowthBreaker(hand.monotonic)
    for _ in range(100):
        breaker.note_session("/w", "s", 1.7e9)
    assert not breaker.is_closed("/w")


def test_catching_up_on_a_week_of_ordinary_work_closes_nothing() -> None:
    """DESIGN "Priorities", 2: the daemon was off while a person worked."""
    breaker = GrowthBreaker(lambda: 0.0)
    for i in range(100):
        breaker.note_session("/w", f"s{i}", 1.7e9 + 200.0 * i * ((-1) ** i))
    assert not breaker.is_closed("/w")
    for i in range(31):
        breaker.note_session("/w", f"loop{i}", 1.6e9 - i)
    assert breaker.is_closed("/w"), "a loop that ran while we were off is a loop all the same"


@given(st.lists(st.floats(1, 2000), min_size=1, max_size=80), st.integers(1, 6))
@examples(40)
def test_closed_only_if_some_hour_held_more_than_the_limit(gaps: list[float], limit: int) -> None:
    """DESIGN "Model": more new sessions per hour than the limit, in any order of gaps."""
    hand = Hand()
    breaker = GrowthBreaker(hand.monotonic, limit)
    times: list[float] = []
    for i, gap in enumerate(gaps):
        hand.at += gap
        times.append(hand.at)
        breaker.note_session("/w", str(i), hand.at)
        lately = sum(1 for time in times if time > hand.at - HOUR)
        if lately > limit:
            assert breaker.is_closed("/w")
        if 2 * lately < limit:
            assert not breaker.is_closed("/w")


def _everywhere(
    breaker: GrowthBreaker, hand: Hand, sessions: int, *, gap: float = 1.0, client: str = ""
) -> None:
    """Each session is in a directory of its own."""
    for i in range(sessions):
        hand.at += gap
        breaker.note_session(f"/w{i}", f"s{i}", 1.7e9 + hand.at, client)


def test_a_loop_over_many_directories_is_stopped_too() -> None:
    """RELIABILITY row 16: each directory has one session; the total is more than a person starts."""
    hand = Hand()
    breaker = GrowthBreaker(hand.monotonic)
    _everywhere(breaker, hand, LIMIT_OF_ALL)
    assert not any(breaker.is_closed(f"/w{i}", f"s{i}") for i in range(LIMIT_OF_ALL))
    breaker.note_session("/last", "last", 1.7e9 + hand.at)
    assert all(breaker.is_closed(f"/w{i}", f"s{i}") for i in range(LIMIT_OF_ALL)) and breaker.is_closed(
        "/last", "last"
    )
    assert breaker.is_closed("/last") and not breaker.is_closed("/never")
    assert not breaker.is_closed("/w1", "begun yesterday"), "it was not counted"
    (problem,) = breaker.list_degradations()
    assert (
        problem.id == "breaker.closed"
        and f"{LIMIT_OF_ALL + 1} directories" in problem.what
        and "tacitd resume" in problem.hint
    )


def test_what_closed_all_waits_as_long_as_the_loop_goes_on() -> None:
    """A session of the loop is not released because it is older than an hour."""
    hand = Hand()
    breaker = GrowthBreaker(hand.monotonic)
    _everywhere(breaker, hand, 300, gap=30.0)
    assert breaker.is_closed("/w3", "s3") and breaker.is_closed("/w3")
    where, seconds = breaker.get_reason("/w3", "s3") or ("", 0.0)
    assert "all directories" in where and 0 < seconds < HOUR
    hand.at += seconds - 1
    assert breaker.is_closed("/w3", "s3")
    hand.at += 1
    assert not breaker.is_closed("/w3", "s3") and breaker.list_degradations() == []


def test_a_loop_in_one_directory_closes_no_other() -> None:
    """The directory is closed by its own rate; a person continues in others."""
    hand = Hand()
    breaker = GrowthBreaker(hand.monotonic)
    _loop(breaker, hand, 500)
    breaker.note_session("/mine", "mine", 1.7e9 + hand.at)
    assert breaker.is_closed("/w", "s1") and not breaker.is_closed("/mine", "mine")


def test_sessions_of_running_clients_are_a_persons() -> None:
    """No false alarm for twenty terminals with ten sessions each, also if a loop closed the directory."""
    hand = Hand()
    breaker = GrowthBreaker(hand.monotonic)
    for i in range(200):
        hand.at += 1
        breaker.note_session("/w", f"mine{i}", 1.7e9 + hand.at, f"client{i % 20}")
    assert not breaker.is_closed("/w", "mine1", "client1") and breaker.list_degradations() == []
    _loop(breaker, hand, 31)
    assert breaker.is_closed("/w", "s1") and not breaker.is_closed("/w", "mine1", "client1")
    hand.at += HOUR - 1
    assert not breaker.is_closed("/w", "mine1", "client1"), "its client vouches for it as long as it is known"


def test_one_client_vouches_for_as_many_as_a_directory_may_have() -> None:
    """No guard is relied on alone: a program can write session files too."""
    hand = Hand()
    breaker = GrowthBreaker(hand.monotonic)
    _everywhere(breaker, hand, 30, client="one")
    assert not breaker.is_closed("/w1", "s1", "one")
    for i in range(100):
        breaker.note_session(f"/x{i}", f"x{i}", 1.7e9 + hand.at, "one")
    assert breaker.is_closed("/x99", "x99", "one")


def test_a_person_lets_it_go_on() -> None:
    """`tacitd resume`: waiting work continues, and new sessions are counted from zero."""
    hand = Hand()
    breaker = GrowthBreaker(hand.monotonic)
    _loop(breaker, hand, 40)
    assert not breaker.release_sessions(lambda cwd, session: cwd == "/other") and breaker.is_closed(
        "/w", "s1"
    )
    assert breaker.release_sessions(lambda cwd, session: cwd == "/w")
    assert (
        not breaker.is_closed("/w", "s1")
        and not breaker.is_closed("/w")
        and breaker.list_degradations() == []
    )
    assert not breaker.release_sessions(lambda cwd, session: True), "nothing waits"
    _loop(breaker, hand, 30, first=40)
    assert not breaker.is_closed("/w", "s69")
    _loop(breaker, hand, 1, first=70)
    assert breaker.is_closed("/w", "s70") and not breaker.is_closed("/w", "s1")


def test_a_person_lets_one_session_go_on() -> None:
    """`tacitd resume --session`: only that session continues."""
    hand = Hand()
    breaker = GrowthBreaker(hand.monotonic)
    _loop(breaker, hand, 40)
    assert breaker.release_sessions(lambda cwd, session: session == "s3")
    assert not breaker.is_closed("/w", "s3") and breaker.is_closed("/w", "s4")


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.floats(0, 2000), st.integers(0, 2), st.booleans()),
        min_size=1,
        max_size=120,
    )
)
@examples(60)
def test_nothing_is_kept_for_ever_and_all_opens(steps: list[tuple[int, float, int, bool]]) -> None:
    """RELIABILITY row 18; whatever happened, two quiet hours open everything."""
    hand = Hand()
    breaker = GrowthBreaker(hand.monotonic, 3, 5)
    for i, (place, gap, client, opens) in enumerate(steps):
        hand.at += gap
        breaker.note_session(f"/{place}", f"s{i}", hand.at, f"c{client}" if client else "")
        if opens and place == 0:
            breaker.release_sessions(lambda cwd, session: cwd == "/0")
            assert not breaker.is_closed("/0", f"s{i}")
        reason = breaker.get_reason(f"/{place}", f"s{i}")
        assert (reason is not None) is breaker.is_closed(f"/{place}", f"s{i}")
        assert reason is None or 0 <= reason[1] <= HOUR + 1e-6  # sums of floats are not exact
    hand.at += 2 * HOUR
    assert breaker.list_degradations() == [] and not any(breaker.is_closed(f"/{i}") for i in range(4))
    hand.at += HOUR
    breaker.note_session("/new", "new", hand.at)
    assert [*breaker._places] == ["/new"] and not breaker._clients and not breaker._excused
    assert len(breaker._all.held) == 1
