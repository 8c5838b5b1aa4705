"""A command that the daemon answers: the question, how its answer is printed, and when the full program must run."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support_cli import Cli
from tacitd.cli import quick_answer
from tacitd.control.protocol import encode_result
from tacitd_handlers import entry_point

Answer = Callable[[bytes], None]


@pytest.fixture
def answer(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Answer]:
    """A daemon that gives one answer, whatever it is asked: call this with the bytes."""
    cli.state.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    threads: list[threading.Thread] = []
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind("s")
    (cli.state / "socket").write_text("s\n")
    listening.listen()

    def begin(data: bytes) -> None:
        def serve() -> None:
            peer, _ = listening.accept()
            with peer:
                peer.recv(65_536)
                peer.sendall(data)

        threads.append(threading.Thread(target=serve))
        threads[-1].start()

    yield begin
    for one in threads:
        one.join()
    listening.close()


def encode(*texts: str) -> bytes:
    return encode_result(1, {"printed": ["", *texts]})


def test_the_answer_is_printed(answer: Answer, capsys: pytest.CaptureFixture[str]) -> None:
    """Each text goes to its stream."""
    answer(encode("out", 'a "quoted"\nü\n', "err", "\\ 1\n", "out", "", "paged", "c\n"))
    assert quick_answer.answer_command(["status"], os.environ)
    assert capsys.readouterr() == ('a "quoted"\nü\nc\n', "\\ 1\n")


def test_an_interrupt_prints_no_traceback(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the daemon is asked and while the answer is printed, Ctrl-C ends the process; afterwards all is as before."""
    seen: list[object] = []

    def note(_: object) -> bool:
        seen.append(signal.getsignal(signal.SIGINT))
        return True

    monkeypatch.setattr(quick_answer, "_print_texts", note)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        answer(encode())
        assert quick_answer.answer_command(["status"], os.environ)
        assert seen == [signal.SIG_DFL] and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_answer_without_texts_prints_nothing(answer: Answer, capsys: pytest.CaptureFixture[str]) -> None:
    """The command ran, and had nothing to print."""
    answer(encode())
    assert quick_answer.answer_command(["learned"], os.environ) and capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "data",
    [
        encode_result(1, {"printed": []}),
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}\n',
        b'{"jsonrpc":"2.0","id":1,"result":{"printed":["","out","cut o',
        b'{"jsonrpc":"2.0","id":1,"result":{"printed":["","out","cut behind a text"',
        b'{"jsonrpc":"2.0","id":1,"result":{"printed":["","out","cut behind a comma",',
        b'{"jsonrpc":"2.0","id":1,"result":{"printed":["","out","whole","out"]}}\n',
        b"\xff\n",
        b"",
    ],
)
def test_without_a_usable_answer_the_full_program_runs(
    answer: Answer, capsys: pytest.CaptureFixture[str], data: bytes
) -> None:
    """A daemon that declines, one without the method, and one that ended in the middle. Nothing is printed."""
    answer(data)
    assert not quick_answer.answer_command(["status"], os.environ)
    assert capsys.readouterr() == ("", "")


def test_a_daemon_that_hangs_is_not_waited_for_long(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It listens and does not answer: the full program says so."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(quick_answer, "PATIENCE", 0.01)
    cli.state.mkdir(parents=True)
    (cli.state / "socket").write_text("s\n")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind("s")
        listening.listen()
        assert not quick_answer.answer_command(["status"], os.environ)


def test_streams_that_cannot_print_all_are_left_to_the_full_program(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A closed one, and one of another encoding. The daemon is not asked."""
    monkeypatch.setattr(quick_answer, "exchange_line", lambda *_: pytest.fail("asked"))
    monkeypatch.setattr(sys, "stderr", None)
    assert not quick_answer.answer_command(["status"], os.environ)
    monkeypatch.undo()
    monkeypatch.setattr(quick_answer, "exchange_line", lambda *_: pytest.fail("asked"))
    with open(os.devnull, "w", encoding="ascii") as ascii_only:
        monkeypatch.setattr(sys, "stdout", ascii_only)
        assert not quick_answer.answer_command(["status"], os.environ)
        monkeypatch.undo()


def test_the_question_is_json(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also words with quotes, control characters, and bytes that are not UTF-8."""
    asked: list[bytes] = []

    def note(_: str, line: bytes, __: float) -> bytes:
        asked.append(line)
        return b""

    monkeypatch.setattr(quick_answer, "exchange_line", note)
    words = ['a "b"\n\x07', "ü😀", "\udcff", ""]
    (cli.state).mkdir(parents=True)
    (cli.state / "socket").write_text("s\n")
    assert not quick_answer.answer_command(words, {**os.environ, "TERM": "xterm", "TACITD_X": "y"})
    message = json.loads(asked[0])
    assert message["method"] == quick_answer.METHOD and asked[0].count(b"\n") == 1
    params = message["params"]
    assert params["arguments"] == words and params["columns"] is None
    assert (
        params["sent"] == {"PATH": os.environ["PATH"], "TERM": "xterm"} and params["same"]["TACITD_X"] == "y"
    )


def test_a_reader_that_is_gone_is_no_error(answer: Answer, tmp_path: Path) -> None:
    """`tacitd status | head -0`: nothing more is printed, and the full program does not run."""
    answer(encode("out", "a\n", "err", "b\n"))
    reading, writing = os.pipe()
    os.close(reading)
    kept = sys.stdout
    with os.fdopen(writing, "w", encoding="utf-8") as pipe:
        sys.stdout = pipe
        try:
            assert quick_answer.answer_command(["status"], os.environ)
        finally:
            sys.stdout = kept


@pytest.mark.parametrize("arguments", [["stop"], ["-v"], ["lesson", "status"], ["learn"]])
def test_other_commands_do_not_ask(cli: Cli, monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    """What changes something has no reason to wait for an answer that never comes."""
    monkeypatch.setattr("tacitd.cli.quick_answer.answer_command", lambda *_: pytest.fail("asked"))
    monkeypatch.setattr(sys, "argv", ["tacitd", *arguments])
    monkeypatch.setattr("tacitd.cli.program.main", lambda: None)
    entry_point.main()
