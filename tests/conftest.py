"""Fixtures and options for all tests: temporary directories in memory, no fsync, few processes of git, a user memory of their
own, closed descriptors, default signal handlers, and the options `--days-ahead`, `--record` and
`--crashes`."""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from support_crash_plan import CRASHES, FAULTS
from support_descriptors import MANY, Descriptors, list_open
from support_disk import count_faults
from tacitd.testing import fakes

for _one in (signal.SIGINT, signal.SIGHUP):
    # Why: a shell without job control has its background jobs ignore SIGINT, `nohup` SIGHUP, and children inherit that.
    if signal.getsignal(_one) is signal.SIG_IGN:
        signal.signal(_one, signal.default_int_handler)

# Also where the environment forbids it: to rewrite the asserts of all tests takes 13 s of each worker's CPU time, and the
# programs that tests start would compile their modules each time.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

MEMORY = "/dev/shm"
"""A file system in memory, on Linux: a test file needs a fifth less CPU time there, and no test waits for a disk."""
ROOM = 1 << 30
"""Bytes that must be free in it. In containers it often has 64 MB."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--days-ahead N`, because no test may depend on the date on which it runs, and `--record`."""
    parser.addoption(
        "--days-ahead",
        type=int,
        default=0,
        metavar="N",
        help="set the clock of the test process N days ahead (negative: back), and the start of FakeClock as many days"
        " the other way; the times of files and the clock of child processes cannot be set. For the unit tests",
    )
    parser.addoption(
        "--record",
        action="store_true",
        help="record the final files of the stories instead of comparing them with the recorded ones (with -n 0)",
    )
    for name, count, what in (("crashes", CRASHES, "crash"), ("disk-faults", FAULTS, "failure of the disk")):
        parser.addoption(
            f"--{name}",
            type=float,
            default=os.environ.get(f"TACITD_{name.replace('-', '_').upper()}"),
            metavar="N",
            help=f"run each story again with a {what} at so many of its durable steps (default: {count}; 0 under another date)",
        )
    parser.addoption(
        "--ways",
        type=float,
        default=os.environ.get("TACITD_WAYS", "0"),
        metavar="SHARE",
        help="and at this share of the ways to a durable step of all stories (with -n 0; 1: at each)",
    )
    parser.addoption(
        "--fail-at",
        type=int,
        action="append",
        default=[],
        metavar="N",
        help="only at this step of each story",
    )
    parser.addoption(
        "--crash-seed",
        type=int,
        default=int(os.environ.get("TACITD_SEED", "20261125")),
        help="which steps these are (default: %(default)s)",
    )
    parser.addoption(
        "--crash-at",
        type=int,
        action="append",
        default=[],
        metavar="N",
        help="only at this step of each story",
    )


def pytest_report_header(config: pytest.Config) -> str:
    """Say with which crashes the stories run."""
    crashes, faults, ways, seed = map(
        config.getoption, ("--crashes", "--disk-faults", "--ways", "--crash-seed")
    )
    some = f"{crashes:g} crashes and {faults:g} failures of the disk"
    return (
        f"each story again with {some} at its durable steps, and at {ways:g} of the ways to one; seed {seed}"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """With `-n`, let an idle worker take tests from another: some tests take a thousand times as long as others, and
    the longest come last."""
    if getattr(config.option, "numprocesses", None) and config.option.dist == "no":
        config.option.dist = "worksteal"
    for name, count in (("crashes", CRASHES), ("disk_faults", FAULTS)):
        if getattr(config.option, name) is None:
            setattr(config.option, name, 0.0 if config.option.days_ahead else float(count))


def pytest_configure(config: pytest.Config) -> None:
    """Choose the place of temporary directories, and set the clocks before a test module is imported, because some
    modules read the time when they are imported."""
    if _is_roomy(MEMORY):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)
    days = config.getoption("--days-ahead")
    if days:
        import time_machine

        fakes.START -= days * fakes.DAY
        travel = time_machine.travel(time.time() + days * fakes.DAY, tick=True)
        travel.start()
        config.add_cleanup(travel.stop)


def _is_roomy(directory: str) -> bool:
    """Whether temporary directories can be there: it is writable, programs in it can run, and it has room."""
    try:
        found = os.statvfs(directory)
    except OSError:
        return False
    may_run = not found.f_flag & os.ST_NOEXEC
    return may_run and os.access(directory, os.W_OK | os.X_OK) and found.f_bavail * found.f_frsize >= ROOM


def pytest_collection_finish() -> None:
    """Exclude the imported modules from garbage collection, which would otherwise take a tenth of the time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def _own_memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the profile and sessions of tests that name no other place out of the person's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("USER_MEMORY_DIR", str(tmp_path_factory.mktemp("user-memory")))
        yield


@pytest.fixture(scope="session")
def _descriptors() -> Iterator[Descriptors]:
    """Fail if too many descriptors are open after the last test of the process."""
    kept = Descriptors()
    with kept.watched():
        yield kept
    found = list_open()
    assert len(found) <= MANY, f"{len(found)} descriptors are open: {found}"


@pytest.fixture(autouse=True)
def _closed(_descriptors: Descriptors) -> Iterator[None]:
    """Close what the test's daemons left open."""
    with _descriptors.given_back():
        yield


@pytest.fixture(autouse=True)
def _counted_faults(record_property: Callable[[str, object], None]) -> Iterator[None]:
    """Record in the report how many crashes and failures of a disk a test injected, for `scripts/soak.py`."""
    if "TACITD_COUNT_FAULTS" not in os.environ:
        yield
        return
    # `monkeypatch` would then end after `tmp_path`, which calls what tests patch.
    with pytest.MonkeyPatch.context() as patch:
        count = count_faults(patch)
        yield
        crashes, faults = count()
        record_property("crashes", crashes)
        record_property("faults", faults)


@pytest.fixture(autouse=True, scope="session")
def _no_syncs() -> Iterator[None]:
    """Make fsync do nothing: no test cuts the power. `support_disk` checks that syncs are called, and when."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda fd: None)
        patch.setattr(os, "fdatasync", lambda fd: None)
        yield
