"""A last record without a newline, through the whole engine: handled once, when its session is over or a person asks."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_engine import Scene, Scripted, gathered, ids, with_words
from support_examples import examples
from tacitd.contract import Done, Later, Outcome, Task

IDLE = 1801.0
"""Seconds after which a session counts as idle."""


def write(scene: Scene, session: str, data: bytes) -> None:
    """Append these bytes as they are."""
    with scene.path(session).open("ab") as out:
        out.write(data)
    os.utime(scene.path(session), (scene.clock.wall, scene.clock.wall))


def record(scene: Scene, session: str, text: str) -> bytes:
    """A prompt's record without its newline."""
    return json.dumps(scene.typed(session, text), ensure_ascii=False).encode()


def opening(scene: Scene, session: str) -> bytes:
    """What interactive clients write before the first prompt: records without a directory."""
    kinds: list[dict[str, Any]] = [
        {"type": "mode", "mode": "normal", "sessionId": session},
        {"type": "permission-mode", "permissionMode": "auto", "sessionId": session},
    ]
    return b"".join(json.dumps(one).encode() + b"\n" for one in kinds)


def test_it_is_handled_when_its_session_is_idle(tmp_path: Path) -> None:
    """CLAUDE_CODE section 13: not before, because a flush may be under way; once, also after a restart."""
    scene = Scene(tmp_path)
    write(scene, "s", opening(scene, "s") + record(scene, "s", "one") + b"\n" + record(scene, "s", "two"))
    scene.settle()
    assert scene.handler.words == [["one"]]
    scene.settle(IDLE)
    assert scene.handler.words == [["one"], ["two"]] and len(scene.handler.ends) == 1
    scene.restart()
    scene.settle(IDLE)
    assert ids(scene) == ["u1", "u2"] and scene.handler.tasks == []


@pytest.mark.parametrize("restarts", [False, True])
def test_it_is_handled_where_only_its_beginning_came_after_the_end(tmp_path: Path, restarts: bool) -> None:
    """The session was over, then it went on, and part of its next line is all that was written. The session is live again,
    and when it is over again, what the line has become counts. Nobody is told a second time of an end before that."""
    scene = Scene(tmp_path)
    write(scene, "s", opening(scene, "s") + record(scene, "s", "one") + b"\n")
    scene.settle()
    scene.settle(IDLE)
    torn = record(scene, "s", "two")
    write(scene, "s", torn[:9])
    scene.settle()
    scene.settle(IDLE)
    assert ids(scene) == ["u1"] and len(scene.handler.ends) == 1
    if restarts:
        scene.restart()
        scene.settle()
        assert scene.handler.tasks == []
    write(scene, "s", torn[9:])
    scene.settle()
    scene.settle(IDLE)
    assert ids(scene) == ["u1", "u2"] and len(scene.handler.ends) == 2 - restarts


def test_scan_and_sync_read_it_at_once(tmp_path: Path) -> None:
    """A person who asks for everything gets the last record too, though the session is not idle."""
    scene = Scene(tmp_path, gathered())
    write(scene, "s", record(scene, "s", "one"))
    scene.settle()
    assert ids(scene) == []
    assert scene.sync().done() and ids(scene) == ["u1"]
    path = scene.path("t")
    write(scene, "t", record(scene, "t", "two"))
    scene.settle()
    assert scene.scan([path], 0.0) == 1
    assert scene.app.store.rows(
        "SELECT text FROM prompt LEFT JOIN prompt_text ON prompt = number WHERE id = 'u2'"
    ) == [("two",)]
    assert scene.sync().done() and ids(scene) == ["u1", "u2"]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["piece", "piece", "piece", "idle", "restart", "sync", "look", "scan", "rewind"]),
        st.integers(1, 400),
    ),
    max_size=25,
)


@examples(150)
@given(
    STEPS,
    st.lists(st.sampled_from(["ascii", "ä 二 🙂", "x" * 300, '{"type":"user"}']), min_size=1, max_size=5),
    st.lists(st.sampled_from([b"\n", b"", b"\n\n", b" \n"]), min_size=5, max_size=5),
)
def test_torn_appends_give_each_prompt_once(
    steps: list[tuple[str, int]], texts: list[str], joints: list[bytes]
) -> None:
    """RELIABILITY 1, 9: a transcript is written in pieces that are cut anywhere, within a character too, and glued; between
    the pieces sessions become idle, daemons are killed, and the file is cut and written again. Each typed prompt is handled
    once, in order."""
    with tempfile.TemporaryDirectory() as folder:
        slow = [False]

        def answer(task: Task) -> Outcome:
            return Later("not now") if slow[0] else Done()

        scene = Scene(Path(folder), Scripted(), with_words(answer))
        # The last record has no newline either.
        left = b"".join(
            record(scene, "s", text) + joint for text, joint in zip(texts, joints, strict=False)
        ).rstrip(b"\n ")
        did: list[str] = []
        whole = left
        for what, number in steps:
            slow[0] = bool(number % 2)
            if what == "piece":
                if left:
                    write(scene, "s", left[:number])
                left = left[number:]
            elif what == "restart":
                did = ids(scene)
                scene.restart()
                assert ids(scene) == did
            elif what == "rewind" and len(left) < len(whole):
                left = whole[number % (len(whole) - len(left)) :]
                os.truncate(scene.path("s"), len(whole) - len(left))
            elif what == "sync":
                scene.sync()
            elif what == "scan":
                scene.scan([scene.path("s")], 0.0)
            scene.settle(IDLE if what == "idle" else 1)
        slow[0] = False
        write(scene, "s", left)
        scene.settle()
        for _ in range(3):
            scene.settle(7 * 3600)
        typed = [f"u{number}" for number in range(1, len(texts) + 1)]
        assert ids(scene) == typed
        was_cut = "rewind" in [what for what, _ in steps]  # what `scan` finds again comes after what is there
        behind = sorted(ids(scene, 1)) if was_cut else ids(scene, 1)
        assert behind == typed, "a handler that was behind"
        scene.kill()
