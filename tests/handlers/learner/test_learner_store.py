"""The two files on a disk: SPEC L-01, L-04, L-06, L-23, L-36, L-37, L-54, and disk failures."""

from __future__ import annotations

import errno
import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from support_learner import Desk, row, stamp
from support_learner_oracle import disagreements
from tacitd.errors import FileRefusedError, TacitdError
from tacitd.testing import Crash, FaultyDisk
from tacitd_handlers.learner.history_text import RECOVERED
from tacitd_handlers.learner.learner_paths import load_paths, resolve_paths
from tacitd_handlers.learner.ledger_file import HEADER
from tacitd_handlers.learner.profile_text import TEMPLATE
from tacitd_handlers.learner.review_dates import ReviewPlan
from tacitd_handlers.learner.vocabulary import NEW


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_L_01_where_the_files_are(tmp_path: Path) -> None:
    """SPEC L-01: in Claude Code's directory; both paths are configurable; nothing is moved."""
    home = {"HOME": str(tmp_path)}
    assert resolve_paths(home).profile == tmp_path / ".claude/leetcode-teacher-profile.md"
    assert resolve_paths(home).ledger == tmp_path / ".claude/leetcode-teacher-ledger.md"
    moved = resolve_paths(home | {"CLAUDE_CONFIG_DIR": str(tmp_path / "elsewhere")})
    assert moved.ledger.parent == tmp_path / "elsewhere" == moved.session_state.parent
    (tmp_path / "c.toml").write_text('[learner]\nprofile = "~/me.md"\nledger = "~/old.md"\n')
    given = load_paths(
        home | {"TACITD_CONFIG": str(tmp_path / "c.toml"), "TACITD_LEARNER__LEDGER": "/srv/ledger.md"}
    )
    assert (given.profile, given.ledger) == (tmp_path / "me.md", Path("/srv/ledger.md"))


def test_L_04_L_06_the_ledger_only_grows(desk: Desk) -> None:
    """SPEC L-04, L-06: the existing bytes are a prefix of the new bytes; no row is removed."""
    before = b""
    for number in range(45):
        desk.record(f"p{number % 9}", gaps=f"edge:{number % 5}")
        if number % 10 == 9:
            desk.where.profile.unlink()
            desk.look()
        data = desk.where.ledger.read_bytes()
        assert data.startswith(before)
        before = data
    assert len(desk.rows) == 45 and before.startswith(HEADER)


def test_L_23_the_same_twice_is_once(desk: Desk) -> None:
    """SPEC L-23: no second row, entry or count; another mode or session is another key; another verdict is refused."""
    desk.record(gaps="edge:a", days=1)
    ledger, profile = desk.ledger, desk.text
    made = desk.record(gaps="edge:a", days=1)
    assert made.again and (desk.ledger, desk.text) == (ledger, profile)
    with pytest.raises(TacitdError, match="the ledger has two-sum"):
        desk.record(days=1, verdict="strong_pass", gaps="edge:a")
    assert (desk.ledger, desk.text) == (ledger, profile)
    desk.record(days=1, mode="learning")
    desk.record(days=1, session="other")
    assert len(desk.rows) == 3


def test_L_36_both_files_say_the_same(desk: Desk) -> None:
    """SPEC L-36: verdict and gaps are equal byte for byte; several gaps joined by `; `, none as `none`."""
    desk.record(gaps=["Edge: Empty Input", "dp:base"])
    desk.record("lru | cache")
    for held, one in zip(reversed(desk.profile.sessions), desk.rows, strict=True):
        assert (held.session.verdict, held.session.gaps, held.session.review) == (
            one.verdict,
            one.gaps,
            one.review,
        )
    assert [one.gaps for one in desk.rows] == ["edge:empty_input; dp:base", "none"]
    assert desk.rows[1].problem == "lru / cache"


def test_L_37_the_order_of_the_writes(desk: Desk) -> None:
    """SPEC L-37: the ledger is written and synced before the profile is touched."""
    disk = FaultyDisk()
    desk.record()
    desk.record(disk=disk)
    row_synced = [at for at, call in enumerate(disk.trail) if call == "write"][1] + 1
    assert disk.trail[row_synced] == "sync" and disk.trail.index("exchange") > row_synced


def steps_of(desk: Desk) -> int:
    """The number of disk changes that the second record makes."""
    disk = FaultyDisk()
    desk.record(days=0, gaps="edge:a")
    desk.record(days=1, gaps="edge:a; edge:b", observations="Words.", disk=disk)
    return len(disk.trail)


