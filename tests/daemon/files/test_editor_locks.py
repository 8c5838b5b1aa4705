"""Marks of editors beside a file: their names, their content, and those that a real vim makes (DESIGN "Files", X-08)."""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tacitd.files.disk import RealDisk
from tacitd.files.editor_locks import (
    EditorLock,
    find_editor_locks,
    is_held,
    match_lock,
    parse_lock_owner,
    parse_swap_header,
    process_is_alive,
)

VIM = shutil.which("vim") or shutil.which("vim.tiny")
"""The command's names: Debian's smallest vim package has only the second one."""


@pytest.mark.parametrize(
    ("name", "editor"),
    [
        (".a.md.swp", "vim"),
        (".a.md.swo", "vim"),
        (".a.md.swx", "vim"),
        (".a.md.saa", "vim"),
        ("4913", "vim"),
        (".#a.md", "Emacs"),
        ("#a.md#", "Emacs"),
        (".~lock.a.md#", "LibreOffice"),
        (".a.md.kate-swp", "Kate"),
        ("a.md___jb_tmp___", "a JetBrains editor"),
        (".goutputstream-AB12CD", "gedit"),
        ("a.md", None),
        ("a.md~", None),
        (".b.md.swp", None),
        (".a.md.sh", None),
        (".a.md.sxx", None),
        (".tacitd-12.new", None),
    ],
)
def test_names(name: str, editor: str | None) -> None:
    """Each editor's names match, and other files' names do not."""
    found = match_lock(name, "a.md")
    assert (found[0] if found is not None else None) == editor


def test_a_hidden_file_has_one_dot() -> None:
    """vim: the swap file of `.a` is `.a.swp`."""
    assert match_lock(".a.swp", ".a") == ("vim", False) and match_lock("..a.swp", ".a") is None


def header(pid: int, host: bytes = b"here", version: bytes = b"VIM 9.0") -> bytes:
    """The first block of a swap file."""
    block = b"b0" + version.ljust(10, b"\0") + bytes(12) + pid.to_bytes(4, "little")
    return block + b"me".ljust(40, b"\0") + host.ljust(40, b"\0") + b"/x/a.md".ljust(900, b"\0")


def test_what_a_swap_file_tells() -> None:
    """A swap file contains process and host; process 0 means that the editor ended."""
    assert parse_swap_header(header(4711)) == ("vim", 4711, "here")
    assert parse_swap_header(header(7, version=b"nano 7.2")) == ("nano", 7, "here")
    assert parse_swap_header(header(0)) == ("vim", None, "here")
    assert parse_swap_header(b"b0") is None and parse_swap_header(b"x" * 2000) is None


def test_what_a_lock_tells() -> None:
    """Emacs writes user@host.pid:boot; a host may contain dots."""
    assert parse_lock_owner("me@my.host.org.4711:1700000000") == (4711, "my.host.org")
    assert parse_lock_owner("me@host.12") == (12, "host")
    assert parse_lock_owner("no owner") is None and parse_lock_owner("") is None


def test_locks_are_found_and_read(tmp_path: Path) -> None:
    """A swap file, a dangling link, a regular file in place of a link, Neovim's own directory; a FIFO does not block."""
    target = tmp_path / "a.md"
    (tmp_path / ".a.md.swp").write_bytes(header(4711))
    (tmp_path / ".#a.md").symlink_to("me@here.4712:17")
    os.mkfifo(tmp_path / ".a.md.swo")
    swaps = tmp_path / "swap"
    swaps.mkdir()
    (swaps / (str(target).replace("/", "%") + ".swp")).write_bytes(header(4713))
    found = {one.path.name: one for one in find_editor_locks(target, RealDisk(), [swaps, tmp_path / "none"])}
    assert {one.pid for one in found.values()} == {4711, 4712, 4713}
    assert found[".#a.md"].editor == "Emacs" and ".a.md.swo" not in found
    assert find_editor_locks(tmp_path / "none" / "a.md", RealDisk()) == []


def test_whether_a_lock_is_held() -> None:
    """Only a process of this machine can be checked; about another machine's nothing is known."""
    lock = EditorLock(Path("x"), "vim", 0, 4711, "here")
    assert is_held(lock, "here", lambda pid: pid == 4711) is True
    assert is_held(lock, "here", lambda pid: False) is False
    assert is_held(lock, "there", lambda pid: True) is None
    assert is_held(EditorLock(Path("x"), "Kate", 0), "here", lambda pid: True) is None
    assert process_is_alive(os.getpid()) and not process_is_alive(2**22 + 1)


def read_screen(terminal: int) -> None:
    """Read what a program wrote to its terminal, for at most 50 ms. Unread output over 4 KB would block it."""
    ready = select.poll()  # `select` takes no descriptor over 1023
    ready.register(terminal, select.POLLIN)
    if ready.poll(50):
        with suppress(OSError):  # EIO: no process has the terminal open any more
            os.read(terminal, 65536)


@pytest.mark.skipif(VIM is None, reason="vim is not installed")
def test_a_real_vim(tmp_path: Path) -> None:
    """The swap file of the installed vim is found, names its process, and disappears with it."""
    target = tmp_path / "LEARNED.md"
    target.write_text("- one\n")
    pid, terminal = pty.fork()
    if pid == 0:  # a name without its directory: a message longer than the screen would ask for Enter
        os.chdir(tmp_path)
        environ = {**os.environ, "TERM": "ansi", "LINES": "24", "COLUMNS": "80"}
        options = ["-u", "NONE", "-i", "NONE", "--cmd", "set nocompatible swapfile directory=."]
        os.execve(str(VIM), ["vim", *options, target.name], environ)
    locks: list[EditorLock] = []
    deadline = time.monotonic() + 60.0
    while [one.pid for one in locks] != [pid] and time.monotonic() < deadline:
        read_screen(terminal)  # vim creates the swap file before it writes its process id into it
        locks = find_editor_locks(target, RealDisk())
    assert [(one.editor, one.pid) for one in locks] == [("vim", pid)]
    assert is_held(locks[0], os.uname().nodename, process_is_alive) is True
    os.write(terminal, b":q!\r")
    while (ended := os.waitpid(pid, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        read_screen(terminal)
    if ended == (0, 0):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    os.close(terminal)
    assert ended == (pid, 0)
    assert find_editor_locks(target, RealDisk()) == []
