"""When a session is live and when it has ended; the process table."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tacitd.files.locks import process_exists
from tacitd.sources.claude_code.transcripts import ClaudeCode
from tacitd.sources.sessions import GONE_FOR, LEFT_FOR, EndedSession, Sessions

IDLE = 1800.0
T = Path("/p/s1.jsonl")


class Scene:
    """Sessions with a clock, a process table and a configuration directory that the test controls."""

    def __init__(self, config_dir: Path) -> None:
        self.wall, self.mono = 1.7e9, 0.0
        self.processes: set[int] = set()
        self.config_dir = config_dir
        self.sessions = self.start()

    def start(self) -> Sessions:
        """What a daemon begins with."""
        client = ClaudeCode(self.config_dir)
        return Sessions(self, IDLE, client.read_claims, self.processes.__contains__, client.makes_claims)

    def now(self) -> float:
        return self.wall

    def monotonic(self) -> float:
        return self.mono

    def later(self, seconds: float) -> list[EndedSession]:
        self.wall += seconds
        self.mono += seconds
        return self.sessions.take_ended()

    def claim(self, pid: int, session: str = "s1", cwd: str = "/w") -> Path:
        folder = self.config_dir / "sessions"
        folder.mkdir(exist_ok=True)
        path = folder / f"{pid}.json"
        path.write_text(json.dumps({"pid": pid, "sessionId": session, "cwd": cwd, "status": "idle"}))
        return path


def note(asked: list[int], pid: int) -> bool:
    """No process has this id; it was asked for."""
    asked.append(pid)
    return False


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_ends_after_quiet_once_and_again_when_resumed(scene: Scene) -> None:
    """S-20: idle, default 30 minutes; growth afterwards begins it again."""
    scene.sessions.note_growth(T, "s1", "/w")
    assert scene.sessions.is_live("s1")
    assert scene.later(IDLE - 1) == []
    assert scene.later(1) == [EndedSession("s1", T, "idle")]
    assert scene.later(IDLE) == [] and not scene.sessions.is_live("s1")
    scene.sessions.note_growth(T, "s1", "/w")
    assert scene.later(IDLE) == [EndedSession("s1", T, "idle")]


def test_subagents_keep_a_session_alive(scene: Scene) -> None:
    """CLAUDE_CODE section 2: a sub-agent's file keeps its session alive, and ends nothing by itself."""
    scene.sessions.note_growth(T, "s1", "/w")
    scene.later(IDLE - 1)
    scene.sessions.note_subagent("s1")
    scene.sessions.note_subagent("never seen")
    assert scene.later(IDLE - 1) == []
    assert [end.session for end in scene.later(1)] == ["s1"]


def test_growth_found_at_start_counts_from_the_files_time(scene: Scene) -> None:
    """DESIGN "Sources": what grew while the daemon was down is not live for another half hour; a future time counts as now."""
    scene.sessions.note_growth(T, "old", "/w", mtime=scene.wall - 2 * IDLE)
    scene.sessions.note_growth(T, "half", "/w", mtime=scene.wall - IDLE / 2)
    scene.sessions.note_growth(T, "future", "/w", mtime=scene.wall + 1e8)
    assert [end.session for end in scene.sessions.take_ended()] == ["old"]
    assert [end.session for end in scene.later(IDLE / 2)] == ["half"]
    assert [end.session for end in scene.later(IDLE / 2)] == ["future"]


@pytest.mark.parametrize("how", ["exit", "killed"])
def test_client_that_was_alive_here_and_is_gone(scene: Scene, how: str) -> None:
    """CLAUDE_CODE fact 18: the file is removed at exit and left behind by SIGKILL; two minutes, then ended."""
    scene.processes.add(7)
    path = scene.claim(7)
    scene.sessions.note_growth(T, "s1", "/w")
    assert scene.sessions.take_ended() == []
    if how == "exit":
        path.unlink()
    scene.processes.remove(7)
    assert scene.later(10) == []
    assert scene.sessions.next_in() <= 10.0
    assert scene.later(GONE_FOR - 1) == []
    assert [(end.session, end.why) for end in scene.later(1)] == [("s1", "gone")]
    assert not scene.sessions.is_live("s1")
    scene.sessions.note_growth(T, "s1", "/w")
    assert scene.later(GONE_FOR * 2) == [], "something runs it: only quiet ends it now"
    assert [end.why for end in scene.later(IDLE)] == ["idle"]


