"""The log: DESIGN "Files", E-20 to E-23."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.errors import LogDamagedError
from tacitd.files import log as log_module
from tacitd.files.log import Log
from tacitd.testing import Crash, FaultyDisk


def test_a_record_is_one_write_and_keeps_its_order(tmp_path: Path) -> None:
    """DESIGN "Files": one record is one write. E-23: unknown keys kept; compact UTF-8, key order kept."""
    disk = FaultyDisk()
    log = Log(tmp_path / "state" / "x.jsonl", disk)
    log.append({"z": "schön", "a": [1, None], "n": {"b": 1, "a": 2}})
    log.append({"line": "one\ntwo"})
    assert disk.trail.count("write") == 2
    assert (tmp_path / "state/x.jsonl").read_bytes().splitlines() == [
        '{"z":"schön","a":[1,null],"n":{"b":1,"a":2}}'.encode(),
        b'{"line":"one\\ntwo"}',
    ]
    assert [list(record) for record in log.read()] == [["z", "a", "n"], ["line"]]


def test_a_log_is_private_unless_it_stands_in_a_project(tmp_path: Path) -> None:
    """DESIGN "Where it writes": own files are 0600 in 0700 directories; a project's files follow their directory,
    whatever the umask is (a service's is 0077).
    """
    tmp_path.chmod(0o755)
    before = os.umask(0o077)
    try:
        Log(tmp_path / "own" / "deep" / "x.jsonl").append({})
        Log(tmp_path / "project" / "x.jsonl", private=False).append({})
    finally:
        os.umask(before)
    modes = {str(p.relative_to(tmp_path)): p.stat().st_mode & 0o777 for p in tmp_path.rglob("*")}
    assert modes == {
        "own": 0o700,
        "own/deep": 0o700,
        "own/deep/x.jsonl": 0o600,
        "project": 0o755,
        "project/x.jsonl": 0o644,
    }


def test_reading_never_makes_a_file_and_skips_what_does_not_parse(tmp_path: Path) -> None:
    """E-23: a torn last line is tolerated; what does not parse is counted, and its offset is recorded."""
    log = Log(tmp_path / "x.jsonl")
    assert log.bad == 0 and list(log.read()) == [] and log.size == 0 and not log.path.exists()
    log.path.write_bytes(b'{"a":1}\n\n[1]\n\x00\x00\xff\n' + b"[" * 5000 + b'\n{"b":2}\n{"c":')
    assert list(log.read()) == [{"a": 1}, {"b": 2}]
    assert (log.bad, log.bad_at) == (4, [9, 13, 17, 5026])
    log.append({"d": 4})
    assert list(log.read()) == [{"a": 1}, {"b": 2}, {"d": 4}] and log.bad == 4
    assert log.path.read_bytes().endswith(b'{"c":\n{"d":4}\n')


def test_a_line_too_long_is_stepped_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DESIGN "Files": readers use bounded memory; a longer line is counted, and its offset is recorded."""
    monkeypatch.setattr(log_module, "LINE_LIMIT", 100)
    monkeypatch.setattr(log_module, "_CHUNK", 64)
    log = Log(tmp_path / "x.jsonl")
    log.path.write_bytes(b'{"a":1}\n{"x":"' + b"y" * 1000 + b'"}\n{"b":2}\n{"z":"' + b"y" * 300)
    assert list(log.read()) == [{"a": 1}, {"b": 2}]
    assert (log.bad, log.bad_at) == (2, [8, 1025])


@given(
    st.lists(st.one_of(st.integers(), st.binary(min_size=1, max_size=40)), max_size=12),
    st.sampled_from([3, 7, 1 << 20]),
)
@examples(60)
def test_every_record_comes_back_whatever_lies_between(steps: list[int | bytes], chunk: int) -> None:
    """E-23, RELIABILITY row 1: garbage and torn tails between appends affect no record, and the order is kept."""
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_module, "_CHUNK", chunk)
        log = Log(Path(name) / "x.jsonl")
        for step in steps:
            if isinstance(step, int):
                log.append({"ours": step})
            else:
                with log.path.open("ab") as file:
                    file.write(step)
        read = [record["ours"] for record in log.read() if "ours" in record]
        log.close()
        assert read == [step for step in steps if isinstance(step, int)]


