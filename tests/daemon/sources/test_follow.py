"""Following transcripts: every change is reported once, also without hints."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from support_follow import Scene
from tacitd.sources import follow
from tacitd.sources.claude_code.transcripts import ClaudeCode
from tacitd.sources.follow import (
    ALL_EVERY,
    HINT_LASTS,
    HINTED_EVERY,
    HOT_EVERY,
    LIST_EVERY,
    FileChanges,
    scan_below,
    stamp_of,
)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_hint_is_looked_at_in_the_next_poll(scene: Scene) -> None:
    """RELIABILITY row 10: a hint is handled at once, and reports new, changed and vanished files."""
    scene.follower.poll()
    path = scene.write("s.jsonl", hint=True)
    assert scene.follower.poll() == FileChanges(changed=(path,))
    scene.write("s.jsonl", hint=True)
    assert scene.follower.poll() == FileChanges(changed=(path,))
    path.unlink()
    scene.told.hints.add(path)
    assert scene.follower.poll() == FileChanges(vanished=(path,))


def test_a_file_that_a_hook_names_is_compared_often(scene: Scene) -> None:
    """The client writes the prompt some 0.1 s after its hook ran, perhaps into a new file that no watch reports."""
    path = scene.write("other.jsonl").with_name("s.jsonl")
    os.utime(path.with_name("other.jsonl"), (1e9, 1e9))
    scene.follower.poll()
    assert scene.follower.note_hint(path) == path
    for _ in range(2):  # before the next comparison of all
        assert scene.follower.poll() == FileChanges()
        assert scene.follower.next_in() == pytest.approx(HINTED_EVERY)
        assert scene.later(HINTED_EVERY) == FileChanges()
    scene.write("s.jsonl")
    assert scene.later(HINTED_EVERY) == FileChanges(changed=(path,))
    assert scene.later(HINT_LASTS) == FileChanges()
    assert scene.follower.next_in() == pytest.approx(HOT_EVERY - HINT_LASTS - 3 * HINTED_EVERY), (
        "hot for an hour"
    )
    for odd in (path.parent.parent.parent / "s.jsonl", path.with_suffix(".txt"), Path("/etc/passwd")):
        assert scene.follower.note_hint(odd) is None


def test_hot_file_is_compared_every_two_seconds_without_a_hint(scene: Scene) -> None:
    """RELIABILITY row 10: under 2 s when hints are lost."""
    path = scene.write("s.jsonl")
    scene.follower.poll()
    scene.write("s.jsonl")
    assert scene.follower.next_in() == pytest.approx(HOT_EVERY)
    assert scene.later(HOT_EVERY / 2) == FileChanges()
    assert scene.later(HOT_EVERY / 2) == FileChanges(changed=(path,))


def test_cold_file_is_compared_every_minute_and_an_idle_engine_sleeps(scene: Scene) -> None:
    """DESIGN "Sources": all files every 60 s; with nothing hot there is no earlier poll."""
    path = scene.write("s.jsonl")
    os.utime(path, (1e9, 1e9))
    scene.follower.poll()
    assert scene.follower.next_in() == pytest.approx(ALL_EVERY)
    scene.write("s.jsonl")
    assert scene.later(ALL_EVERY - 1) == FileChanges()
    assert scene.later(1) == FileChanges(changed=(path,))
    assert scene.follower.next_in() == pytest.approx(HOT_EVERY), "it is hot now"


@pytest.mark.parametrize("what", ["clock forward", "clock back", "late", "lost", "asked"])
def test_everything_is_compared_at_once_when_nothing_can_be_taken_for_granted(
    scene: Scene, what: str
) -> None:
    """DESIGN "Sources": at once after lost hints, a wake from sleep, a clock jump, a stopped process, or for `sync`."""
    path = scene.write("s.jsonl")
    os.utime(path, (1e9, 1e9))
    scene.write("hot.jsonl")
    scene.follower.poll()
    scene.write("s.jsonl")
    assert scene.later(1) == FileChanges()
    scene.clock.wall += {"clock forward": 6, "clock back": -7200}.get(what, 0)
    scene.clock.move(8 if what == "late" else 0)
    scene.told.lost = what == "lost"
    assert path in scene.follower.poll(full=what == "asked").changed


def test_new_directory_below_an_unwatched_one_is_seen_within_two_seconds(scene: Scene) -> None:
    """RELIABILITY row 7: what cannot be watched is polled, and reported once it is certain."""
    scene.told.unwatched = {str(scene.folder), str(scene.folder / "new")}
    scene.follower.poll()
    assert scene.follower.list_degradations() == [], (
        "a folder that was just made may get its watch a moment later"
    )
    path = scene.write("new/s.jsonl")
    assert scene.later(HOT_EVERY) == FileChanges(changed=(path,))
    assert [problem.id for problem in scene.follower.list_degradations()] == ["watch.limit"]
    scene.told.unwatched = set()
    scene.later(ALL_EVERY)
    assert scene.follower.list_degradations() == []


@pytest.mark.parametrize("change", ["nothing", "write", "add", "remove", "add folder", "remove folder"])
def test_directories_are_listed_again_when_their_stamps_change(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """RELIABILITY row 6: listing them is most of an idle daemon's work. Without a hint everything is noticed within a minute."""
    path, other = scene.write("s.jsonl"), scene.write("deep/t.jsonl")
    for one in (path, other, other.parent, scene.folder, scene.folder.parent):
        os.utime(one, (1e9, 1e9))
    scene.follower.poll()
    listed: list[str] = []
    real = os.scandir

    def list_directory(where: str) -> Any:
        listed.append(where)
        return real(where)

    monkeypatch.setattr(os, "scandir", list_directory)
    changed, vanished = list[Path](), list[Path]()
    match change:
        case "write":
            changed = [scene.write("s.jsonl")]
        case "add":
            changed = [scene.write("deep/new.jsonl")]
        case "remove":
            other.unlink()
            vanished = [other]
        case "add folder":
            changed = [scene.write("new/n.jsonl")]
        case "remove folder":
            shutil.rmtree(other.parent)
            vanished = [other]
    assert scene.later(ALL_EVERY) == FileChanges(tuple(changed), tuple(vanished))
    assert bool(listed) == (change not in ("nothing", "write"))
    if change == "nothing":
        for _ in range(int(LIST_EVERY / ALL_EVERY) - 1):
            assert not listed and not scene.later(ALL_EVERY)
        assert listed, "not every file system keeps a directory's stamp"


