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


def test_a_missing_section_is_restored(begin: Begin) -> None:
    """L-02: a heading that was deleted is appended, and the session's start says so."""
    with begin() as world:
        record(world)
        world.edit(PROFILE, remove="## Known Weaknesses")
        out = world.run("learner", "context", "--session-id", "abc").out
        assert "[REPAIRED] Restored missing section: Known Weaknesses." in out
        assert "## Known Weaknesses" in world.read(PROFILE)


def test_a_report_in_a_session_is_recorded(begin: Begin) -> None:
    """X-10, L-48: a fenced report of a teaching session becomes a row with the session's start as its stamp."""
    report = '```json\n{"problem": "two-sum", "pattern": "hash_map", "mode": "recall", "verdict": "pass", "gaps": []}\n```'
    with begin() as world:
        at = world.minutes()
        world.command_in_session("s1", "leetcode-teacher", "two-sum").wait(600)
        world.say("s1", f"Well done.\n\n{report}").leave("s1")
        (row,) = rows(world)
        assert row.startswith(f"| {at} | s1 | two-sum | hash_map | recall | pass | none |")


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
