"""Practice: the learner's profile and ledger (SPEC L, seed 000)."""

from __future__ import annotations

from support_world import Begin
from tacitd.testing import World

PROFILE, LEDGER = "~/.claude/leetcode-teacher-profile.md", "~/.claude/leetcode-teacher-ledger.md"
EMPTY, PADDING = "edge:empty_input", "edge:right_padding"


def record(
    world: World,
    problem: str = "two-sum",
    verdict: str = "pass",
    *,
    days: float = 0.0,
    gaps: str = "",
    tested: str = "",
    mode: str = "recall",
    session: str = "",
    more: tuple[str, ...] = (),
) -> str:
    """Record a problem that was practised so many days from the world's beginning; return what is printed."""
    stamp = world.minutes(days)
    options = ["--problem", problem, "--pattern", "hash_map", "--mode", mode, "--verdict", verdict]
    options += [
        "--timestamp",
        stamp,
        "--session",
        session or f"s{days:g}",
        "--observations",
        "Quick. Forgot the check.",
    ]
    options += [*(["--gaps", gaps] if gaps else []), *(["--tested", tested] if tested else []), *more]
    ran = world.run("learner", "record", *options)
    assert ran.code == 0, ran
    return ran.out


def rows(world: World) -> list[str]:
    """The rows of the ledger."""
    return world.read(LEDGER).splitlines()[4:]


def status(world: World, tag: str = EMPTY) -> str:
    """The status of an entry, as its last line tells."""
    entry = world.read(PROFILE).split(f"**{tag}**")[1].split("\n- **")[0]
    return entry.split("Status: ")[1].split("\n")[0].rstrip(".")


def test_a_session_is_a_row_and_an_entry(begin: Begin) -> None:
    """L-04, L-32, L-36, L-41: the row, the entry of the history and the weakness, in the seed's forms."""
    with begin() as world:
        record(world, gaps=EMPTY, more=("--describe", f"{EMPTY}=misses empty input check on array problems"))
        due = world.date(5)
        assert rows(world) == [
            f"| {world.minutes()} | s0 | two-sum | hash_map | recall | pass | {EMPTY} | {due} |"
        ]
        text = world.read(PROFILE)
        assert f"### {world.minutes()} | two-sum | recall | pass\nGaps: {EMPTY}\nReview: {due}\n---\n" in text
        assert f"- **{EMPTY}** — misses empty input check on array problems.\n" in text


def test_a_new_gap_has_its_fields(begin: Begin) -> None:
    """L-12, L-13: first observed, last tested and last failed are the stamp, the streak's start is empty, N is 0."""
    with begin() as world:
        record(world, gaps=EMPTY)
        at, text = world.minutes(), world.read(PROFILE)
        assert f"First observed: {at}. Last tested: {at}. Last failed: {at}.\n" in text
        assert (
            "Last clean streak start: . Sessions since last failure: 0.\n" in text and status(world) == "new"
        )


def test_seen_again_it_is_recurring(begin: Begin) -> None:
    """L-14, L-18: a gap that is observed a second time is recurring."""
    with begin() as world:
        record(world, days=-2, gaps=EMPTY)
        record(world, days=0, gaps=EMPTY)
        assert status(world) == "recurring"


def test_the_table_of_statuses(begin: Begin) -> None:
    """L-16: recurring, improving after two clean tests, resolved (short-term) after three, recurring when it fails again."""
    with begin() as world:
        for days in (-20, -18):
            record(world, days=days, gaps=EMPTY)
        seen = []
        for days in (-16, -14, -12):
            record(world, days=days, tested=EMPTY)
            seen.append(status(world))
        record(world, days=-1, gaps=EMPTY)
        assert [*seen, status(world)] == ["recurring", "improving", "resolved (short-term)", "recurring"]