def test_hint_of_a_new_directory_lists_it(scene: Scene) -> None:
    """DESIGN "Sources": files in new nested directories are seen, also if only the folder was hinted."""
    scene.follower.poll()
    path = scene.write("s/deep/er/x.jsonl")
    scene.told.hints.add(scene.folder / "s")
    assert scene.follower.poll() == FileChanges(changed=(path,))


def test_root_absent_deleted_and_made_again(tmp_path: Path) -> None:
    """RELIABILITY row 8: it continues by itself, and reports what is missing."""
    scene = Scene(tmp_path)
    path = scene.write("s.jsonl")
    scene.follower.poll()
    shutil.rmtree(tmp_path / "projects")
    assert scene.later(ALL_EVERY).vanished == (path,)
    assert [problem.id for problem in scene.follower.list_degradations()] == ["transcripts.absent"]
    assert scene.follower.next_in() <= HOT_EVERY
    scene.write("s.jsonl")
    assert scene.later(ALL_EVERY).changed == (path,)
    assert scene.follower.list_degradations() == []


def test_unreadable_is_unknown_and_not_gone(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """RELIABILITY row 8: permission removed and given again: nothing vanishes, the rest continues, and it is reported."""
    path = scene.write("s.jsonl")
    other = scene.root / "projects/b/t.jsonl"
    other.parent.mkdir()
    scene.follower.poll()
    real = os.scandir

    def refuse(where: str) -> object:
        if where == str(scene.folder):
            raise PermissionError(13, "Permission denied")
        return real(where)

    monkeypatch.setattr(os, "scandir", refuse)
    other.write_text("x")
    assert scene.follower.poll(full=True) == FileChanges(changed=(other,))
    (problem,) = scene.follower.list_degradations()
    assert problem.id == "transcripts.unreadable" and "Permission denied" in problem.what and problem.hint
    monkeypatch.setattr(os, "scandir", real)
    scene.write("s.jsonl")
    assert scene.follower.poll(full=True) == FileChanges(changed=(path,))
    assert scene.follower.list_degradations() == []


def test_odd_things_are_named_and_never_opened(scene: Scene) -> None:
    """RELIABILITY row 9, DESIGN "Sources": a FIFO, a link and a linked folder are not read, and are reported."""
    os.mkfifo(scene.folder / "f.jsonl")
    target = scene.write("s.jsonl")
    (scene.folder / "l.jsonl").symlink_to(target)
    (scene.root / "elsewhere").mkdir()
    (scene.root / "elsewhere/z.jsonl").write_text("x")
    (scene.root / "projects/linked").symlink_to(scene.root / "elsewhere")
    (scene.folder / "loop").symlink_to(scene.root / "projects")
    assert scene.follower.poll().changed == (target,)
    (problem,) = scene.follower.list_degradations()
    assert problem.what.startswith("3 not read") and "FIFO" in problem.what and "link" in problem.what
    assert scan_below(ClaudeCode(scene.root)).odd.keys() == {
        str(scene.folder / "f.jsonl"),
        str(scene.folder / "l.jsonl"),
        str(scene.root / "projects/linked"),
    }


def test_names_that_are_not_utf8_are_reported(scene: Scene) -> None:
    """DESIGN "Reading": the client's names are ASCII. Neither such a file nor what is in such a folder is read."""
    folder = os.fsencode(scene.folder)
    try:
        os.mkdir(folder + b"/\xff")
        for name in (b"/\xff\xfe.jsonl", b"/\xff.txt", b"/\xff/s.jsonl"):
            with open(folder + name, "wb") as out:
                out.write(b"x")
    except OSError:
        pytest.skip("this file system refuses such names")
    good = scene.write("\u00e9.jsonl")
    assert scene.follower.poll().changed == (good,)
    for path in (b"/\xff\xfe.jsonl", b"/\xff"):
        scene.told.hints.add(Path(os.fsdecode(folder + path)))
    assert not scene.follower.poll()
    (problem,) = scene.follower.list_degradations()
    assert problem.what.startswith("2 not read") and problem.what.count("not UTF-8") == 2
    assert problem.what.isprintable()


def test_of_thousands_of_hot_files_the_newest_are_compared(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELIABILITY row 6: idle stays cheap. The others are compared every minute."""
    monkeypatch.setattr(follow, "MANY", 2)
    paths = [scene.write(f"{number}.jsonl") for number in range(4)]
    scene.follower.poll()
    for path in paths:
        scene.write(path.name, hint=True)
        scene.follower.poll()
    for path in paths:
        scene.write(path.name)
    assert set(scene.later(HOT_EVERY).changed) == set(paths[2:])
    scene.clock.move(ALL_EVERY - 2 * HOT_EVERY)
    assert set(scene.later(HOT_EVERY).changed) >= set(paths[:2])


# --- Stamps of files: what they are compared by, in few bytes.


FIELDS = st.tuples(
    st.integers(0, 2**63 - 1),
    st.integers(-(2**62), 2**63 + 2**62),  # some file systems store times after the year 2262
    st.integers(-(2**62), 2**63 + 2**62),
    st.integers(0, 2**64 - 1),
)


def status(size: int, mtime: int, ctime: int, inode: int) -> Any:
    return SimpleNamespace(st_size=size, st_mtime_ns=mtime, st_ctime_ns=ctime, st_ino=inode)


@examples(200)
@given(FIELDS, FIELDS)
def test_stamps_are_equal_if_all_numbers_are(
    one: tuple[int, int, int, int], other: tuple[int, int, int, int]
) -> None:
    """Any difference means that the file changed; size and time can be read back."""
    stamp = stamp_of(status(*one))
    assert (stamp == stamp_of(status(*other))) == (one == other)
    assert stamp.size == one[0] and (stamp.mtime_ns == one[1] or one[1] < 0 < stamp.mtime_ns)
    assert sys.getsizeof(stamp) <= 96, "there is one for each transcript of years"
