"""The store on a disk that is full, read-only or broken, and beside a process that does not let go of it."""

from __future__ import annotations

import errno
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support_faulty_disk import ERRORS
from support_store import BEGIN, build_shim, run_store
from tacitd.errors import BusyStoreError, UnwritableError
from tacitd.store import Store
from tacitd.testing import FakeClock

pytestmark = [pytest.mark.scenario, pytest.mark.undated]
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")


# --- a disk that fails below SQLite -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_shim(tmp_path_factory.mktemp("shim"))


RunFaulty = Callable[[str], Any]


@pytest.fixture
def run_faulty(
    shim: Path, tmp_path: Path, record_property: Callable[[str, object], None]
) -> Iterator[RunFaulty]:
    """Run a program in which `fault("write 28")` lets each write fail, and `fault()` none. The report gets the number of failures."""
    fault = tmp_path / "fault"
    hits = tmp_path / "fault.hits"
    hits.touch()

    def run(code: str) -> Any:
        fault.write_text("")
        begin = 'def fault(text=""): Path(os.environ["FAULT"]).write_text(text)\n'
        return run_store(begin + code, tmp_path / "state", LD_PRELOAD=str(shim), FAULT=str(fault))

    yield run
    record_property("faults", hits.stat().st_size)


@linux
@pytest.mark.parametrize(
    ("what", "code", "says", "hint"),
    [
        ("write", errno.ENOSPC, "No space left on device", "free space"),
        ("write", errno.EDQUOT, "Disk quota exceeded", "free space"),
        ("write", errno.EROFS, "Read-only file system", "mount it writable"),
        ("write", errno.EIO, "Input/output error", "dmesg"),
        ("sync", errno.EIO, "Input/output error", "dmesg"),
        ("sync", errno.ENOSPC, "No space left on device", "free space"),
    ],
)
def test_a_failed_write_is_named_and_repeated(
    what: str, code: int, says: str, hint: str, run_faulty: RunFaulty, tmp_path: Path
) -> None:
    """DESIGN "Faults": it is rolled back, becomes the disk's own words, and the same connection goes on afterwards. SQLite says
    "disk I/O error" for nearly all of them. Reading goes on meanwhile."""
    program = f"""
store = Store.open(state, SystemClock())
result = [add(store, 1)]
fault("{what} {code}")
result += [add(store, 2), add(store, 2), count(store)]
fault()
result += [add(store, 2), add(store, 3), count(store)]
store.close()
"""
    first, *failed, seen, again, third, total = run_faulty(program)
    assert first == again == third == "ok"
    assert (seen, total) == (1, 3)
    for kind, said, fix in failed:
        assert kind == "UnwritableError"
        assert says in said and hint in fix


@linux
def test_a_commit_that_failed_is_repeated_by_key(run_faulty: RunFaulty, tmp_path: Path) -> None:
    """DESIGN "Faults": a commit whose sync failed may be durable. A crash follows at once; the next process repeats it by its key,
    and there is one row."""
    program = f"""
store = Store.open(state, SystemClock())
fault("sync {errno.EIO}")
result = add(store, 1)[0]
"""
    failed = program + "print(json.dumps(result), flush=True)\nos._exit(0)"
    assert run_faulty(failed) == "UnwritableError"
    again = "store = Store.open(state, SystemClock())\nresult = [add(store, 1), count(store)]"
    assert run_store(again, tmp_path / "state") == ["ok", 1]


@linux
@pytest.mark.parametrize("what", ["write", "sync"])
@pytest.mark.parametrize("code", ERRORS)
def test_each_call_of_a_commit_can_fail(what: str, code: int, run_faulty: RunFaulty, tmp_path: Path) -> None:
    """DESIGN "Faults": whichever write or sync of a commit fails, each transaction is whole or absent, what was reported as done is
    there after a kill, and the same transaction succeeds when it is repeated."""
    program = f"""
store = Store.open(state, SystemClock())
results = []
for skip in range(12):
    fault("{what} {code} " + str(skip))
    first = add(store, skip)
    fault()
    results.append([first == "ok", add(store, skip)])
print(json.dumps(results), flush=True)
os._exit(0)
"""
    results = run_faulty(program)
    assert [again for _, again in results] == ["ok"] * 12
    assert not results[0][0] and results[11][0]
    store = Store.open(tmp_path / "state", FakeClock())
    assert (
        store.rows("SELECT count(*) FROM shown") == [(12,)] and store.rows("SELECT 1 FROM degradation") == []
    )
    store.close()


