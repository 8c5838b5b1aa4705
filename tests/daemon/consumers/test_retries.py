"""Trying rejected prompts again (`tacitd rescue retry`)."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from support_engine import Scene, grew, prompts_of
from support_paid import Asking, paid
from tacitd.consumers import compaction
from tacitd.consumers.retries import _is_deleted, retry_rejected
from tacitd.engine import Engine
from tacitd.errors import UsageError
from tacitd.events import Event
from tacitd.handler import Done, Later, Outcome
from tacitd.methods import build_methods
from tacitd.status import build_status
from tacitd.testing import FakeClock


def lost_twice(tmp: Path) -> Scene:
    """A scene in which the answers for two prompts were lost twice, and a third prompt was handled."""
    scene = Scene(tmp, Asking(), model=paid)
    scene.type("s", "one", "two")
    for _ in range(2):
        scene.dispatcher.runner._closed = True  # every answer from now on comes too late
        scene.settle()
        scene.restart(Asking())
    scene.settle()
    scene.type("s", "three")
    scene.settle()
    assert scene.handler.did == ["u3"] and scene.dispatcher.outcomes.dead_letters.count == 1
    assert [one["id"] for one in scene.dispatcher.outcomes.rescue.list_entries()] == ["u1", "u2"]
    return scene


def run_inline(scene: Scene, patch: pytest.MonkeyPatch) -> None:
    """Let the methods of the socket run in the test's thread."""
    patch.setattr(Engine, "call", lambda engine, work, timeout=None: work())
    patch.setattr(Engine, "sync", lambda engine, timeout=None: scene.sync())


def test_all_of_them_are_tried_again(tmp_path: Path) -> None:
    """RELIABILITY 16: a prompt that was paid for twice is listed; one command tries it again, and nothing else."""
    scene = lost_twice(tmp_path)
    seen = build_status(scene.app)["rescued_by_reason"]
    assert seen == [{"handler": "a", "reason": "begun twice", "texts": 2}]
    assert retry_rejected(scene.app, None) == {"retried": 2, "parked": 0, "gone": []}
    scene.settle()
    assert scene.handler.did == ["u3", "u1", "u2"] and build_status(scene.app)["rescued_by_reason"] == []
    assert (
        scene.dispatcher.outcomes.dead_letters.count == 0
        and scene.dispatcher.outcomes.rescue.list_entries() == []
    )
    scene.restart(Asking())
    scene.settle(60)
    assert scene.handler.words == [] and retry_rejected(scene.app, None)["retried"] == 0


def test_sync_counts_what_was_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer of `sync` has the counts of rejected work, so that `all handled` is not printed."""
    scene = lost_twice(tmp_path)
    run_inline(scene, monkeypatch)
    said = build_methods(scene.app)["sync"]({})
    assert said["done"] and (said["dead_letters"], said["rescued"]) == (1, 2)


def test_parked_work_is_counted(tmp_path: Path) -> None:
    """Work that waits without a known time is tried at once and counted; work with a time is not tried before it."""
    clock = FakeClock()
    later = {"s": Later("no model", "install it"), "t": Later("limit", "", not_before=clock.wall + 1e5)}
    scene = Scene(tmp_path, grew(lambda event: later[event.session]), clock=clock)
    for session in later:
        scene.type(session, session)
    scene.settle()
    assert len(scene.parked()) == 2
    assert retry_rejected(scene.app, {"u1"})["parked"] == 0, "only these ids were asked for"
    assert retry_rejected(scene.app, None) == {"retried": 0, "parked": 1, "gone": []}
    scene.settle(0)
    assert scene.handler.words[2:] == [["s"]]


def test_one_of_them_is_tried_again(tmp_path: Path) -> None:
    """The others stay rejected and listed."""
    scene = lost_twice(tmp_path)
    assert retry_rejected(scene.app, {"u2", "unknown"})["retried"] == 1
    scene.settle()
    assert scene.handler.did == ["u3", "u2"]
    assert [letter["prompts"] for letter in scene.dispatcher.outcomes.dead_letters.read()] == [["u1"]]
    assert [one["id"] for one in scene.dispatcher.outcomes.rescue.list_entries()] == ["u1"]


@pytest.mark.parametrize("compacted", [False, True])
def test_a_crash_before_they_are_handled_forgets_nothing(tmp_path: Path, compacted: bool) -> None:
    """RELIABILITY 2: also if the handler's log was compacted at that start."""
    scene = lost_twice(tmp_path)
    retry_rejected(scene.app, None)
    if compacted:
        compaction.compact_log(scene.engine.consumers["a"], lambda _: True, large=0)
    scene.restart(Asking())
    assert len(scene.dispatcher.outcomes.rescue.list_entries()) == 2
    scene.settle()
    assert scene.handler.did == ["u3", "u1", "u2"] and scene.dispatcher.outcomes.rescue.list_entries() == []


