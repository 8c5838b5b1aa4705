"""The lanes of a handler: one for each project, or one for all; none keeps another waiting."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_engine import Scene, done, grew, prompts_of
from support_examples import examples
from tacitd.consumers.consumer import Consumer
from tacitd.dispatch.lanes import JOINING, Lanes
from tacitd.dispatch.work_item import LaneKey, WorkItem
from tacitd.events import Due, TranscriptGrew
from tacitd.handler import Later, Plugin


def make_lanes(limit: int, *, single_store: bool = False) -> tuple[Lanes, Any]:
    """The lanes of one handler that does nothing, and its consumer."""
    nothing: Any = None
    consumer = Consumer(
        Plugin("a", "none", lanes=limit, single_store=single_store), nothing, nothing, nothing
    )
    return Lanes({"a": consumer}, lambda: 0.0), consumer


@examples(100)
@given(st.integers(0, 1 << 30), st.integers(1, 3), st.booleans())
def test_a_lane_runs_one_item_at_a_time_in_order(seed: int, limit: int, single_store: bool) -> None:
    """DESIGN "Dispatch": whatever is queued and released in which order; at most `Plugin.lanes` are busy, and none of
    them is kept waiting."""
    chance = random.Random(seed)
    lanes, consumer = make_lanes(limit, single_store=single_store)
    began: dict[LaneKey, list[int]] = {}
    queued: dict[LaneKey, list[int]] = {}
    busy: set[LaneKey] = set()
    names: dict[WorkItem, int] = {}

    def try_offer(item: WorkItem) -> LaneKey | None:
        assert item.lane not in busy and len(busy) < limit
        began.setdefault(item.lane, []).append(names[item])
        busy.add(item.lane)
        lanes.begin(item.lane)
        return None

    for number in range(60):
        if chance.random() < 0.6:
            key = lanes.make_key("a", chance.choice("pqrs"))
            item = WorkItem(consumer, None, key, key, Due("j"))
            names[item] = number
            queued.setdefault(key, []).append(number)
            lanes.push(item)
        elif busy:
            key = chance.choice(sorted(busy))
            busy.remove(key)
            lanes.release(key)
        lanes.run_ready(try_offer)
        waiting = {key for key in queued if len(began.get(key, ())) < len(queued[key])}
        assert lanes.list_busy().keys() == busy and len(busy) <= limit
        assert len(busy) == limit or waiting <= busy, "a lane that is free waits for nothing"
    while busy:
        lanes.release(busy.pop())
        lanes.run_ready(try_offer)
    assert began == queued and len(lanes) == 0 and len(queued) <= (1 if single_store else 4)


@examples(100)
@given(st.integers(0, 1 << 30), st.integers(1, 3))
def test_only_light_items_join_others_and_none_overtakes(seed: int, limit: int) -> None:
    """A lane begins its items in order, also if some may join what is in work; one that may not has the lane to itself."""
    chance = random.Random(seed)
    lanes, consumer = make_lanes(limit)
    names: dict[WorkItem, int] = {}
    light: set[WorkItem] = set()
    queued: dict[LaneKey, list[int]] = {}
    began: dict[LaneKey, list[int]] = {}
    working: dict[LaneKey, list[WorkItem]] = {}

    def try_offer(item: WorkItem) -> LaneKey | None:
        if item not in light and (busy := lanes.close(item.lane)) is not None:
            return busy
        others = working.setdefault(item.lane, [])
        assert not others or {item, *others} <= light
        others.append(item)
        assert len(others) <= JOINING and sum(map(bool, working.values())) <= limit
        began.setdefault(item.lane, []).append(names[item])
        lanes.begin(item.lane, may_join=item in light)
        return None

    def release(key: LaneKey) -> None:
        working[key].pop(0)
        lanes.release(key)

    for number in range(200):
        if chance.random() < 0.7:
            key = lanes.make_key("a", chance.choice("pqrs"))
            item = WorkItem(consumer, None, key, key, Due("j"))
            names[item] = number
            if chance.random() < 0.8:
                light.add(item)
            queued.setdefault(key, []).append(number)
            lanes.push(item)
        elif busy := [key for key, items in working.items() if items]:
            release(chance.choice(sorted(busy)))
        lanes.run_ready(try_offer)
        assert lanes.list_busy().keys() == {key for key, items in working.items() if items}
        assert not lanes.has_ready and lanes.is_busy == any(working.values())
    while busy := [key for key, items in working.items() if items]:
        release(chance.choice(sorted(busy)))
        lanes.run_ready(try_offer)
    assert began == queued and len(lanes) == 0


def test_a_flood_without_prompts_keeps_no_other_project_waiting() -> None:
    """A worker that gets further items as fast as it handles them would never be free for another lane."""
    lanes, consumer = make_lanes(1)
    flood, other = lanes.make_key("a", "p"), lanes.make_key("a", "q")
    began: list[LaneKey] = []

    def try_offer(item: WorkItem) -> LaneKey | None:
        began.append(item.lane)
        lanes.begin(item.lane, may_join=True)
        return None

    for _ in range(5 * JOINING):
        lanes.push(WorkItem(consumer, None, flood, flood))
    lanes.run_ready(try_offer)
    lanes.push(WorkItem(consumer, None, other, other))
    while other not in began:
        lanes.release(flood)
        lanes.run_ready(try_offer)
    assert began.count(flood) == JOINING


def test_no_more_join_than_may_if_one_is_queued_while_the_last_is_examined() -> None:
    """Examining an item can wake others of its lane: those that follow it."""
    lanes, consumer = make_lanes(1)
    key = lanes.make_key("a", "p")
    *items, late = [WorkItem(consumer, None, key, key) for _ in range(JOINING + 1)]
    began: list[WorkItem] = []

    def try_offer(item: WorkItem) -> LaneKey | None:
        if item is items[-1]:
            lanes.push(late)
        began.append(item)
        lanes.begin(key, may_join=True)
        return None

    for item in items:
        lanes.push(item)
    lanes.run_ready(try_offer)
    assert began == items and not lanes.has_ready
    for _ in items:
        lanes.release(key)
    lanes.run_ready(try_offer)
    assert began[-1] is late


def test_transcripts_without_a_prompt_are_given_to_a_worker_together(tmp_path: Path) -> None:
    """A change of threads for each of thousands of transcripts costs more than handling them. A prompt waits for them, so that no
    two batches of a project are handled at once."""
    scene = Scene(tmp_path, held=True, lanes=2)
    sessions = [f"s{number}" for number in range(JOINING + 8)]
    scene.type("typed", "use pnpm")
    for session in sessions:
        scene.append(session, scene.said(session, "hello"))
    scene.settle()
    while scene.pool.works:
        scene.work()
        scene.settle()
    handled = len(scene.handler.events)
    for session in sessions:
        scene.append(session, scene.said(session, "done"))
    scene.settle()
    scene.type("typed", "use ruff")
    scene.settle(0.0)
    assert len(scene.pool.works) == 1
    scene.work()
    taken = [event for event in scene.handler.events[handled:] if isinstance(event, TranscriptGrew)]
    assert len(taken) == JOINING and scene.handler.words == [["use pnpm"]]
    scene.settle(0.0)
    while scene.pool.works:
        scene.work()
        scene.settle(0.0)
    taken = [event for event in scene.handler.events[handled:] if isinstance(event, TranscriptGrew)]
    assert len(taken) == JOINING + 9 and len({event.transcript for event in taken}) == JOINING + 9
    assert scene.handler.did == [*scene.handler.did[:1], *prompts_of(taken[-1])], (
        "in the order in which they came"
    )


def test_an_item_whose_lane_changed_while_it_was_queued_keeps_its_number() -> None:
    """A session's directory becomes known late: its work comes before what was queued in that project after it."""
    lanes, consumer = make_lanes(1)
    first, second = (WorkItem(consumer, None, ("a", name), ("a", name), Due(name)) for name in "pq")
    lanes.push(first)
    lanes.push(second)
    first.lane = second.lane
    order: list[WorkItem] = []
    lanes.run_ready(lambda item: order.append(item))
    assert order == [first, second] and len(lanes) == 0


