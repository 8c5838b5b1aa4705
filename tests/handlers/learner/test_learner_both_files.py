"""The two files in step, whoever writes them and wherever a process ends: SPEC L-04, L-10, L-21 to L-25, L-32, L-36 to L-40, L-54."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

import pytest

from support_editor_marks import open_in_editor
from support_learner import Desk, row, stamp
from support_learner_oracle import disagreements
from support_learner_skill import TeachingSkill
from tacitd.errors import TacitdError
from tacitd_handlers.learner.entry_texts import RECOVERED
from tacitd_handlers.learner.ledger_file import HEADER, NEW, RECURRING, SHORT
from tacitd_handlers.learner.profile_text import TEMPLATE


@pytest.fixture
def skill(desk: Desk) -> TeachingSkill:
    return TeachingSkill(desk.where.profile, desk.where.ledger)


# --- the ledger


def test_L_23_the_same_twice_is_once(desk: Desk) -> None:
    """SPEC L-23: no second row, entry or count; another mode or session is another key; another verdict and other gaps are
    refused."""
    desk.record(gaps="edge:a", days=1)
    ledger, profile = desk.ledger, desk.text
    assert desk.record(gaps="edge:a", days=1).notices[0].did == "again"
    assert (desk.ledger, desk.text) == (ledger, profile)
    for other in ({"verdict": "strong_pass", "gaps": "edge:a"}, {"gaps": "edge:b"}):
        with pytest.raises(TacitdError, match="the ledger has two-sum"):
            desk.record(days=1, **other)
    assert (desk.ledger, desk.text) == (ledger, profile)
    desk.record(days=1, mode="learning")
    desk.record(days=1, session="other")
    assert len(desk.rows) == 3


def test_L_54_a_torn_row_is_completed_and_named(desk: Desk) -> None:
    """SPEC L-54: the torn line stays, and the next row begins on its own line."""
    desk.record()
    with desk.where.ledger.open("a") as file:
        file.write("| 2026-02-20T14:30 | s | torn")
    desk.record(gaps="edge:a")
    assert "| torn\n| 2026" in desk.ledger and len(desk.rows) == 2
    desk.look()
    assert any("1 lines of" in what for what in desk.bench.degraded) and desk.entry("edge:a").status == NEW


@pytest.mark.parametrize("cut", [1, 17, 60, 185])
def test_L_54_a_torn_header_is_completed(desk: Desk, cut: int) -> None:
    """SPEC L-54: a crash may leave the beginning of a header, on which the next row goes on."""
    desk.where.ledger.parent.mkdir(parents=True, exist_ok=True)
    desk.where.ledger.write_bytes(HEADER[:cut])
    desk.record()
    assert desk.ledger.startswith(HEADER.decode()) and len(desk.rows) == 1
    desk.look()
    assert not any("lines of" in what for what in desk.bench.degraded)


def test_L_43_a_session_that_is_recorded_late_looks_at_what_was_before_it(desk: Desk) -> None:
    """SPEC L-43: the latest row before the session, not the latest row."""
    for days in (0, 20, 10):
        desk.record(days=days)
    assert [one.review for one in desk.rows] == [stamp(5)[:10], stamp(27)[:10], stamp(17)[:10]]
    assert not disagreements(desk.text, desk.ledger)


def test_L_45_options(tmp_path: Path) -> None:
    """SPEC L-45: growing only when due, and a longest interval."""
    given = {"TACITD_LEARNER__GROW_ONLY_WHEN_DUE": "true", "TACITD_LEARNER__LONGEST_INTERVAL": "20"}
    for name, settings, days, wanted in (
        ("plain", {}, (0, 1, 2), stamp(2 + 28)),
        ("both", given, (0, 1, 8), stamp(22)),
    ):
        with Desk(tmp_path / name, settings) as desk:
            for day in days:
                desk.record(days=day, verdict="strong_pass")
            assert desk.rows[-1].review == wanted[:10]


def test_a_row_that_a_person_took_out_stays_out(desk: Desk) -> None:
    """SPEC X-07: a row that a person removed from the ledger is not written again by a start or by `check`."""
    desk.record("a", days=0, gaps="edge:a")
    desk.record("b", days=1)
    desk.put("".join(line for line in desk.ledger.splitlines(True) if "| a |" not in line), desk.where.ledger)
    desk.edit(desk.sessions[1].text, "")
    assert not desk.look()
    desk.bench.restart()
    assert not desk.look()
    desk.record("c", days=2)
    assert [one.problem for one in desk.rows] == ["b", "c"] and desk.problems == ["c", "b"]


# --- what the ledger decides


def test_L_25_the_ledger_wins_over_an_entry_that_missed_a_failure(desk: Desk) -> None:
    """SPEC L-25: an entry of Claude's that misses a row with the gap becomes recurring, and N is recomputed."""
    desk.write_rows(row(0, "edge:a"), row(1), row(2, "edge:a"), row(3))
    entry = (
        "- **edge:a** — misses a in loops.\n"
        f"  First observed: {stamp(0)}. Last tested: {stamp(3)}. Last failed: {stamp(0)}.\n"
        f"  Last clean streak start: {stamp(1)}. Sessions since last failure: 3.\n"
        "  Status: resolved (short-term)\n\n### Resolved"
    )
    desk.put(TEMPLATE.decode().replace("### Resolved", entry))
    desk.look()
    found = desk.entry("edge:a")
    assert (found.status, found.failed, found.clean, found.streak) == (RECURRING, stamp(2), 1, stamp(3))