def test_four_weeks_of_clean_sessions_resolve_for_long(begin: Begin) -> None:
    """L-24, L-26: clean on day 28 after the streak began: it moves to Resolved."""
    with begin() as world:
        record(world, days=-40, gaps=EMPTY)
        for days in (-35, -30, -20, -7):
            record(world, days=days, tested=EMPTY)
        assert status(world) == "resolved (long-term)"
        assert world.read(PROFILE).index("### Resolved") < world.read(PROFILE).index(f"**{EMPTY}**")


def test_four_weeks_less_a_day_do_not(begin: Begin) -> None:
    """L-24: 27 days are not enough, and time alone proves nothing."""
    with begin() as world:
        record(world, days=-40, gaps=EMPTY)
        for days in (-35, -30, -20, -8):
            record(world, days=days, tested=EMPTY)
        assert status(world) == "resolved (short-term)"
        world.wait_days(3, step=24 * 3600)
        assert status(world) == "resolved (short-term)"


def test_a_gap_that_was_not_tested_stays(begin: Begin) -> None:
    """L-21: a session that names other tags as tested changes nothing in this one."""
    with begin() as world:
        record(world, days=-4, gaps=EMPTY)
        before = world.read(PROFILE).split(f"**{EMPTY}**")[1].split("\n- **")[0].split("\n\n")[0]
        record(world, "three-sum", days=-2, gaps=PADDING, tested=PADDING)
        assert before in world.read(PROFILE)


def test_the_same_report_counts_once(begin: Begin) -> None:
    """L-23: the same problem of the same session twice is one row and one count."""
    with begin() as world:
        record(world, gaps=EMPTY)
        before = world.list_files()
        assert "already recorded" in record(world, gaps=EMPTY)
        assert world.list_files() == before


def test_recall_intervals_grow(begin: Begin) -> None:
    """L-42 to L-44: 5, then 5 × 1.5 = 7, then 7 × 2 = 14; needs_work is 1 day."""
    with begin() as world:
        for verdict, days in (("pass", -30), ("pass", -20), ("strong_pass", -10), ("needs_work", 0)):
            record(world, verdict=verdict, days=days)
        dues = [row.split("|")[8].strip() for row in rows(world)]
        assert dues == [world.date(-25), world.date(-13), world.date(4), world.date(1)]


def test_learning_intervals(begin: Begin) -> None:
    """L-46: 7, 3, 1 and 1 days by the verdict of a learning session."""
    verdicts = (
        "solved_independently",
        "solved_with_minor_hints",
        "solved_with_significant_scaffolding",
        "did_not_reach_solution",
    )
    with begin() as world:
        for number, verdict in enumerate(verdicts):
            record(world, f"p{number}", verdict, mode="learning", days=0, session=f"s{number}")
        assert [row.split("|")[8].strip() for row in rows(world)] == [world.date(n) for n in (7, 3, 1, 1)]


def test_a_verdict_of_the_other_mode_is_refused(begin: Begin) -> None:
    """L-35: nothing is written, and the valid verdicts are named."""
    with begin() as world:
        ran = world.run("learner", "record", "--problem", "x", "--mode", "learning", "--verdict", "pass")
        assert ran.code == 2 and "solved_independently" in ran.err and rows(world) == []


def test_about_me_is_the_learners(begin: Begin) -> None:
    """L-02, L-03: About Me, own sections and comments keep their bytes through a session."""
    own = "# Profile\n\n## About Me\n\nI want a job by May. <!-- mine -->\n\n## Known Weaknesses\n\n### Resolved\n\n## Session History\n\n## My notes\n\nkeep | this\n"
    with begin() as world:
        world.write(PROFILE, own)
        record(world, gaps=EMPTY)
        text = world.read(PROFILE)
        assert (
            "## About Me\n\nI want a job by May. <!-- mine -->\n\n## Known" in text
            and "## My notes\n\nkeep | this\n" in text
        )