@linux
def test_a_statement_after_a_full_disk_commits_nothing(run_faulty: RunFaulty, tmp_path: Path) -> None:
    """DESIGN "Faults": SQLite has rolled back, so the next statement would be a transaction of its own. A part of a plugin that
    swallows the error changes nothing either, and is not blamed."""
    program = f"""
store = Store.open(state, SystemClock())
add(store, 1)
result = []
for swallow in (False, True):
    try:
        with store.write() as tx:
            with savepoint(tx) as part:
                try:
                    fault("write {errno.ENOSPC}")
                    # more than the page cache holds, so that it is written before the commit
                    for number in range(9000):
                        tx.execute("INSERT INTO shown(session, name, digest, at) VALUES('big', ?, zeroblob(9000), 1)", str(number))
                except Exception:
                    if not swallow:
                        raise
                tx.execute("INSERT INTO shown(session, name, digest, at) VALUES('s', 'after', x'00', 1)")
            result.append(["not raised", repr(part.error)])
    except UnwritableError as error:
        result.append(error.what)
    fault()
    result.append(count(store))
result.append(add(store, 2))
"""
    first, seen, second, still, after = run_faulty(program)
    assert "No space left" in first and "No space left" in second
    assert seen == still == 1
    assert after == "ok"


@linux
def test_an_unreadable_disk_is_no_damage(run_faulty: RunFaulty, tmp_path: Path) -> None:
    """DESIGN "Faults": a store that cannot be read now is not put aside: nothing of it is lost when the disk answers again."""
    Store.open(tmp_path / "state", FakeClock()).close()
    program = f"""
fault("read {errno.EIO}")
try:
    result = [count(Store.open(state, SystemClock()))]
except UnwritableError as error:
    result = [error.what]
fault()
store = Store.open(state, SystemClock())
result += [add(store, 1), sorted(os.listdir(state))]
"""
    failed, after, names = run_faulty(program)
    assert "disk I/O error" in failed and after == "ok"
    assert names == ["tacitd.sqlite", "tacitd.sqlite-shm", "tacitd.sqlite-wal"]


@linux
def test_reading_does_not_wait_for_a_slow_disk(run_faulty: RunFaulty, tmp_path: Path) -> None:
    """Core part: `status` answers within a second while an fsync takes two. A commit is not visible before it is durable."""
    program = """
import threading, time
at_commit = threading.Event()
store = Store.open(state, SystemClock(), on_step=lambda step: at_commit.set() if step == "before commit" else None)
at_commit.clear()
fault("slow 2000000")
thread = threading.Thread(target=add, args=(store, 1))
thread.start()
at_commit.wait()
times, seen, reads = [], set(), 0
while reads < 100:
    began, number = time.monotonic(), count(store)
    if not thread.is_alive():
        break
    times.append(time.monotonic() - began)
    seen.add(number)
    reads += 1
thread.join()
fault()
result = [reads, max(times), sorted(seen), count(store)]
"""
    reads, longest, seen, after = run_faulty(program)
    assert reads == 100 and longest < 1.0
    assert seen == [0] and after == 1


# --- a disk that is full or read-only -----------------------------------------------------------------------------------


def _small_disk(place: Path, options: str) -> tuple[str, ...]:
    """The command that runs a program with a small disk mounted at `place`."""
    place.mkdir()
    mount = f'mount -t tmpfs -o {options} tmpfs "$0" && exec "$@"'
    before = ("unshare", "-Urm", "sh", "-c", mount, str(place))
    if shutil.which("unshare") is None or subprocess.run([*before, "true"], check=False).returncode:
        pytest.skip("no disk can be mounted in a namespace here")
    return before


FILL = """
def fill():
    with open(state.parent / "fill", "ab", buffering=0) as file:
        for size in (4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                pass
"""


@linux
def test_a_full_disk_is_got_over(tmp_path: Path) -> None:
    """RELIABILITY 4: a full disk rolls back, reading goes on, and after room the same connection works; a start on a full disk and
    a command without a daemon are no different."""
    disk = tmp_path / "disk"
    before = _small_disk(disk, "size=2m,mode=700")
    program = (
        FILL
        + """
def opened():
    try:
        store = Store.open(state, SystemClock())
    except UnwritableError as error:
        return error.hint
    store.close()
    return "open"
store = Store.open(state, SystemClock())
result = [add(store, 1)]
fill()
for number in range(2, 300):
    failed = add(store, number)
    if failed != "ok":
        break
held = number - 1
result += [failed[1:], count(store) == held]
(state.parent / "fill").unlink()
result += [add(store, number), count(store) == held + 1]
store.close()
fill()
result += [opened(), open_readonly(state).rows("SELECT count(*) FROM shown")[0][0] == held + 1]
(state.parent / "fill").unlink()
result += [opened()]
"""
    )
    first, (what, hint), seen, again, total, refused, read, after = run_store(
        program, disk / "state", before=before
    )
    assert first == again == "ok" and seen and total
    assert "No space left" in what and "free space" in hint
    assert "free space" in refused and read and after == "open"


