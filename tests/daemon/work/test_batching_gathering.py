"""How long growth is gathered: pure rules."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.events import Project, Prompt, PromptKind, Record
from tacitd.handler import Gather
from tacitd.work.batching import Batch, seconds_to_gather

NOW = 1e9
PROJECT = Project(Path("/app"), git=True)
QUIET = Gather(quiet=600.0, prompts=3, bytes=100)


def typed(age: float | None, text: str = "use pnpm", kind: PromptKind = "typed") -> Record:
    """A record with one prompt of this age."""
    time = None if age is None else NOW - age
    prompt = Prompt(kind, text, "s", "u", time, "/app")
    return Record(0, 1, "user", time=time, prompts=(prompt,))


def said(age: float | None) -> Record:
    """A record of the assistant."""
    return Record(0, 1, "assistant", time=None if age is None else NOW - age, text="Done.")


def wait(gather: Gather, *records: Record, is_written: bool = True) -> float:
    """The seconds for a batch of these records."""
    return seconds_to_gather(gather, Batch(records, 1, PROJECT), NOW, is_written=is_written)


@pytest.mark.parametrize(
    ("records", "seconds"),
    [
        ([typed(120.0)], 480.0),
        ([typed(5000.0), typed(1.0)], 599.0),
        ([typed(1.0), typed(5000.0)], 599.0),
        ([typed(600.0)], 0.0),
        ([typed(-50.0)], 600.0),
        ([typed(None)], 0.0),
        ([typed(None), typed(10.0)], 590.0),
        ([typed(0.0), typed(0.0), typed(0.0)], 0.0),
        ([typed(0.0), typed(0.0), typed(0.0, "ls", "bash")], 600.0),
        ([typed(0.0), typed(0.0, " ")], 600.0),
        ([typed(0.0, "ä" * 50)], 0.0),
        ([typed(0.0, "ä" * 49)], 600.0),
        ([typed(0.0, "\ud800" * 99)], 600.0),
        ([typed(0.0, "ls", "bash")], 0.0),
        ([said(0.0)], 0.0),
    ],
)
def test_prompts_wait_for_quiet_or_a_limit(records: list[Record], seconds: float) -> None:
    """SPEC S-01: quiet counts from the newest prompt; a clock that was set back does not prolong it; records without
    text for the assistant are not gathered."""
    assert wait(QUIET, *records) == seconds


def test_prompts_are_offered_at_once_where_nothing_may_be_written() -> None:
    """DESIGN "Priorities" 3: they are skipped, and counted as skipped without delay."""
    assert wait(QUIET, typed(0.0), is_written=False) == 0.0


@pytest.mark.parametrize(
    ("records", "seconds"),
    [
        ([said(5.0), typed(1.0)], 15.0),
        ([typed(1.0), said(5.0)], 15.0),
        ([said(20.0), said(0.0)], 0.0),
        ([said(0.0)], 20.0),
        ([said(-1.0)], 0.0),
        ([said(None)], 0.0),
        ([said(None), said(4.0)], 16.0),
    ],
)
def test_records_wait_until_the_first_is_old(records: list[Record], seconds: float) -> None:
    """`Gather.delay`, in any directory; a record from the future or without a time delays nothing."""
    for is_written in (True, False):
        assert wait(Gather(delay=20.0), *records, is_written=is_written) == seconds


def test_the_first_condition_counts() -> None:
    """`Gather` with both conditions, and with none."""
    both = Gather(quiet=600.0, delay=20.0)
    assert wait(both, typed(5.0)) == 15.0 and wait(both, typed(15.0), said(1.0)) == 5.0
    assert wait(Gather(), typed(0.0)) == 0.0


AGES = st.none() | st.floats(-1e6, 1e6)


@examples(100)
@given(st.lists(st.builds(typed, AGES) | st.builds(said, AGES), min_size=1, max_size=5), st.booleans())
def test_a_wait_is_never_longer_than_its_setting(records: list[Record], is_written: bool) -> None:
    """Whatever the clock did: nothing is gathered for ever."""
    assert 0.0 <= wait(QUIET, *records, is_written=is_written) <= 600.0
    assert 0.0 <= wait(Gather(delay=20.0), *records, is_written=is_written) <= 20.0