def test_a_removed_entry_stays_out(begin: Begin) -> None:
    """L-30: an entry that the learner removed is not added when the gap is seen again; the ledger has it."""
    with begin() as world:
        record(world, days=-4, gaps=EMPTY)
        text = world.read(PROFILE)
        entry = text[text.index(f"- **{EMPTY}**") :].split("\n\n")[0]
        world.write(PROFILE, text.replace(entry + "\n", ""))
        record(world, days=-1, gaps=EMPTY)
        assert f"**{EMPTY}**" not in world.read(PROFILE) and len(rows(world)) == 2
        assert world.run("learner", "forget", EMPTY, "--undo").code == 0
        assert f"**{EMPTY}**" in world.read(PROFILE)


def test_an_edited_status_is_taken_as_it_is(begin: Begin) -> None:
    """L-31: a status that the learner set stays, and the next session goes on from it."""
    with begin() as world:
        record(world, days=-6, gaps=EMPTY)
        world.edit(PROFILE, replace=("Status: new", "Status: improving"))
        assert status(world) == "improving"
        record(world, days=-1, gaps=EMPTY)
        assert status(world) == "recurring"


def test_the_21st_weakness_waits(begin: Begin) -> None:
    """L-09, L-27: twenty are active; one more waits, its row is written, and the session's start says [CAP]."""
    with begin() as world:
        for number in range(21):
            record(world, f"p{number}", days=-30 + number, gaps=f"edge:gap_{number:02}")
        text = world.read(PROFILE)
        assert (
            text.count("\n- **edge:gap_") == 20 and "edge:gap_20" not in text.split("## Session History")[0]
        )
        assert len(rows(world)) == 21
        assert "[CAP]" in world.run("learner", "context", "--session-id", "abc").out


def test_the_history_keeps_twenty(begin: Begin) -> None:
    """L-06, L-32: the newest twenty sessions first; the ledger keeps all."""
    with begin() as world:
        for number in range(22):
            record(world, f"p{number:02}", days=-30 + number)
        history = world.read(PROFILE).split("## Session History")[1]
        assert history.count("\n### ") == 20 and history.index("p21") < history.index("p02")
        assert "p01" not in history and len(rows(world)) == 22


def test_a_row_that_the_skill_wrote_gets_its_entry(begin: Begin) -> None:
    """L-37, L-38: a row without an entry is completed after five quiet minutes, marked as recovered."""
    with begin() as world:
        record(world, days=-3)
        at, due = world.minutes(-1), world.date(4)
        row = f"| {at} | abc | three-sum | two_pointers | recall | pass | none | {due} |\n"
        world.write(LEDGER, world.read(LEDGER) + row).wait(600)
        assert f"### {at} | three-sum | recall | pass\n" in world.read(PROFILE)
        assert "(recovered from ledger)" in world.read(PROFILE)


def test_an_entry_without_a_row_gets_one(begin: Begin) -> None:
    """L-38: an entry that only the profile has gets a row of its own in the ledger; nothing is deleted."""
    with begin() as world:
        record(world, days=-3)
        at = world.minutes(-1)
        entry = f"### {at} | three-sum | recall | pass\nGaps: none\nReview: {world.date(4)}\n---\nDid it. Fast.\n\n"
        world.edit(PROFILE, replace=("## Session History\n\n", f"## Session History\n\n{entry}")).wait(600)
        assert any(
            row.startswith(f"| {at} | sync-heal | three-sum | unknown | recall | pass |")
            for row in rows(world)
        )
        assert "Did it. Fast." in world.read(PROFILE)


def test_the_first_session_makes_the_templates(begin: Begin) -> None:
    """L-51: the first start prints the seed's blocks, and makes both files."""
    with begin() as world:
        out = world.run("learner", "context", "--session-id", "abc").out
        assert out.startswith(
            f"=== SESSION METADATA ===\nSession ID: abc\nSession Timestamp: {world.minutes()}\n=== END SESSION METADATA ===\n"
        )
        assert "=== LEARNER PROFILE (new — first session) ===" in out and "[FIRST SESSION]" in out
        assert "## About Me" in world.read(PROFILE) and world.read(LEDGER).startswith(
            "# Session Ledger\n\n| Timestamp |"
        )