def test_half_characters_are_written_as_replacement_characters(tmp_path: Path) -> None:
    """A lone surrogate, which UTF-8 cannot encode, is replaced; the rest of the record is kept."""
    log = Log(tmp_path / "x.jsonl")
    log.append({"text": ["a\ud800b", "\udcff", "ok 😀"]})
    assert list(log.read()) == [{"text": ["a\ufffdb", "\ufffd", "ok 😀"]}]


def test_flush_syncs_once_for_all_appends_of_a_tick(tmp_path: Path) -> None:
    """DESIGN "Files": one fdatasync for all commits of a tick."""
    disk = FaultyDisk()
    log = Log(tmp_path / "x.jsonl", disk)
    for number in range(5):
        log.append({"n": number})
    log.flush()
    log.flush()
    assert disk.trail == ["open_append", *["write"] * 5, "sync_data", "sync_dir"]


class ShortDisk(FaultyDisk):
    """Accepts three bytes of each write, `short` times; then the disk is full once."""

    short = 0

    def write(self, fd: int, data: bytes) -> int:
        if self.short > 0:
            self.short -= 1
            return super().write(fd, data[:3])
        return super().write(fd, data)


def test_a_record_is_durable_and_its_file_closed_in_one_call(tmp_path: Path) -> None:
    """Also if it cannot be written."""
    disk = FaultyDisk(fail_at=5, code=errno.ENOSPC)
    log, before = Log(tmp_path / "x.jsonl", disk), len(os.listdir("/dev/fd"))
    log.append_and_close({"n": 1})
    assert disk.trail == ["open_append", "write", "sync_data", "sync_dir"]
    with pytest.raises(OSError, match="No space"):
        log.append_and_close({"n": 2})
    log.append_and_close({"n": 3})
    assert len(os.listdir("/dev/fd")) == before
    assert [record["n"] for record in Log(log.path).read()] == [1, 3]


def test_a_short_write_is_completed(tmp_path: Path) -> None:
    """RELIABILITY row 3: short writes."""
    disk = ShortDisk()
    log = Log(tmp_path / "x.jsonl", disk)
    disk.short = 3
    log.append({"a": "long enough to be cut"})
    assert list(log.read()) == [{"a": "long enough to be cut"}] and log.bad == 0


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS])
def test_after_a_failed_append_the_log_goes_on(tmp_path: Path, code: int) -> None:
    """RELIABILITY row 3: ENOSPC, EIO, EROFS are raised as OSError, and a torn line is sealed."""
    log = Log(tmp_path / "x.jsonl", FaultyDisk(fail_at=3, code=code, torn=True))
    log.append({"a": 1})
    with pytest.raises(OSError) as caught:
        log.append({"b": 2})
    assert caught.value.errno == code
    log.append({"c": 3}, sync=True)
    assert list(log.read()) == [{"a": 1}, {"c": 3}] and log.bad == 1


def test_after_a_failed_sync_the_file_is_written_anew(tmp_path: Path) -> None:
    """RELIABILITY row 3, failed fsync: on Linux a second fdatasync would succeed without storing the bytes."""
    disk = FaultyDisk(fail_at=3, code=errno.EIO)
    log = Log(tmp_path / "x.jsonl", disk)
    log.append({"a": 1})
    with pytest.raises(OSError, match="error"):
        log.flush()
    log.append({"b": 2})
    log.flush()
    assert disk.trail[-4:] == ["chmod", "sync", "replace", "sync_dir"]
    log.append({"c": 3})
    assert list(log.read()) == [{"a": 1}, {"b": 2}, {"c": 3}]
    assert os.listdir(tmp_path) == ["x.jsonl"]


def test_compaction_keeps_what_is_appended_meanwhile(tmp_path: Path) -> None:
    """DESIGN "Files": compaction replaces the file; another process that has the old file open finds the new one."""
    log, other = Log(tmp_path / "x.jsonl"), Log(tmp_path / "x.jsonl")
    for number in range(10):
        other.append({"n": number})
    log.compact(record for record in log.read() if record["n"] % 2)
    other.append({"n": 10})
    log.append({"n": 11})
    assert [record["n"] for record in log.read()] == [1, 3, 5, 7, 9, 10, 11]
    assert log.path.stat().st_mode & 0o777 == 0o600 and log.size == log.path.stat().st_size