@linux
def test_a_read_only_file_system_is_named(tmp_path: Path) -> None:
    """DESIGN "Faults": a store on a read-only file system is read by commands, and a start says what to do."""
    disk = tmp_path / "disk"
    before = _small_disk(disk, "size=9m,mode=700")
    program = """
import subprocess
store = Store.open(state, SystemClock())
result = [add(store, 1)]
store.close()
subprocess.run(["mount", "-o", "remount,ro", state.parent], check=True)
try:
    Store.open(state, SystemClock())
except UnwritableError as error:
    result.append([error.what, error.hint])
result.append(open_readonly(state).rows("SELECT count(*) FROM shown")[0][0])
"""
    first, (what, hint), read = run_store(program, disk / "state", before=before)
    assert first == "ok" and read == 1
    assert "Read-only file system" in what and "writable" in hint


@linux
@pytest.mark.parametrize(("what", "mode"), [("directory", 0o500), ("file", 0o400)])
def test_missing_rights_are_named(what: str, mode: int, tmp_path: Path) -> None:
    """DESIGN "Faults": the hint is that of the system's error, for a directory and for the file itself."""
    before = ("unshare", "-U")  # so that root has no more rights than its files say
    if shutil.which("unshare") is None or subprocess.run([*before, "true"], check=False).returncode:
        pytest.skip("no user namespace can be made here")
    state = tmp_path / "state"
    Store.open(state, FakeClock()).close()
    (state if what == "directory" else state / "tacitd.sqlite").chmod(mode)
    program = """
try:
    result = [add(Store.open(state, SystemClock()), 1)]
except UnwritableError as error:
    result = [error.what, error.hint]
"""
    said, hint = run_store(program, state, before=before)
    state.chmod(0o700)
    assert "Permission denied" in said and "chmod" in hint


def test_a_directory_in_the_place_of_the_store_is_named(tmp_path: Path) -> None:
    """DESIGN "Faults": what is in the way is left alone and named."""
    (tmp_path / "state" / "tacitd.sqlite").mkdir(parents=True)
    with pytest.raises(UnwritableError, match="Is a directory") as failed:
        Store.open(tmp_path / "state", FakeClock())
    assert "move it away" in failed.value.hint


# --- another process ------------------------------------------------------------------------------------------------------

STOPPED = """
store = Store.open(state, SystemClock(), owner=False)
with store.write() as tx:
    tx.execute("INSERT INTO shown(session, name, digest, at) VALUES('s', 'a', x'00', 1)")
    print("inside", flush=True)
    sys.stdin.readline()
"""


@linux
def test_a_process_that_stopped_in_a_write_is_named(tmp_path: Path) -> None:
    """DESIGN "The store": the daemon waits 0.2 s and tries again; after 5 s the process is named, from /proc/locks; reading goes on,
    and it goes on by itself when the process does."""
    state, clock = tmp_path / "state", FakeClock()
    store = Store.open(state, clock)
    other = subprocess.Popen(
        [sys.executable, "-c", BEGIN + STOPPED, str(state)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert other.stdout is not None and other.stdin is not None
    assert other.stdout.readline() == "inside\n"
    other.send_signal(signal.SIGSTOP)
    try:
        for seconds in (0.0, 4.0, 6.0):
            clock.mono = 1000.0 + seconds
            with pytest.raises(BusyStoreError) as failed, store.write():
                pass
            assert failed.value.code == 75
            assert (str(other.pid) in failed.value.what) is (seconds > 5)
        assert f"kill {other.pid}" in failed.value.hint and "python" in failed.value.what
        assert store.rows("SELECT * FROM shown") == []
    finally:
        other.send_signal(signal.SIGCONT)
    other.communicate("\n")
    assert other.returncode == 0
    with store.write() as tx:
        assert tx.rows("SELECT name FROM shown") == [("a",)]
    store.close()