@pytest.mark.parametrize("torn", [False, True])
def test_L_37_L_38_a_crash_before_every_change(tmp_path: Path, torn: bool) -> None:
    """SPEC L-37, L-38, RELIABILITY row 2: after a crash at any step the next start completes the record: no row
    without its entry, nothing twice, observations kept.
    """
    steps = steps_of(Desk(tmp_path / "count"))
    assert steps > 12
    recovered = 0
    for at in range(1, steps + 1):
        desk = Desk(tmp_path / str(at))
        desk.record(days=0, gaps="edge:a")
        with pytest.raises(Crash):
            desk.record(
                days=1, gaps="edge:a; edge:b", observations="Words.", disk=FaultyDisk(crash_at=at, torn=torn)
            )
        desk.look(first=True, force=False)
        assert not disagreements(desk.text, desk.ledger)
        assert len(desk.rows) in (1, 2) and len(desk.rows) == len(desk.profile.sessions)
        if len(desk.rows) == 2:
            said = desk.profile.sessions[0].session.observations
            recovered += said.startswith(RECOVERED)
            assert "Words." in said
        desk.record(days=1, gaps="edge:a; edge:b", observations="Words.")
        assert len(desk.rows) == 2 and not disagreements(desk.text, desk.ledger)
    assert recovered >= 3


def test_L_37_a_row_of_others_is_recovered_with_these_words(desk: Desk) -> None:
    """SPEC L-37: `(recovered from ledger)`."""
    desk.record()
    desk.write_rows(row(4, "edge:a"))
    desk.look(first=True)
    assert desk.profile.sessions[0].session.observations == "(recovered from ledger)"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS])
def test_a_disk_that_fails_at_every_step(tmp_path: Path, code: int) -> None:
    """RELIABILITY row 3: the caller gets an error; repeating the call counts once, and the files agree."""
    steps = steps_of(Desk(tmp_path / "count"))
    for at in range(1, steps + 1):
        desk = Desk(tmp_path / str(at))
        desk.record(days=0, gaps="edge:a")
        with suppress(OSError):
            desk.record(days=1, gaps="edge:b", disk=FaultyDisk(fail_at=at, code=code, torn=at % 2 == 0))
        desk.look(first=True)
        desk.record(days=1, gaps="edge:b")
        assert len(desk.rows) == 2 and not disagreements(desk.text, desk.ledger)


def test_what_was_told_to_have_failed_does_not_happen_later(desk: Desk) -> None:
    """RELIABILITY row 3: if a full disk refuses the row and the caller gets an error, no later start writes the row."""
    desk.record(days=0)
    disk = FaultyDisk()
    desk.record(days=1, disk=disk)
    write = [at for at, call in enumerate(disk.trail, start=1) if call == "write"][1]
    with pytest.raises(OSError, match="No space"):
        desk.record(days=2, disk=FaultyDisk(fail_at=write))
    assert not desk.look(first=True).added and len(desk.rows) == 2


def test_a_row_that_a_person_took_out_stays_out(desk: Desk) -> None:
    """SPEC X-07: a row that a person removed from the ledger is not written again by a start or by `check`."""
    desk.record("a", days=0, gaps="edge:a")
    desk.record("b", days=1)
    desk.where.ledger.write_text(
        "".join(line for line in desk.ledger.splitlines(True) if "| a |" not in line)
    )
    desk.edit("\n".join(desk.profile.bare_lines(desk.profile.sessions[1].span)), "")
    for first in (True, False):
        assert not desk.look(first=first).added
    desk.record("c", days=2)
    assert [one.problem for one in desk.rows] == ["b", "c"]
    assert [held.session.problem for held in desk.profile.sessions] == ["c", "b"]


def test_a_crash_without_a_start_in_between(desk: Desk) -> None:
    """SPEC L-37: the next record, from any process, completes what the last one could not."""
    desk.record(days=0)
    disk = FaultyDisk()
    desk.record(days=1, disk=disk)
    write = [at for at, call in enumerate(disk.trail, start=1) if call == "write"][1]
    with pytest.raises(Crash):
        desk.record(days=2, observations="Words.", disk=FaultyDisk(crash_at=write))
    desk.record(days=3)
    assert len(desk.rows) == 4 and "Words." in desk.text and not disagreements(desk.text, desk.ledger)