def test_a_failed_compaction_leaves_the_log_as_it_was(tmp_path: Path) -> None:
    """RELIABILITY row 3: every call of a compaction fails in turn."""
    records = [{"n": number} for number in range(3)]
    for at in range(2, 20):
        path = tmp_path / str(at) / "x.jsonl"
        path.parent.mkdir()
        Log(path).append({"old": 1})
        disk = FaultyDisk(fail_at=at, torn=True)
        log = Log(path, disk)
        try:
            log.compact(records)
        except OSError:
            assert list(log.read()) in ([{"old": 1}], records)
        tried = len(disk.trail)
        Log(path).append({"new": 0})  # another process does not have to wait
        disk.fail_at = 0
        log.append({"new": 1})
        new = [{"new": 0}, {"new": 1}]
        assert list(log.read()) in ([{"old": 1}, *new], [*records, *new]) and log.bad == 0
        assert os.listdir(path.parent) == ["x.jsonl"]
        if tried < at:
            return
    raise AssertionError("a compaction takes more calls than were tried")


@pytest.mark.parametrize("torn", [False, True])
def test_a_crash_before_any_call_tears_at_most_the_last_line(tmp_path: Path, torn: bool) -> None:
    """RELIABILITY row 2, for the log: appends, flushes and a compaction, with the process ended before every call."""
    at = 0
    while True:
        at += 1
        disk = FaultyDisk(crash_at=at, torn=torn)
        path = tmp_path / str(at) / "x.jsonl"
        said = _work_until_the_crash(Log(path, disk))
        log = Log(path)
        read = [record["n"] for record in log.read()]
        assert read in (said, [*said, len(said)]) and log.bad <= 1
        log.append({"n": 99})
        assert [record["n"] for record in log.read()] == [*read, 99]
        if not disk.dead:
            return


def _work_until_the_crash(log: Log) -> list[int]:
    said: list[int] = []
    try:
        for number in range(3):
            log.append({"n": number}, sync=number == 1)
            said.append(number)
        log.compact(list(log.read()))
        log.append({"n": 3})
        said.append(3)
        log.flush()
    except Crash:
        pass
    return said


def test_a_directory_in_the_place_of_a_log_is_said(tmp_path: Path) -> None:
    """STYLE 6: errors carry the hint that fixes them."""
    (tmp_path / "x.jsonl").mkdir()
    with pytest.raises(LogDamagedError, match=r"x\.jsonl"):
        Log(tmp_path / "x.jsonl").append({})
    os.mkfifo(tmp_path / "y.jsonl")
    with pytest.raises(LogDamagedError, match="ordinary"):
        Log(tmp_path / "y.jsonl").append({})


def test_a_log_that_was_removed_is_begun_again(tmp_path: Path) -> None:
    """A person may remove the log: nothing is written into a file without a name."""
    log = Log(tmp_path / "x.jsonl")
    log.append({"a": 1})
    log.path.unlink()
    log.append({"b": 2})
    assert list(log.read()) == [{"b": 2}]


APPEND = """
import sys
from pathlib import Path
from tacitd.files.log import Log
log = Log(Path(sys.argv[1]))
for number in range(500):
    log.append({"who": int(sys.argv[2]), "n": number, "pad": "x" * (number % 400)})
log.close()
"""


def test_two_processes_append_without_tearing(tmp_path: Path) -> None:
    """E-23: single appends under O_APPEND, while a third process compacts."""
    path = tmp_path / "x.jsonl"
    children = [subprocess.Popen([sys.executable, "-c", APPEND, str(path), str(who)]) for who in range(2)]
    log = Log(path)
    while any(child.poll() is None for child in children):
        log.compact(log.read())
    assert [child.returncode for child in children] == [0, 0]
    records = list(log.read())
    assert log.bad == 0
    for who in range(2):
        assert [record["n"] for record in records if record["who"] == who] == list(range(500))
    for line in path.read_bytes().splitlines():
        json.loads(line)