def test_L_38_verdict_gaps_and_review_are_the_ledgers(desk: Desk) -> None:
    """SPEC L-38: they are corrected in the profile once others have not written it for a while; the observations stay."""
    desk.record(gaps="edge:a", observations="My words.")
    desk.clock.jump(desk.where.ledger.stat().st_mtime - desk.clock.now())
    desk.edit(
        "| recall | pass\nGaps: edge:a\nReview: 2026-02-25",
        "| recall | strong_pass\nGaps: none\nReview: 2027-01-01",
    )
    desk.record("lru")
    session = next(one for one in desk.sessions if one.problem == "two-sum")
    assert (session.verdict, session.gaps, session.review) == ("strong_pass", "none", "2027-01-01")
    desk.bench.settle(600)
    desk.look()
    session = next(one for one in desk.sessions if one.problem == "two-sum")
    assert (session.verdict, session.gaps, session.review) == ("pass", "edge:a", "2026-02-25")
    assert "My words." in session.observations


def test_L_38_every_session_that_only_the_profile_has(desk: Desk) -> None:
    """SPEC L-38: each becomes a `sync-heal` row, in order, with a notice; no text of the person is deleted."""
    desk.record()
    entries = "".join(
        f"### {stamp(-n)} | lru | learning | solved_independently\nGaps: edge:a\nReview: 2026-03-01\n---\nWords {n}.\n\n"
        for n in (1, 2)
    )
    desk.put(desk.text.rstrip("\n") + "\n\n" + entries)
    added = desk.look()
    assert [one.stamp for one in added] == [stamp(-2), stamp(-1)]
    healed = {"session": "sync-heal", "pattern": "unknown", "mode": "learning", "review": "2026-03-01"}
    assert desk.rows[-1] == row(-1, "edge:a", "lru", verdict="solved_independently", **healed)
    assert "Words 1." in desk.text and "Words 2." in desk.text
    assert desk.notices == [
        f"[SYNC] Appended missing ledger row for {stamp(-n)} session (pattern=unknown)." for n in (2, 1)
    ]
    assert not desk.look() and desk.entry("edge:a").status == RECURRING


def test_L_38_half_an_entry_is_healed_without_inventing(desk: Desk) -> None:
    """SPEC L-38, L-39: missing gaps and date become `none` and `—`; an invalid verdict makes no row."""
    desk.record()
    theirs = "\n### 2026-01-02T10:00 | lru | recall | pass\nIt went well.\n\n### 2026-01-03T10:00 | lru | recall | great\n"
    desk.put(desk.text + theirs)
    assert [(one.gaps, one.review) for one in desk.look()] == [("none", "—")]
    assert "| great" in desk.text and "It went well." in desk.text and "great" not in desk.ledger


def test_L_38_others_are_waited_for(desk: Desk) -> None:
    """SPEC L-38: for five minutes after a write nothing of others is completed, also if something is recorded meanwhile."""
    desk.record()
    desk.clock.jump(desk.where.ledger.stat().st_mtime - desk.clock.now())
    desk.write_rows(row(9, "edge:a"))
    desk.look()
    desk.record("lru")
    assert desk.problems == ["lru", "two-sum"] and not desk.weaknesses
    desk.bench.settle(300)
    desk.look()
    assert desk.sessions[0].observations == RECOVERED


def test_L_32_two_sessions_of_one_stamp(desk: Desk) -> None:
    """SPEC L-32, L-47: in the repeated hour, two sessions with one stamp, problem and mode both have an entry."""
    for session, verdict, words in (("a", "pass", "First."), ("b", "borderline", "Second.")):
        desk.record(days=1, session=session, verdict=verdict, observations=words, gaps="edge:x")
    shown = [(one.verdict, one.observations.split("\n")[0]) for one in desk.sessions]
    assert sorted(shown) == [("borderline", "Second."), ("pass", "First.")]
    once = desk.text
    desk.look()
    assert desk.text == once
    first = next(one for one in desk.sessions if "First." in one.observations)
    desk.edit(first.text + "\n", "")
    desk.look()
    assert [one.verdict for one in desk.sessions] == ["borderline"], "it stays removed"
    desk.record(days=2, session="c")
    assert len(desk.sessions) == 2