def _work_off(scene: Scene) -> None:
    while scene.pool.works:
        scene.work()
        scene.settle(0)


def test_a_handler_with_a_single_store_has_one_lane(tmp_path: Path) -> None:
    """`Plugin.single_store`: the work of all projects is done one after the other, in the order in which it came."""
    scene = Scene(tmp_path, held=True, single_store=True)
    words = []
    for number in range(6):
        (word,) = scene.type(f"s{number}", "one", cwd=scene.project(f"p{number % 3}"))
        words.append(word["uuid"])
        scene.settle()
        assert len(scene.pool.works) == 1
    _work_off(scene)
    assert scene.handler.did == words


def test_a_slow_project_does_not_hold_up_another(tmp_path: Path) -> None:
    """DESIGN "Dispatch": one worker waits for the model in one project, the other does the rest."""
    scene = Scene(tmp_path, held=True, lanes=2)
    for number in range(5):
        scene.begin(f"s{number}")
        scene.settle()
    _work_off(scene)
    scene.type("s0", "slow")
    scene.settle()
    for number in range(1, 5):
        scene.type(f"s{number}", "quick", cwd=scene.project(f"p{number}"))
    scene.settle()
    while len(scene.pool.works) > 1:
        scene.pool.works.rotate(-1)
        scene.work()
        scene.settle(0)
    assert sorted(scene.handler.did) == ["u2", "u3", "u4", "u5"], "everything but the slow one"
    _work_off(scene)
    assert len(scene.handler.did) == 5


@pytest.mark.parametrize("lanes", [1, 2])
def test_a_failing_project_does_not_hold_up_another(tmp_path: Path, lanes: int) -> None:
    """DESIGN "Dispatch": each item has its own back-off, and a worker only for the moment in which it fails."""

    def answer(event: TranscriptGrew) -> Any:
        return Later("no") if event.project == scene.engine.project_of(str(bad)) else done(event)

    scene = Scene(tmp_path, grew(answer), lanes=lanes)
    bad = scene.project("bad")
    for number in range(6):
        scene.type(f"s{number}", "one", cwd=bad if number % 2 else None)
    scene.settle()
    assert len(scene.handler.did) == 3 and scene.parked() == ["no"] * 3


def test_sessions_whose_directory_becomes_known_late_share_a_lane(tmp_path: Path) -> None:
    """CLAUDE_CODE section 13: a transcript begins with records that name no directory."""
    scene = Scene(tmp_path, held=True, lanes=4)
    for session in "stu":
        scene.append(session, scene.title(session))
        scene.settle()
    scene.work(9)
    scene.settle(0)
    for session in "stu":
        scene.type(session, "one")
    scene.settle()
    while scene.pool.works:
        assert len(scene.pool.works) == 1, "one at a time in a project"
        scene.work()
        scene.settle(0)
    assert len(scene.handler.did) == 3
