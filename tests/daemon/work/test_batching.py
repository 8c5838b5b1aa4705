"""Which records of a transcript are offered together."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.events import NoProject, Project, Prompt, Record
from tacitd.work.batching import Batch, infer_times, make_batch

A, B = Project(Path("/a"), True), Project(Path("/b"), True)


def _project_of(cwd: str) -> Project | NoProject:
    return {"/a": A, "/b": B}.get(cwd) or NoProject(cwd, "none")


def _record(i: int, *cwds: str, text: str = "") -> Record:
    prompts = tuple(
        Prompt("typed", f"w{i}", "s", f"u{i}" + f"#{n}" * n, 0.0, cwd) for n, cwd in enumerate(cwds)
    )
    return Record(i * 10, i * 10 + 10, "user", prompts=prompts, text=text)


RECORDS = st.lists(
    st.tuples(st.sampled_from(["/a", "/b", "/none", ""]), st.booleans()), min_size=1, max_size=12
).map(
    lambda items: [
        _record(i, *([cwd] if cwd else []), text="x" if said else "") for i, (cwd, said) in enumerate(items)
    ]
)


def _all(records: list[Record], limit: int | None = None, unwanted: str = "") -> list[Batch]:
    """Make batches until nothing is left, as the engine does."""
    made, position, end = [], 0, records[-1].end
    while position < end:
        left = [r for r in records if r.start >= position]
        one = make_batch(left, end, lambda p: p.uuid != unwanted, _project_of, "/a", limit)
        made.append(one)
        if one.end <= position:
            break
        position = one.end
    return made


@given(RECORDS, st.none() | st.integers(1, 4))
@examples(80)
def test_no_prompt_is_lost_or_moved(records: list[Record], limit: int | None) -> None:
    """DESIGN "Priorities" 1: batches do not lose or reorder a prompt, whatever their size."""
    made = _all(records, limit)
    assert [p.uuid for one in made for p in one.prompts] == [p.uuid for r in records for p in r.prompts]
    assert made[-1].end == records[-1].end
    assert all(limit is None or len(one.records) <= limit for one in made)


@given(RECORDS)
@examples(50)
def test_a_batch_is_cut_where_the_project_changes(records: list[Record]) -> None:
    """Issue "Dispatch": prompts of one project are not offered for another."""
    for one in _all(records):
        assert {_project_of(p.cwd) for p in one.prompts} <= {one.project}


def test_unwanted_prompts_are_left_out_and_other_text_is_not() -> None:
    """CLAUDE_CODE section 0 fact 13: prompts that a fork copied are not offered again."""
    records = [_record(0, "/a"), _record(1, text="said"), _record(2, "/a")]
    (one,) = _all(records, unwanted="u0")
    assert [p.uuid for p in one.prompts] == ["u2"] and one.records[0].text == "said"


def test_one_line_belongs_to_one_project() -> None:
    """CLAUDE_CODE section 0 fact 7: a damaged line may contain two records of two directories, and must not be
    offered for ever."""
    made = _all([_record(0, "/a", "/b"), _record(1, "/b")])
    assert [len(one.prompts) for one in made] == [2, 1] and made[0].project == A


def test_no_outcome_leaves_a_position_inside_a_record() -> None:
    """DESIGN "Sources": offsets always follow a newline."""
    one = Batch((_record(1, "/a"), _record(2, "/a")), 50, A)
    assert [one.clamp_offset(n) for n in (None, 99, 50, 49, 30, 29, 20, 15, 10, 9, -1)] == [
        50,
        50,
        50,
        30,
        30,
        20,
        20,
        10,
        10,
        0,
        0,
    ]
    assert [p.uuid for p in one.prompts_before(20)] == ["u1"]


@examples(50)
@given(st.lists(st.none() | st.integers(0, 9).map(float), max_size=8))
def test_a_record_without_a_time_is_as_old_as_its_neighbours(times: list[float | None]) -> None:
    """Issue "Reading": the past is not paid for unasked, also if its lines have no time."""
    made = infer_times([Record(i, i + 1, "user", time=time) for i, time in enumerate(times)])
    for i, time in enumerate(times):
        before = [one for one in times[: i + 1] if one is not None]
        behind = [one for one in times[i:] if one is not None]
        assert made[i] == (before[-1] if before else behind[0] if behind else None)
        assert time is None or made[i] == time
