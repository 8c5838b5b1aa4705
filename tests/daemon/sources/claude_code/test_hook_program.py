"""The program that a client runs for its hooks, as a real process: never an output, always exit code 0, never late."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tacitd.sources.claude_code.transcripts import ClaudeCode
from tacitd.state.store_files import STORE

pytestmark = pytest.mark.scenario

PROGRAM = ClaudeCode.hook_program
STOP = {"session_id": "s1", "transcript_path": "/p/s1.jsonl", "cwd": "/w", "hook_event_name": "Stop"}
PATIENCE = 60.0
"""Seconds after which a test gives up."""
WORDS = "my secret words"


def encode(data: object) -> bytes:
    """As the client writes it: one line without white space."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """The state directory of a daemon whose socket is `s` in it."""
    (tmp_path / "socket").write_text(f"{tmp_path / 's'}\n")
    yield tmp_path


def run_raw(home: Path, data: bytes, *args: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """Run the program with these arguments, and check what always holds."""
    command = [sys.executable, "-I", "-S", str(PROGRAM), *args]
    done = subprocess.run(
        command, input=data, env=os.environ | variables, capture_output=True, timeout=PATIENCE
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done


def run(home: Path, data: bytes, **variables: str) -> None:
    """Run the program as an entry does; nothing is printed."""
    assert run_raw(home, data, str(home), **variables).stdout == b""


def serve(
    home: Path, answers: list[bytes] | None, requests: int = 1, delay: float = 0.0
) -> tuple[threading.Thread, list[bytes]]:
    """A daemon that takes these requests, and answers them, with a delay, unless they are notifications.

    Without answers it hangs until the program gives up.
    """
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(home / "s"))
    listening.listen(1)
    got = [b""]

    def take() -> None:
        with listening, listening.accept()[0] as peer:
            peer.settimeout(PATIENCE)
            while got[0].count(b"\n") < requests and (part := peer.recv(1 << 20)):
                got[0] += part
            if answers is None:
                peer.recv(1)
            with suppress(OSError):  # the program may have given up
                for answer in answers or () if b'"id":' in got[0] else ():
                    peer.sendall(answer)
                    threading.Event().wait(delay)

    thread = threading.Thread(target=take)
    thread.start()
    return thread, got


TEXT = '<tacitd-context>\n"quoted" \\ 日本語 🐙\n'


@pytest.mark.parametrize("event", ["SessionStart", "SubagentStart", "PostToolUseFailure"])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_the_text_for_a_session_is_printed(home: Path, event: str, ascii_only: bool) -> None:
    """It may come later than the sign that the daemon does not hang."""
    answer = json.dumps({"id": 2, "result": {"text": TEXT}}, ensure_ascii=ascii_only, separators=(",", ":"))
    data, printed, got, tries = encode({**STOP, "hook_event_name": event}), b"", [b""], 0
    while not printed and tries < 20:  # a busy machine may show no sign within 50 ms
        tries += 1
        (home / "s").unlink(missing_ok=True)
        thread, got = serve(home, [b"{}\n", answer.encode() + b"\n"], 2, 0.2)
        printed = run_raw(home, data, str(home)).stdout
        thread.join()
    assert printed.decode() == TEXT
    assert [json.loads(line)["method"] for line in got[0].splitlines()] == ["hint", "session_text"]


@pytest.mark.parametrize(
    "answers",
    [
        [b"{}\n", b'{"id":2,"result":{"text":""}}\n'],
        [b"{}\n", b'{"id":2,"error":{"message":"no"}}\n'],
        [b"{}\n", b'{"id":2,"result":{"text":"cut'],
        [b"{}\n", b'{"id":2,"result":{"text":"\\q"}}\n'],
        [b"{}\n"],
        [b'{"id":1,"result":{}}\n' + b'{"id":2,"result":{"text":"' + b"x" * 100_000 + b'"}}\n'],
    ],
)
def test_without_a_text_nothing_is_printed(home: Path, answers: list[bytes]) -> None:
    """An empty one, an error, a torn or damaged one, a daemon that ends, one that sends 100 kB."""
    thread, _ = serve(home, answers, 2)
    data = encode({**STOP, "hook_event_name": "SessionStart"})
    done = run_raw(home, data, str(home))
    thread.join()
    assert done.stdout == b""


def test_nothing_is_sent_where_others_may_write(home: Path) -> None:
    """Such as a directory in /tmp that another user made after the daemon's was removed: a prompt is the person's."""
    thread, got = serve(home, [b"{}\n"], 1)
    home.chmod(0o777)
    run(home, encode(STOP))
    assert got == [b""]
    home.chmod(0o700)
    run(home, encode(STOP))
    thread.join()
    assert json.loads(got[0])["params"]["input"] == STOP


def test_without_the_daemons_file_the_socket_is_in_the_state_directory(home: Path) -> None:
    """And with none or two arguments it does nothing."""
    (home / "socket").unlink()
    (home / "s").symlink_to(home / "tacitd.sock")
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(home / "tacitd.sock"))
    listening.listen(1)
    with listening:
        run(home, encode(STOP))
        with listening.accept()[0] as peer:
            assert json.loads(peer.recv(1 << 20))["params"]["input"] == STOP
    for arguments in ([], [str(home), "x"]):
        assert run_raw(home, encode(STOP), *arguments).stdout == b""


@pytest.mark.parametrize("leftover", [False, True])
@pytest.mark.parametrize(("days", "says"), [(0.5, False), (3.0, True)])
def test_a_session_says_since_when_no_daemon_ran(home: Path, days: float, says: bool, leftover: bool) -> None:
    """In one line with the day, of a session that starts; not within a day, and not where none ever ran."""
    if leftover:  # of a daemon that was killed
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
            listening.bind(str(home / "s"))
    start = encode({**STOP, "hook_event_name": "SessionStart"})
    assert run_raw(home, start, str(home)).stdout == b""
    (home / STORE).write_text("{}")
    last = (home / STORE).stat().st_mtime - days * 86_400.0  # the kernel's time, as the program has it
    os.utime(home / STORE, (last, last))
    day = time.strftime("%Y-%m-%d", time.localtime(last))
    printed = run_raw(home, start, str(home)).stdout.decode()
    assert (f"tacitd has not run since {day}: " in printed and printed.count("\n") == 1) == says
    assert says or printed == ""
    assert run_raw(home, encode(STOP), str(home)).stdout == b""


@pytest.mark.parametrize("text", ["plain", 'quotes " and \\ and \n newlines', "日本語", "x" * 100_000])
def test_the_daemon_gets_the_input_as_one_request(home: Path, text: str) -> None:
    """Whatever the prompt is, it is one line of JSON-RPC with the client's own object in it."""
    thread, got = serve(home, [b'{"result":{}}\n'])
    run(home, json.dumps({**STOP, "prompt": text}, indent=2).replace('": ', '":').encode())
    thread.join()
    request = json.loads(got[0])
    assert got[0].count(b"\n") == 1
    assert (request["method"], request["params"]["input"]) == ("hint", {**STOP, "prompt": text})
    assert "id" not in request, "a prompt and an answer wait for no confirmation"