def test_the_profile_may_follow_later(desk: Desk) -> None:
    """SPEC L-37: with a profile in a merge conflict the row is written, and its entry is added once possible."""
    desk.record(days=0, gaps="edge:a")
    good = desk.text
    desk.where.profile.write_text("<<<<<<< ours\n" + good)
    made = desk.record(days=1, observations="Words.")
    assert made.result is None and "conflict" in made.trouble and len(desk.rows) == 2
    with pytest.raises(FileRefusedError):
        desk.look()
    desk.where.profile.write_text(good)
    desk.look()
    assert not disagreements(desk.text, desk.ledger) and "Words." in desk.text


def test_L_54_a_torn_row_is_completed_and_named(desk: Desk) -> None:
    """SPEC L-54: the torn line stays, and the next row begins on its own line."""
    desk.record()
    with desk.where.ledger.open("a") as file:
        file.write("| 2026-02-20T14:30 | s | torn")
    desk.record(gaps="edge:a")
    assert "| torn\n| 2026" in desk.ledger and len(desk.rows) == 2
    assert len(desk.look().bad) == 1 and desk.entry("edge:a").status == NEW


def test_L_45_options(desk: Desk) -> None:
    """SPEC L-45: growing only when due, and a longest interval."""
    for days in (0, 1, 2):
        desk.record(days=days, verdict="strong_pass")
    assert desk.rows[-1].review == stamp(2 + 28)[:10]
    plan = ReviewPlan(grow_only_when_due=True, longest_interval=20)
    for days in (0, 1, 8):
        desk.record("lru", days=days, verdict="strong_pass", plan=plan)
    assert [one.review for one in desk.rows[3:]] == [stamp(7)[:10], stamp(8)[:10], stamp(22)[:10]]


def test_L_43_a_session_that_is_recorded_late_looks_at_what_was_before_it(desk: Desk) -> None:
    """SPEC L-43: the latest row before the session, not the latest row."""
    desk.record(days=0)
    desk.record(days=20)
    desk.record(days=10)
    assert [one.review for one in desk.rows] == [stamp(5)[:10], stamp(27)[:10], stamp(17)[:10]]
    assert not disagreements(desk.text, desk.ledger)


def test_X_07_a_person_who_saves_meanwhile_wins(desk: Desk) -> None:
    """SPEC X-07, X-08: what an editor saves during the write is kept, and our change is applied to it."""

    class Editor(FaultyDisk):
        def exchange(self, one: Path, other: Path) -> bool:
            if self.trail.count("exchange") == 0:
                with other.open("a") as file:
                    file.write("\n## Mine\n\nsaved meanwhile\n")
            return super().exchange(one, other)

    desk.record(gaps="edge:a")
    desk.record(gaps="edge:b", disk=Editor())
    assert "saved meanwhile" in desk.text and desk.entry("edge:b").status == NEW
    assert not disagreements(desk.text.partition("\n## Mine")[0] + "\n", desk.ledger)


def test_links_modes_and_processes(desk: Desk, tmp_path: Path) -> None:
    """SPEC X-09: dotfiles keep their links and modes; tacitd's own files are 0600; two processes lose nothing."""
    real = tmp_path / "dotfiles"
    real.mkdir()
    (real / "profile.md").write_bytes(TEMPLATE)
    (real / "profile.md").chmod(0o644)
    desk.where.profile.symlink_to(real / "profile.md")
    threads = [threading.Thread(target=desk.record, args=(f"p{n}",), kwargs={"days": n}) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert desk.where.profile.is_symlink() and (real / "profile.md").stat().st_mode & 0o777 == 0o644
    assert len(desk.rows) == 8 == len(desk.profile.sessions) and not disagreements(desk.text, desk.ledger)
    for path in (desk.where.ledger, *desk.where.home.iterdir()):
        assert path.stat().st_mode & 0o777 == 0o600
    assert desk.where.home.stat().st_mode & 0o777 == 0o700


def test_nothing_is_made_where_nothing_was_recorded(desk: Desk) -> None:
    """DESIGN "Where it writes": a file is only created when there is something to write."""
    desk.look(first=True)
    assert not desk.where.profile.exists() and not desk.where.ledger.exists()


def test_odd_files_are_refused(desk: Desk) -> None:
    """Issue, bad input: a FIFO or a directory in place of a file neither blocks nor breaks anything."""
    os.mkfifo(desk.where.ledger)
    with pytest.raises(FileRefusedError):
        desk.record()
    desk.where.ledger.unlink()
    desk.where.ledger.mkdir()
    with pytest.raises(FileRefusedError):
        desk.record()
