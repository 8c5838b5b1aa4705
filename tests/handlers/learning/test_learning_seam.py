"""RELIABILITY 2 and 3 for the learning plugin, at the calls of `files/`: the process ends, or one call fails, before each
write, sync, rename and removal of a synthesis, including those of raw files.

Two sessions and another tool have left facts. In the end each is in LEARNED.md exactly once, nothing waits, nothing is
claimed, and no file of facts is left over.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from support_heard import list_facts
from support_learning import EXTRACTION, PNPM, SHORT, SYNTHESIS, Bench, lines
from tacitd.handler import Done
from tacitd.testing import Crash, FaultyDisk

TABS = "Prefers tabs"
LIMIT = 150


def numbers() -> Iterator[int]:
    yield from range(1, LIMIT)


def prepared(box: Path, answer: str, disk: FaultyDisk) -> Bench:
    """Facts of ours in one file, and facts of another tool in a claimed file that a crash left."""
    bench = Bench(box, (SYNTHESIS, answer), (EXTRACTION, PNPM), disk=disk)
    bench.type("use pnpm, not npm")
    bench.put("tmp/learning-raw.0-a.processing.jsonl", f'{{"facts": ["{TABS}"]}}\n')
    return bench


def started_again(bench: Bench) -> None:
    """A new process on the same files: committed events are not offered again, all others are."""
    bench.disk = FaultyDisk()
    bench.restart()
    bench.end()
    bench.due("recover")
    bench.play_posted()


def calm(bench: Bench, *bullets: str) -> None:
    assert sorted(bench.bullets) == sorted(bullets)
    assert bench.status["facts_waiting"] == {} and not bench.history.pending and not bench.degraded
    assert sorted(path.name for path in bench.files.tmp_dir.iterdir() if path.suffix == ".jsonl") == []
    assert len(bench.asked(SYNTHESIS)) <= 2


@pytest.mark.undated
@pytest.mark.parametrize(
    ("answer", "bullets"), [(lines(PNPM, TABS), (PNPM, TABS)), ("NONE", ())], ids=["two lines", "none"]
)
def test_a_crash_before_every_call_of_the_seam(tmp_path: Path, answer: str, bullets: tuple[str, ...]) -> None:
    """RELIABILITY 2: 0 lost, 0 twice, at any moment."""
    met: set[str] = set()
    for number in numbers():
        disk = FaultyDisk(torn=True)
        bench = prepared(tmp_path / str(number), answer, disk)
        before = len(disk.trail)
        disk.crash_at = before + number
        try:
            bench.end()
        except Crash:
            started_again(bench)
        calm(bench, *bullets)
        assert bench.status["total"]["lines"] == len(bullets)
        met.update(disk.trail[before:])
        if not disk.dead:
            written = {"open_new", "replace", "exchange", "sync_data"} if bullets else set[str]()
            assert {"place", "unlink", "sync_dir"} | written <= met, met
            return
    raise AssertionError("the synthesis never ended")


@pytest.mark.undated
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_failure_of_every_call_of_the_seam(tmp_path: Path, code: int) -> None:
    """RELIABILITY 3: one call fails, and the same process continues: 0 lost, 0 twice."""
    for number in numbers():
        disk = FaultyDisk(torn=True, code=code)
        bench = prepared(tmp_path / str(number), lines(PNPM, TABS), disk)
        before = len(disk.trail)
        disk.fail_at = before + number
        try:
            first = bench.end()
        except OSError:  # the commit itself could not be written: the engine offers it again
            first = None
        for _ in range(3):
            bench.end()
        calm(bench, PNPM, TABS)
        if len(disk.trail) - before < number:
            assert isinstance(first, Done) and number > 20
            return
    raise AssertionError("the synthesis never ended")


@pytest.mark.undated
def test_a_crash_before_every_call_while_facts_are_put_aside(tmp_path: Path) -> None:
    """SPEC S-23: after two unusable answers the facts are put aside as a whole, wherever it was interrupted."""
    for number in numbers():
        disk = FaultyDisk()
        bench = prepared(tmp_path / str(number), "rubbish", disk)
        bench.end()
        before = len(disk.trail)
        disk.crash_at = before + number
        try:
            bench.end()
        except Crash:
            started_again(bench)
            for _ in range(3):
                bench.end()
        aside = "".join(path.read_text() for path in bench.files.tmp_dir.glob("*.dead.jsonl"))
        assert PNPM in aside and TABS in aside
        assert bench.status["facts_waiting"] == {} and bench.bullets == []
        assert not bench.files.raw_file.exists() and not bench.claimed
        if not disk.dead:
            assert "place" in disk.trail[before:]
            return
    raise AssertionError("it never ended")


# --- a program that had the file open when it was claimed -----------------------------------------------------------


def held(bench: Bench, answer: str = lines(PNPM)) -> None:
    """Another tool opened the raw file before the claim, and adds a fact during the model call."""
    raw = bench.files.raw_file
    raw.parent.mkdir(exist_ok=True)
    with raw.open("a") as tool:
        tool.write(f'{{"facts": ["{PNPM}"]}}\n')
        tool.flush()

        def say(ask: object) -> str:
            tool.write(f'{{"facts": ["{TABS}"]}}\n')
            tool.flush()
            return answer

        bench.answer((SYNTHESIS, say))
        bench.due("synthesize", bench.project)


@pytest.mark.parametrize("answer", [lines(PNPM), "NONE"])
@pytest.mark.parametrize("restarted", [False, True])
def test_what_is_added_to_a_claimed_file_is_not_lost(bench: Bench, answer: str, restarted: bool) -> None:
    """SPEC S-22, S-23: only the facts that were added during the call are handled the next time."""
    held(bench, answer)
    (kept,) = bench.claimed
    assert (PNPM in bench.bullets) == (answer != "NONE")
    bench.answer((SYNTHESIS, lines(TABS)))
    if restarted:
        bench.restart()
    bench.due("recover")
    bench.play_posted()
    (asked,) = bench.asked(SYNTHESIS)[1:]
    facts = list_facts(asked).values()
    assert TABS in facts and (PNPM not in facts or asked.count("left out before, said") == 1)
    assert TABS in bench.bullets and not bench.claimed and not kept.exists()
    assert bench.status["total"]["lines"] == len(bench.bullets)


def test_the_same_where_a_crash_came_before_the_commit(bench: Bench) -> None:
    """SPEC S-31: the history has the offset up to which the file was handled."""
    commit, bench.commit = bench.commit, lambda *_: None  # type: ignore[method-assign]
    held(bench)
    bench.commit = commit  # type: ignore[method-assign]
    assert bench.bullets == [PNPM] and len(bench.claimed) == 1
    bench.restart()
    bench.answer((SYNTHESIS, lines(TABS)))
    bench.due("synthesize", bench.project)
    assert bench.bullets == [PNPM, TABS] and not bench.claimed


def test_a_line_that_was_half_written_when_it_was_claimed(bench: Bench) -> None:
    """SPEC S-21: half a line is quarantined; once the other half is written, it is a fact."""
    raw = bench.files.raw_file
    raw.parent.mkdir(exist_ok=True)
    with raw.open("a") as tool:
        tool.write(f'{{"facts": ["{PNPM}"]}}\n{{"facts": ["Pref')
        tool.flush()

        def say(ask: object) -> str:
            tool.write('ers tabs"]}\n')
            tool.flush()
            return lines(PNPM)

        bench.answer((SYNTHESIS, say))
        bench.due("synthesize", bench.project)
    bench.answer((SYNTHESIS, lines(TABS)))
    bench.due("synthesize", bench.project)
    assert bench.bullets == [PNPM, TABS] and not bench.claimed


def test_bad_lines_of_a_file_that_was_done_before_a_crash_are_kept(bench: Bench) -> None:
    """SPEC S-21: the lines were written, and the bad lines were not in quarantine yet."""
    bench.put("tmp/learning-raw.jsonl", f'{{"facts": ["{PNPM}"]}}\nnot a fact\n')
    quarantine = bench.home / "quarantine.jsonl"
    quarantine.mkdir(parents=True)
    bench.due("synthesize", bench.project)
    assert bench.bullets == [PNPM] and len(bench.claimed) == 1
    quarantine.rmdir()
    bench.restart()
    bench.due("synthesize", bench.project)
    assert "not a fact" in quarantine.read_text() and not bench.claimed


def test_nothing_is_renamed_over_a_file_that_is_there(bench: Bench) -> None:
    """DESIGN "Priorities", 1: SHORT was put aside once; a new file gets another name."""
    bench.answer((SYNTHESIS, "rubbish"), (EXTRACTION, SHORT))
    for text in ("short answers", "shorter answers"):
        bench.type(text)
        for _ in range(3):
            bench.end()
    assert len(list(bench.files.tmp_dir.glob("*.dead.jsonl"))) == 2


@pytest.mark.parametrize("write", ["local", "off"])
def test_what_could_not_be_finished_is_finished_without_a_restart(tmp_path: Path, write: str) -> None:
    """RELIABILITY 3: the daemon recovers by itself; nothing is written if the user ran `tacitd exclude` meanwhile."""

    class Full(FaultyDisk):
        full = False

        def write(self, fd: int, data: bytes) -> int:
            if self.full and data.startswith(b"# Learned Preferences"):
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(fd, data)

    disk = Full()
    bench = Bench(tmp_path, disk=disk)
    bench.type("use pnpm, not npm")
    disk.full = True
    bench.end()
    assert bench.history.pending and bench.bullets == []
    disk.full, bench.modes[bench.root] = False, write
    bench.due("recover")
    assert bench.bullets == ([PNPM] if write == "local" else [])
    assert bool(bench.history.pending) == (write == "off")
    bench.modes.clear()
    bench.due("recover")
    bench.play_posted()
    calm(bench, PNPM)
    assert len(bench.asked(SYNTHESIS)) == 1