def test_lost_twice_once_more_they_are_rejected_once_more(tmp_path: Path) -> None:
    """RELIABILITY 16: at most two paid calls for each `retry`."""
    scene = lost_twice(tmp_path)
    retry_rejected(scene.app, None)
    for _ in range(3):
        scene.dispatcher.runner._closed = True
        scene.settle()
        scene.restart(Asking())
    scene.settle()
    assert scene.app.budget.get_spending(scene.clock.now()).calls_total == 5
    assert (
        scene.dispatcher.outcomes.dead_letters.count == 1
        and len(scene.dispatcher.outcomes.rescue.list_entries()) == 2
    )


def test_words_whose_transcript_is_gone_stay(tmp_path: Path) -> None:
    """Claude Code deletes transcripts after 30 days: the text is kept, and its ids are named."""
    scene = lost_twice(tmp_path)
    scene.path("s").unlink()
    scene.settle(61)
    assert retry_rejected(scene.app, None) == {"retried": 0, "parked": 0, "gone": ["u1", "u2"]}
    assert len(scene.dispatcher.outcomes.rescue.list_entries()) == 2


def test_a_transcript_that_was_deleted_a_moment_ago_is_gone(tmp_path: Path) -> None:
    """The follower's list is up to a second old: the dead letter would be removed and the prompt never read."""
    scene = lost_twice(tmp_path)
    scene.path("s").unlink()
    assert retry_rejected(scene.app, None) == {"retried": 0, "parked": 0, "gone": ["u1", "u2"]}
    assert (
        scene.dispatcher.outcomes.dead_letters.count == 1
        and len(scene.dispatcher.outcomes.rescue.list_entries()) == 2
    )


def test_words_without_a_dead_letter_whose_transcript_is_gone(tmp_path: Path) -> None:
    """They were parked, or being tried again, when the transcript was deleted: they are named as gone."""
    scene = lost_twice(tmp_path)
    assert retry_rejected(scene.app, None)["retried"] == 2
    # Its transcript exists: it waits.
    assert retry_rejected(scene.app, {"u1"}) == {
        "retried": 0,
        "parked": 0,
        "gone": [],
    }
    scene.path("s").unlink()
    assert retry_rejected(scene.app, {"u1", "unknown"}) == {"retried": 0, "parked": 0, "gone": ["u1"]}
    scene.settle(61)
    assert retry_rejected(scene.app, None) == {"retried": 0, "parked": 0, "gone": ["u1", "u2"]}


def test_a_disk_that_is_full_leaves_them_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """RELIABILITY 3: no work is lost, and a second `retry` succeeds."""
    scene = lost_twice(tmp_path)
    consumer = scene.engine.consumers["a"]

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(consumer.log, "append", full)
        with pytest.raises(OSError, match="No space"):
            retry_rejected(scene.app, None)
    scene.settle()
    assert scene.handler.did == ["u3"] and scene.dispatcher.outcomes.dead_letters.count == 1
    assert retry_rejected(scene.app, None)["retried"] == 2
    scene.settle()
    assert scene.handler.did == ["u3", "u1", "u2"]


def test_dropped_words_are_not_tried_again(tmp_path: Path) -> None:
    """A person deleted them."""
    scene = lost_twice(tmp_path)
    scene.dispatcher.outcomes.rescue.drop_prompt("u1")
    scene.dispatcher.drop_prompts(["u1"])
    assert retry_rejected(scene.app, None)["retried"] == 1


def test_what_is_asked_for_is_named(tmp_path: Path) -> None:
    """Neither ids nor `all` is an error."""

    def answer(event: Event) -> Outcome:
        return Done(data={"did": prompts_of(event)})

    scene = Scene(tmp_path, Asking(answer), model=paid)
    wrong: list[dict[str, Any]] = [{}, {"ids": []}, {"ids": ["a"], "all": True}]
    for params in wrong:
        with pytest.raises(UsageError):
            build_methods(scene.app)["retry"](params)


@pytest.mark.parametrize(
    ("error", "deleted"),
    [
        (FileNotFoundError(2, ""), True),
        (NotADirectoryError(20, ""), True),
        (PermissionError(13, ""), False),
        (OSError(5, ""), False),
    ],
)
def test_a_file_that_is_only_inaccessible_is_not_deleted(
    monkeypatch: pytest.MonkeyPatch, error: OSError, deleted: bool
) -> None:
    """The text of its prompts does not count as all that is left."""

    def stat(path: Path) -> None:
        raise error

    monkeypatch.setattr(Path, "stat", stat)
    assert _is_deleted(Path("/t/a.jsonl")) is deleted