def test_a_real_process_exists_until_it_ended() -> None:
    """Also one of another user; ids that no process can have are not."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert process_exists(child.pid) and process_exists(1)
    child.communicate(b"\n")
    assert not any(map(process_exists, (child.pid, 0, -1, 2**30, 10**30)))


def test_client_that_was_never_seen_alive_never_counts(scene: Scene) -> None:
    """DESIGN "Sources": in a container or on a shared home every process looks dead."""
    scene.claim(7)
    scene.sessions.note_growth(T, "s1", "/w")
    assert scene.later(10) == [] and scene.later(GONE_FOR * 5) == []
    assert scene.sessions.is_live("s1")


def test_session_file_of_a_session_that_never_grew_makes_nothing_live(scene: Scene) -> None:
    """CLAUDE_CODE fact 18: after a reboot the process id of a leftover file may belong to any program."""
    scene.processes.add(7)
    scene.claim(7)
    scene.sessions.note_growth(T, "other", "/w")
    scene.sessions.take_ended()
    assert not scene.sessions.is_live("s1") and not scene.sessions.is_live_in(lambda cwd: cwd == "/elsewhere")


def test_open_client_keeps_an_idle_session_live(scene: Scene) -> None:
    """S-52: no orphan while its client runs; the end by idle time is reported all the same."""
    scene.processes.add(7)
    scene.claim(7, cwd="/w/sub")
    scene.sessions.note_growth(T, "s1", "/w")
    scene.sessions.take_ended()
    assert [end.why for end in scene.later(IDLE)] == ["idle"]
    assert scene.later(5 * IDLE) == [] and scene.sessions.is_live("s1")
    assert scene.sessions.is_live_in(lambda cwd: cwd == "/w/sub")
    scene.processes.remove(7)
    scene.later(10)
    assert not scene.sessions.is_live("s1")


def test_many_sessions_are_looked_at_once_every_ten_seconds(scene: Scene) -> None:
    """RELIABILITY row 6: idle is cheap, however often it is called, and so are ten thousand transcripts at a start."""
    asked: list[int] = []
    for i in range(100):
        scene.claim(i + 1, f"s{i}")
    scene.sessions = Sessions(scene, IDLE, ClaudeCode(scene.config_dir).read_claims, partial(note, asked))
    for i in range(100):
        scene.sessions.note_growth(T, f"s{i}", "/w", mtime=scene.wall - 1)
    assert asked == []
    for _ in range(99):
        scene.later(0.1)
    assert len(asked) == 100
    scene.later(0.3)
    assert len(asked) == 200


def test_next_in(scene: Scene) -> None:
    """RELIABILITY row 6: no wake-up while no session is live, and none too late."""
    assert scene.sessions.next_in() == math.inf
    scene.sessions.note_growth(T, "s1", "/w")
    assert scene.sessions.next_in() == 10.0, "the session files were looked at when it began"
    scene.sessions.take_ended()
    assert scene.sessions.next_in() == pytest.approx(10.0)
    scene.later(IDLE - 3)
    assert scene.sessions.next_in() == pytest.approx(3.0)
    scene.later(3)
    assert scene.sessions.next_in() == math.inf
    scene.sessions.note_growth(T, "s1", "/w")
    scene.sessions.note_left("s1")
    scene.sessions.note_growth(T, "s2", "/w")
    assert scene.sessions.next_in() == pytest.approx(LEFT_FOR)


def test_forgets_what_ended_long_ago(scene: Scene) -> None:
    """RELIABILITY row 18: memory does not grow with the number of past sessions."""
    for i in range(50):
        scene.sessions.note_growth(T, f"s{i}", "/w")
    scene.later(IDLE)
    scene.later(2 * 3600)
    assert not scene.sessions._sessions


def test_when_sessions_whose_client_ended_will_have_ended(scene: Scene) -> None:
    """S-20: two minutes after the client ended. `status` shows these times."""
    scene.sessions.note_subagent("a session that has no transcript yet")
    scene.processes.add(7)
    scene.claim(7)
    scene.sessions.note_growth(T, "s1", "/w")
    scene.later(60)
    scene.sessions.note_growth(Path("/p/s2.jsonl"), "s2", "")
    assert scene.sessions.list_leaving() == {}
    scene.processes.remove(7)
    scene.later(10)
    assert scene.sessions.list_leaving() == {"s1": scene.wall + GONE_FOR}
    assert [end.session for end in scene.later(GONE_FOR)] == ["s1"]
    assert scene.sessions.list_leaving() == {}


def test_a_session_whose_client_said_that_it_ended_ends_when_it_is_quiet(scene: Scene) -> None:
    """S-20: its last records may follow the hook; the process may still be there."""
    scene.processes.add(7)
    scene.claim(7)
    scene.sessions.note_growth(T, "s1", "/w")
    scene.later(60)
    scene.sessions.note_left("s1")
    assert scene.sessions.next_in() <= 1.0 and scene.sessions.is_live("s1")
    assert scene.later(0.5) == []
    scene.sessions.note_growth(T, "s1", "/w")
    assert scene.later(0.9) == []
    ended = scene.later(0.1)
    assert [(one.session, one.why) for one in ended] == [("s1", "gone")]
    assert not scene.sessions.is_live("s1") and not scene.sessions.is_live_in(lambda cwd: cwd == "/w")
    scene.sessions.note_growth(T, "s1", "/w")  # a last record: it ends again, at once
    assert [one.session for one in scene.later(1)] == ["s1"]
    assert math.isinf(scene.sessions.next_in())


def test_a_session_that_goes_on_after_that_message_is_live_again(scene: Scene) -> None:
    """A resumed session says so itself, or grows later: then only idle time or the gone client ends it."""
    scene.sessions.note_growth(T, "s1", "/w")
    scene.sessions.note_left("s1")
    scene.later(2)
    scene.sessions.note_returned("s1")
    scene.sessions.note_growth(T, "s1", "/w")
    assert scene.later(60) == [] and scene.sessions.is_live("s1")
    scene.sessions.note_left("s1")
    assert scene.later(1) != []
    scene.later(60)
    scene.sessions.note_growth(T, "s1", "/w")
    assert scene.later(60) == [] and scene.sessions.is_live("s1")
    scene.sessions.note_returned("unknown")


def test_a_message_may_come_before_the_transcript_is_read(scene: Scene) -> None:
    """A session of a second: the hook is faster than the reader. A session without a transcript is forgotten."""
    scene.sessions.note_left("s1")
    scene.sessions.note_left("never")
    assert scene.later(0.2) == []
    scene.sessions.note_growth(T, "s1", "/w")
    assert [one.session for one in scene.later(1.0)] == ["s1"]
    assert scene.later(4000 + IDLE) == [] and math.isinf(scene.sessions.next_in())


@pytest.mark.parametrize("resumed", [False, True])
def test_a_client_that_runs_another_session_has_left_the_earlier_one(scene: Scene, resumed: bool) -> None:
    """S-20: `/clear`, `/resume` and a new session of the same process end the earlier one, without hooks."""
    scene.processes.add(7)
    scene.claim(7)
    scene.sessions.note_growth(T, "s1", "/w")
    scene.later(30)
    scene.claim(7, "s2")
    scene.sessions.note_growth(Path("/t/s2.jsonl"), "s2", "/w")
    scene.later(10)
    if resumed:
        scene.claim(7, "s1")
        scene.sessions.note_growth(T, "s1", "/w")
    ended = [one.session for _ in range(14) for one in scene.later(10)]
    assert ended == (["s2"] if resumed else ["s1"])
    assert scene.sessions.is_live("s1") == resumed


def test_a_client_that_a_daemon_before_saw_counts_as_seen(scene: Scene) -> None:
    """A restart does not turn two minutes into thirty: a session whose client is gone has ended."""
    scene.processes.add(7)
    claim = scene.claim(7)
    scene.sessions.note_growth(T, "s1", "/w")
    scene.later(10)
    assert scene.sessions.take_new_clients() == {"s1": 7} and scene.sessions.take_new_clients() == {}
    claim.unlink()
    scene.processes.clear()
    again = Sessions(scene, IDLE, ClaudeCode(scene.config_dir).read_claims, scene.processes.__contains__)
    again.remember_client("s1", 7, "/w")
    again.note_growth(T, "s1", "/w", mtime=scene.now() - 10)
    ended = list[EndedSession]()
    for _ in range(14):
        scene.later(10)
        ended += again.take_ended()
    assert [(one.session, one.why) for one in ended] == [("s1", "gone")]


def write_transcript(scene: Scene, entrypoint: str) -> Path:
    path = scene.config_dir / "s1.jsonl"
    path.write_text(f'{{"type":"user","entrypoint":"cli"}}\n{{"type":"user","entrypoint":"{entrypoint}"}}\n')
    return path


def test_a_session_that_was_left_while_no_daemon_ran_ends_soon(scene: Scene) -> None:
    """README: about two minutes after you leave. Its client removed its claim, and the next daemon finds none."""
    scene.claim(7).unlink()
    path = write_transcript(scene, "cli")
    scene.sessions.note_growth(path, "s1", "/w", mtime=scene.now() - 60)
    assert scene.later(0) == [] and list(scene.sessions.list_leaving()) == ["s1"]
    assert scene.later(GONE_FOR - 1) == []
    assert [(one.session, one.why) for one in scene.later(1)] == [("s1", "gone")]


def test_a_session_that_was_left_and_resumed_ends_when_that_client_is_gone(scene: Scene) -> None:
    """The client before it, which nobody saw, does not make it wait for the idle time."""
    scene.claim(8, "s2")
    path = write_transcript(scene, "cli")
    scene.sessions.note_growth(path, "s1", "/w", mtime=scene.now())
    scene.later(0)
    assert scene.later(GONE_FOR) != []
    scene.processes.add(7)
    claim = scene.claim(7)
    scene.sessions.note_growth(path, "s1", "/w")
    assert scene.later(GONE_FOR * 2) == []
    claim.unlink()
    scene.processes.remove(7)
    scene.later(10)
    assert [one.why for one in scene.later(GONE_FOR)] == ["gone"]


@pytest.mark.parametrize(
    "how", ["open", "elsewhere", "resumed", "grows", "editor", "program", "earlier version"]
)
def test_a_session_that_may_be_open_is_not_taken_as_left(scene: Scene, how: str) -> None:
    """A client runs it, here or in a container, or one of a kind that is not known to claim its sessions: idle time ends it."""
    if how != "earlier version":
        scene.claim(8, "s2")
    if how == "open":
        scene.processes.add(7)
    if how in ("open", "elsewhere"):
        scene.claim(7)
    path = write_transcript(scene, {"editor": "claude-vscode", "program": "sdk-cli"}.get(how, "cli"))
    scene.sessions.note_growth(path, "s1", "/w", mtime=scene.now())
    scene.later(0)
    if how == "resumed":
        scene.processes.add(7)
        scene.claim(7)
        scene.later(10)
    if how == "grows":
        scene.later(10)
        scene.sessions.note_growth(path, "s1", "/w")
    assert scene.later(GONE_FOR * 5) == [] and scene.sessions.is_live("s1")
    assert [one.why for one in scene.later(IDLE)] == ["idle"]
