"""The ten faults of the original plugin are not repeated (SPEC section P). Fault 3 is tested with continuity."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from support_profile import DAY, Box
from tacitd.events import NoProject, SessionEnded, TranscriptGrew
from tacitd_handlers.profile import profile_confidence as metas
from tacitd_handlers.profile import turn_counts


def test_fault_1_a_daily_run_does_not_forget_on_day_14(box: Box) -> None:
    """Fault 1, SPEC P-13: each run decays by the time since the last decay, not since the last sighting."""
    box.learn(tools__editor="neovim")
    for _ in range(99):
        box.clock.advance(DAY)
        box.store.apply_decay()
    assert box.profile["tools"] == {"editor": "neovim"}
    assert box.meta["tools.editor"]["confidence"] == pytest.approx(0.5 ** (99 / 30), rel=1e-9)
    box.clock.advance(0.67 * DAY)
    box.store.apply_decay()
    assert "tools" not in box.profile


def test_fault_2_every_writer_uses_the_same_names(box: Box) -> None:
    """Fault 2, SPEC P-01: every writer uses profile.json, profile-meta.json and changelog.jsonl."""
    box.learn(tools__editor="neovim")
    box.store.set_value("bio", "Likes tea")
    box.clock.advance(DAY)
    box.store.apply_decay()
    names = {path.name for path in box.directory.iterdir()}
    assert names == {"profile.json", "profile-meta.json", "changelog.jsonl", ".tacitd.lock"}


def test_fault_4_the_changelog_keeps_what_was_removed(box: Box) -> None:
    """Fault 4, SPEC P-14, P-18: `removed` is written for remove and for decay."""
    box.learn(tools__editor="neovim", work__role="dev")
    box.store.remove_value("work.role")
    box.clock.advance(100 * DAY)
    box.store.apply_decay()
    assert [
        (one["action"], one["source"], one["changes"], one.get("removed")) for one in box.changelog[1:]
    ] == [
        ("remove", "mcp/tool", {}, ["work.role"]),
        ("decay", "system", {}, ["tools.editor"]),
    ]


def test_fault_5_what_was_extracted_fades(box: Box) -> None:
    """Fault 5, SPEC P-11: each extracted path gets an entry with confidence 1.0 and one sighting."""
    box.learn(work__languages=("Go", "Rust"), codePreferences__tone="direct")
    assert list(box.meta) == ["work.languages", "codePreferences.tone"]
    assert {(one["confidence"], one["seenCount"]) for one in box.meta.values()} == {(1.0, 1)}
    assert all(one["firstSeen"] == one["lastSeen"] for one in box.meta.values())


@pytest.mark.parametrize("path", ["work.languages.Go", "work.languages.0", "work.languages.go"])
def test_fault_6_a_path_into_an_array_matches(box: Box, path: str) -> None:
    """Fault 6, SPEC P-10: an entry for one element removes that element; an empty array is removed too."""
    box.learn(work__languages=("Go",))
    found = json.loads((box.directory / "profile-meta.json").read_text())
    found["preferences"][0]["path"] = path
    box.put("profile-meta.json", found)
    box.clock.advance(100 * DAY)
    box.store.apply_decay()
    assert "work" not in box.profile
    assert box.changelog[-1]["removed"] == [path]


def test_fault_7_arrays_are_joined(box: Box) -> None:
    """Fault 7, SPEC P-07: union in first-seen order; case does not count."""
    box.learn(work__languages=("TypeScript", "Python"))
    box.learn(work__languages=("rust", "typescript", "Go"))
    assert box.profile["work"]["languages"] == ["TypeScript", "Python", "rust", "Go"]
    assert box.changelog[-1]["changes"] == {"work": {"languages": ["rust", "Go"]}}


def test_fault_8_a_session_is_found_by_its_whole_id() -> None:
    """Fault 8, SPEC P-27: split at the last colon; ids match exactly."""
    found = turn_counts.parse_counts("abc:45\na:b:c:7\nbroken\nx:\n:5\n")
    assert found == {"abc": 45, "a:b:c": 7}
    assert "ab" not in found
    assert turn_counts.parse_counts(turn_counts.format_counts(found)) == found


def test_fault_9_only_what_is_new_is_counted(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fault 9, SPEC P-28: only the lines since the last stop are read; a line without its newline does not count."""
    path = box.root / "claude" / "projects" / "p" / "s1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"{}\n" * 1000 + b'{"torn')
    asked: list[tuple[int, int]] = []
    pread = os.pread

    def counted(fd: int, size: int, offset: int) -> bytes:
        asked.append((offset, size))
        return pread(fd, size, offset)

    box.start()

    def grew(upto: int) -> None:
        box.play(TranscriptGrew(path, "s1", NoProject("", ""), (), 0, upto, False))
        box.play(SessionEnded("s1", path, NoProject("", ""), 0.0, "idle"))

    monkeypatch.setattr(os, "pread", counted)
    grew(3000)
    with path.open("ab") as out:
        out.write(b'"}\n{}\n')
    asked.clear()
    grew(3012)
    assert (box.directory / ".processed_turns").read_text() == "s1:1002\n"
    assert [one for one in asked if one[1] == 12] == [(3000, 12)]


def test_fault_10_a_change_is_atomic_and_locked(box: Box, tmp_path: Path) -> None:
    """Fault 10, SPEC P-33: the file is replaced (a new inode) under the lock, 0600 in a directory of 0700."""
    from tacitd.files.disk import RealDisk

    box.learn(tools__editor="neovim")
    path, held = box.directory / "profile.json", []
    before = path.stat().st_ino

    class Watching(RealDisk):
        def lock(self, fd: int, *, wait: bool) -> bool:
            held.append(
                os.readlink(f"/proc/self/fd/{fd}") if os.path.exists("/proc/self") else ".tacitd.lock"
            )
            return super().lock(fd, wait=wait)

    at = box.store
    at.disk = Watching()
    at.set_value("tools.editor", "helix")
    assert path.stat().st_ino != before
    assert any(name.endswith(".tacitd.lock") for name in held)
    assert (path.stat().st_mode & 0o777, box.directory.stat().st_mode & 0o777) == (0o600, 0o700)
    assert metas.read_confidences(at.read_metadata()) == {}