def test_L_32_the_cap_takes_the_oldest_by_its_stamp(desk: Desk) -> None:
    """SPEC L-32: newest first, twenty; in any file order the oldest is removed, and the rest stays."""
    for number in range(20):
        desk.record(f"p{number}", observations=f"Words {number}.")
    oldest = desk.sessions[-1].text
    text = desk.text.replace(oldest, "", 1)
    desk.put(text.replace("### " + stamp(20), oldest + "\n\n### " + stamp(20), 1))
    desk.record("p20")
    assert desk.problems == [f"p{n}" for n in range(20, 0, -1)]
    assert "Words 0." not in desk.text and all(f"Words {n}." in desk.text for n in range(1, 20))


# --- what the skill wrote itself


def test_L_21_a_session_that_the_skill_judged_is_left_to_it(desk: Desk, skill: TeachingSkill) -> None:
    """SPEC L-21, L-23: if an entry bears the session's stamp, the weaknesses stay as the skill wrote them; the history is healed."""
    desk.record(days=0, gaps="edge:a; edge:b")
    skill.write_session(stamp(2), clean=["edge:b"])
    skill.write_row(f"| {stamp(2)} | s-{stamp(2)} | lru | hash_map | recall | pass | edge:z | 2026-12-24 |")
    before = desk.text.partition("## Session History")[0]
    desk.look()
    assert desk.text.partition("## Session History")[0] == before
    assert desk.problems == ["lru", "two-sum", "two-sum"]
    desk.record(days=3)
    assert (desk.entry("edge:a").clean, desk.entry("edge:b").clean) == (1, 2)


def test_an_existing_user_is_adopted(desk: Desk) -> None:
    """SPEC L-31, L-38: existing entries are kept and go on from what they say; nothing is added, duplicated or lost. It is the
    same after the store was lost.
    """
    rows = [row(n, "edge:empty_input" if n < 2 else "dp:base" if n == 3 else "none") for n in range(6)]
    desk.write_rows(*rows)
    entries = (
        "- **Edge: empty input** — misses empty input check on array problems.\n"
        f"  First observed: 2025-06-01T10:00. Last tested: {stamp(3)}. Last failed: {stamp(1)}.\n"
        f"  Last clean streak start: {stamp(2)}. Sessions since last failure: 2.\n"
        "  Status: resolved (short-term)\n"
        "- **Talks too fast** — rushes through examples in two-pointer problems.\n\n### Resolved"
    )
    desk.put(TEMPLATE.decode().replace("### Resolved", entries))
    desk.look()
    entry = desk.entry("Edge: empty input")
    assert (entry.status, entry.first, entry.clean) == (SHORT, "2025-06-01T10:00", 4)
    assert desk.labels == ["Edge: empty input", "Talks too fast"]
    once = desk.text
    desk.bench.close()
    for path in (desk.home / ".local/state/tacitd").glob("tacitd.sqlite*"):
        path.unlink()
    desk.__enter__()
    desk.look()
    assert desk.text == once


# --- crashes, open editors, odd files (SPEC L-37)


def test_L_37_no_entry_before_its_row(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """SPEC L-37, L-23, RELIABILITY row 3: while the row cannot be written, the caller is told, and the profile stays. Both follow,
    once, also if it was recorded again meanwhile."""
    desk.record(gaps="edge:a")
    before = desk.text

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as faults:
        faults.setattr("tacitd.files.append_file.append_missing", full)
        for _ in range(2):
            with pytest.raises(TacitdError, match="waits to be written"):
                desk.record(gaps="edge:b", days=2)
        desk.look()
        assert len(desk.rows) == 1 and desk.text == before
    desk.bench.restart(kill=True)
    desk.look()
    assert len(desk.rows) == 2 and desk.entry("edge:b").status == NEW


@pytest.mark.parametrize("name", ["ledger", "profile"])
def test_an_open_editor_is_waited_for(desk: Desk, name: str) -> None:
    """RELIABILITY 11: a file is not written while it is open in an editor; what was recorded follows."""
    desk.record(gaps="edge:a")
    path = getattr(desk.where, name)
    before = path.read_bytes()
    lock = open_in_editor(path, desk.clock)
    with suppress(TacitdError):
        desk.record(gaps="edge:b")
    assert path.read_bytes() == before
    lock.unlink()
    desk.look()
    assert len(desk.rows) == 2 and desk.entry("edge:b").status == NEW


def test_nothing_is_made_where_nothing_was_recorded(desk: Desk) -> None:
    """DESIGN "Where it writes": a file is only created when there is something to write."""
    desk.look()
    assert not desk.where.profile.exists() and not desk.where.ledger.exists()


def test_odd_files_are_refused(desk: Desk) -> None:
    """A FIFO or a directory in place of a file neither blocks nor breaks anything."""
    os.mkfifo(desk.where.ledger)
    with pytest.raises(TacitdError, match="not an ordinary file"):
        desk.record()
    desk.where.ledger.unlink()
    desk.where.ledger.mkdir()
    with pytest.raises(TacitdError, match="not an ordinary file"):
        desk.record()
    desk.bench.settle(60)
    assert (
        any("not an ordinary file" in what for what in desk.bench.degraded)
        and not desk.where.profile.exists()
    )
