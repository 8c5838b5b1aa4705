"""Real children: input, output, limits, killing their group (S-65, RELIABILITY 14, 15, ANCHORS P3)."""

from __future__ import annotations

import errno
import gc
import os
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support_claude import install_stand_in
from support_waiting import PATIENCE, is_gone, starts_when, until
from tacitd.model import process
from tacitd.model import process as process_module
from tacitd.model.process import FinishedProcess, reap_leftovers, run_process

ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}


def python(
    code: str, cwd: Path, *, stdin: bytes = b"", deadline: float = PATIENCE, **more: Any
) -> FinishedProcess:
    """Run a few lines of Python as the child."""
    argv = [sys.executable, "-IS", "-c", code]
    return run_process(argv, env=more.pop("env", ENV), cwd=cwd, stdin=stdin, deadline=deadline, **more)


def test_in_and_out(tmp_path: Path) -> None:
    """Input, both outputs, the exit status, the directory and the environment, exactly."""
    code = "import os,sys; d=sys.stdin.buffer.read(); print(len(d), os.getcwd(), sorted(os.environ)); print('e', file=sys.stderr); sys.exit(3)"
    done = python(code, tmp_path, stdin=b"abc", env={"B": "1", "A": "2"})
    names = [word for word in ("A", "B", "LC_CTYPE") if word != "LC_CTYPE" or b"LC_CTYPE" in done.stdout]
    assert done.stdout.decode() == f"3 {tmp_path} {names}\n"
    assert (done.returncode, done.stderr) == (3, b"e\n")
    assert not (done.timed_out or done.capped or done.stopped)


def test_large_input_and_output_at_once(tmp_path: Path) -> None:
    """A child that writes while it is written to: neither side blocks."""
    code = "import sys\nfor b in iter(lambda: sys.stdin.buffer.read(4096), b''): sys.stdout.buffer.write(b)"
    data = os.urandom(1 << 20)
    assert python(code, tmp_path, stdin=data).stdout == data


def test_a_session_of_its_own(tmp_path: Path) -> None:
    """Ctrl-C at the daemon's terminal does not reach the child, and its group can be killed as one."""
    assert python("import os; print(os.getsid(0)==os.getpid()==os.getpgid(0))", tmp_path).stdout == b"True\n"


def test_what_cannot_be_started(tmp_path: Path) -> None:
    """No shell and no guessing: the system's own error is raised."""
    with pytest.raises(FileNotFoundError):
        run_process(["/nowhere/claude"], env=ENV, cwd=tmp_path, stdin=b"", deadline=1)
    with pytest.raises(FileNotFoundError):
        run_process(["/bin/true"], env=ENV, cwd=tmp_path / "gone", stdin=b"", deadline=1)