def test_a_later_session_loads_the_profile(begin: Begin) -> None:
    """L-05, L-50: the profile and its retests are printed, without the ledger being opened."""
    with begin() as world:
        record(world, days=-30, gaps=EMPTY)
        for days in (-25, -22, -19):
            record(world, days=days, tested=EMPTY)
        world.path(LEDGER).chmod(0)
        out = world.run("learner", "context", "--session-id", "abc").out
        world.path(LEDGER).chmod(0o600)
        assert "=== LEARNER PROFILE (loaded automatically at session start) ===" in out
        assert (
            f"=== RETEST SUGGESTIONS ===\n- {EMPTY} (last tested {world.minutes(-19)}, 2 weeks ago)\n=== END RETEST SUGGESTIONS ==="
            in out
        )


def test_a_missing_section_is_restored(begin: Begin) -> None:
    """L-02: a heading that was deleted is appended, and the session's start says so."""
    with begin() as world:
        record(world)
        world.edit(PROFILE, remove="## Known Weaknesses")
        out = world.run("learner", "context", "--session-id", "abc").out
        assert "[REPAIRED] Restored missing section: Known Weaknesses." in out
        assert "## Known Weaknesses" in world.read(PROFILE)


def test_due_and_review_tell_what_comes_next(begin: Begin) -> None:
    """L-41, L-53: `due` lists what is due, oldest first; `review` counts what was practised."""
    with begin() as world:
        record(world, "two-sum", days=-20)
        record(world, "three-sum", days=-10)
        due = world.run("learner", "due", "--json").json
        assert [one["problem"] for one in due] == ["two-sum", "three-sum"]
        assert world.run("learner", "review").code == 0


def test_a_report_in_a_session_is_recorded(begin: Begin) -> None:
    """X-10, L-48: a fenced report of a teaching session becomes a row with the session's start as its stamp."""
    report = '```json\n{"problem": "two-sum", "pattern": "hash_map", "mode": "recall", "verdict": "pass", "gaps": []}\n```'
    with begin() as world:
        at = world.minutes()
        world.command_in_session("s1", "leetcode-teacher", "two-sum").wait(600)
        world.say("s1", f"Well done.\n\n{report}").leave("s1")
        (row,) = rows(world)
        assert row.startswith(f"| {at} | s1 | two-sum | hash_map | recall | pass | none |")


def test_a_report_outside_of_a_teaching_session_is_none(begin: Begin) -> None:
    """X-10: without the skill, a block of that form is not a report; verdicts are never invented."""
    report = '```json\n{"problem": "two-sum", "mode": "recall", "verdict": "pass"}\n```'
    with begin() as world:
        world.type("s1", "show me the format").say("s1", report).leave("s1")
        assert world.read(LEDGER) == ""


def test_other_problems_do_not_resolve_a_gap(begin: Begin) -> None:
    """L-21: three other problems of the same pattern, without named tags, prove nothing of a gap that one problem showed."""
    with begin() as world:
        record(world, days=-10, gaps=EMPTY)
        for number in range(3):
            record(world, f"other-{number}", days=-6 + number)
        assert status(world) == "new"


def test_an_entry_of_the_learners_own_is_no_guess(begin: Begin) -> None:
    """L-11: an entry with a free label is not credited with the test of a tag, though it has the stamp of the tag's row."""
    with begin() as world:
        record(world, days=-12)
        at = world.minutes(-10)
        row = f"| {at} | abc | search | hash_map | recall | pass | {PADDING} | {world.date(-5)} |\n"
        mine = (
            "- **Right bound off by one** — loses the last element in binary search.\n"
            f"  First observed: {at}. Last tested: {at}. Last failed: {at}.\n"
            "  Last clean streak start: . Sessions since last failure: 0.\n  Status: new\n"
        )
        world.write(LEDGER, world.read(LEDGER) + row)
        world.edit(PROFILE, replace=("### Resolved\n", f"{mine}\n### Resolved\n")).wait(600)
        record(world, "search", days=-1, tested=PADDING)
        assert mine in world.read(PROFILE) and f"**{PADDING}**" in world.read(PROFILE)