def test_without_a_daemon_nothing_is_kept(home: Path) -> None:
    """The next start compares all files; a person's words are in no file of this program."""
    for event in ("UserPromptSubmit", "SessionEnd", "SessionStart"):
        run(home, encode({**STOP, "hook_event_name": event, "prompt": WORDS}))
        assert run_raw(home, encode({**STOP, "hook_event_name": event}), str(home / "gone")).stdout == b""
    assert [path.name for path in home.iterdir()] == ["socket"]


@pytest.mark.parametrize("event", ["Stop", "SessionEnd", "SessionStart"])
def test_a_daemon_that_hangs_delays_nothing(home: Path, event: str) -> None:
    """Against a start of Python that does nothing, in the same moments: less than the 100 ms that are promised more."""
    plain = [sys.executable, "-I", "-S", "-c", "pass"]
    more = [1.0]
    while min(more) >= 0.1 and len(more) <= 20:  # a busy machine has quiet moments
        (home / "s").unlink(missing_ok=True)
        thread, _ = serve(home, None)
        began = time.monotonic()
        run(home, encode({**STOP, "hook_event_name": event}))
        middle = time.monotonic()
        subprocess.run(plain, check=True)
        more.append((middle - began) - (time.monotonic() - middle))
        thread.join()
    assert min(more) < 0.1


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"garbage",
        b"{",
        b"[]",
        b"\xff\xfe",
        b"{}",
        b'{"hook_event_name":7}',
        b"{" + b"x" * (10 << 20),
        encode("text"),
    ],
)
def test_garbage_says_nothing(home: Path, data: bytes) -> None:
    """Nothing, half an object, 10 MB: no output."""
    run(home, data)


def test_own_model_calls_say_nothing(home: Path) -> None:
    """SPEC S-62. Nor does an input of megabytes, whose words are in the transcript: the socket takes at most 4 MB."""
    thread, got = serve(home, [b"{}\n"])
    run(home, encode(STOP), TACITD_CHILD="1")
    run(home, encode({**STOP, "prompt": "x" * (6 << 20)}))
    assert got == [b""]
    run(home, encode(STOP))  # ends the thread
    thread.join()