@pytest.mark.parametrize("broken", ["_open_file", "_size"])
def test_no_child_is_left_where_it_cannot_be_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """RELIABILITY 15: the system has no descriptor left; a child that runs already is ended all the same."""
    begun: list[int] = []
    real = process._has_ended

    def refuse(*_: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    def note(child: subprocess.Popen[bytes]) -> bool:
        begun.append(child.pid)
        return real(child)

    monkeypatch.setattr(process, "_has_ended", note)
    monkeypatch.setattr(process, broken, refuse)
    with pytest.raises(OSError, match="Too many"):
        python("import time; time.sleep(600)", tmp_path)
    assert bool(begun) == (broken == "_size") and all(map(is_gone, begun))


def test_a_deaf_child_and_its_grandchild_are_gone(tmp_path: Path) -> None:
    """RELIABILITY 15: it ignores SIGTERM, and so does a grandchild that keeps standard output open."""
    stand_in = install_stand_in(tmp_path / "bin", [{"fault": "hang-family"}])
    done = run_process(
        [str(stand_in.program), "-p"],
        env=ENV,
        cwd=tmp_path,
        stdin=b"x",
        deadline=0.1,
        grace=0.1,
        monotonic=starts_when(stand_in.hangs),
    )
    assert done.timed_out and done.returncode == -signal.SIGKILL
    assert done.stdout.startswith(b'{"type":"system"')
    for pid in (stand_in.calls()[0]["pid"], stand_in.grandchild()):
        until(partial(is_gone, pid), f"{pid} did not go")


def test_an_answer_is_not_held_up_by_a_grandchild(tmp_path: Path) -> None:
    """ANCHORS P3: a grandchild that keeps the output open is killed with the group, and the answer is complete."""
    stand_in = install_stand_in(tmp_path / "bin", [{"fault": "leave-family"}])
    done = run_process([str(stand_in.program), "-p"], env=ENV, cwd=tmp_path, stdin=b"x", deadline=PATIENCE)
    assert (done.stdout, done.returncode, done.timed_out) == (b"left\n", 0, False)
    until(partial(is_gone, stand_in.grandchild()), "the grandchild did not go")


def test_a_flood_is_cut_off(tmp_path: Path) -> None:
    """RELIABILITY 15: 100 MB on standard output; what is kept of it is bounded."""
    stand_in = install_stand_in(tmp_path / "bin", [{"fault": "flood"}])
    argv = [str(stand_in.program), "-p"]
    done = run_process(argv, env=ENV, cwd=tmp_path, stdin=b"x", deadline=PATIENCE, output_cap=100_000)
    assert done.capped and len(done.stdout) == 100_000 and not done.timed_out


def test_a_call_may_finish_while_the_daemon_leaves(tmp_path: Path) -> None:
    """RELIABILITY 14: what is nearly done is not discarded."""
    stop = threading.Event()
    stop.set()
    done = python("print('done')", tmp_path, stop=stop, stop_grace=PATIENCE)
    assert (done.stdout, done.stopped, done.returncode) == (b"done\n", False, 0)


def test_no_descriptor_is_left(tmp_path: Path) -> None:
    """RELIABILITY 18: the number of descriptors is constant, however a call ends."""

    def count() -> int:
        return len(os.listdir("/proc/self/fd"))

    python("pass", tmp_path)
    gc.collect()  # closes what other tests left, so that it is not closed in between
    before = count()
    python("print(1)", tmp_path)
    python("import time; time.sleep(600)", tmp_path, deadline=0.05)
    with pytest.raises(FileNotFoundError):
        run_process(["/nowhere"], env=ENV, cwd=tmp_path, stdin=b"", deadline=1)
    assert count() == before


def sleeper(cwd: Path, *, marked: bool, owner: int = 0) -> subprocess.Popen[bytes]:
    """A process that an earlier daemon may have left, or one that has nothing to do with tacitd."""
    env = ENV | ({"TACITD_CHILD": str(owner or os.getpid())} if marked else {})
    argv = [sys.executable, "-IS", "-c", "import time; print('up', flush=True); time.sleep(600)"]
    child = subprocess.Popen(argv, env=env, cwd=cwd, start_new_session=True, stdout=subprocess.PIPE)
    assert child.stdout is not None and child.stdout.readline() == b"up\n"
    child.stdout.close()
    return child


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_leftovers_are_ended_and_strangers_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ANCHORS P3: reaped at start only what is marked, in the children's directory or below, and waited for by no process any
    more. A pid proves nothing, and other users' processes, which cannot be inspected, are left alone."""
    work, deeper, elsewhere = tmp_path / "work", tmp_path / "work" / "deeper", tmp_path / "work too"
    deeper.mkdir(parents=True)
    elsewhere.mkdir()
    left = [sleeper(work, marked=True), sleeper(deeper, marked=True, owner=2**22 + 1)]
    foreign = sleeper(work, marked=True)
    others = [
        foreign,
        sleeper(work, marked=False),
        sleeper(elsewhere, marked=True),
        sleeper(work, marked=True, owner=os.getppid()),
    ]
    real = process_module._read_environ

    def read(process: Path) -> bytes:
        if process.name == str(foreign.pid):
            raise PermissionError(13, "Permission denied")
        return real(process)

    monkeypatch.setattr(process_module, "_read_environ", read)
    try:
        deeper.rmdir()
        assert reap_leftovers(work) == 2
        assert [one.wait(PATIENCE) for one in left] == [-signal.SIGKILL] * 2
        assert [one.poll() for one in others] == [None] * 4
    finally:
        for process in (*left, *others):
            process.kill()
            process.wait()


def test_a_leftover_is_ended_whose_directory_was_removed(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    left = sleeper(work, marked=True)
    work.rmdir()
    assert reap_leftovers(work) == 1 and left.wait(PATIENCE) == -signal.SIGKILL


def test_a_flood_of_errors_is_cut_off_too(tmp_path: Path) -> None:
    """RELIABILITY 15: standard error is bounded as well."""
    code = "import os\nwhile True: os.write(2, b'x'*65536)"
    done = python(code, tmp_path, output_cap=500_000)
    assert done.capped and len(done.stderr) <= 64_000 and done.stdout == b""
