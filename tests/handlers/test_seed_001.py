"""The examples of seed 001, made by the program as they are written there, byte for byte: profile.json, profile-meta.json,
changelog.jsonl, a session, .processed_turns, the constants. SPEC P-18 to P-21 says where the seed disagrees with itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support_continuity import World
from support_profile import DAY, GOLDEN, Box
from tacitd.clock import parse_utc
from tacitd.testing import FakeClock
from tacitd_handlers.continuity import session_document
from tacitd_handlers.continuity.session_document import find_path
from tacitd_handlers.profile import profile_confidence as decay
from tacitd_handlers.profile import profile_files
from tacitd_handlers.profile.handler import format_counts, parse_counts
from tacitd_handlers.profile.profile_files import LEAVES


def read(name: str) -> str:
    return (GOLDEN / name).read_text()


def advance_to(box: Box, time: str) -> None:
    box.clock.advance((parse_utc(time) or 0.0) - box.clock.now())


@pytest.fixture
def january(tmp_path: Path) -> Iterator[Box]:
    """The profile in January 2025."""
    with Box(tmp_path, FakeClock(parse_utc("2025-01-15T10:30:00.000Z") or 0.0)) as made:
        yield made


def test_the_profile_is_written_byte_for_byte(january: Box) -> None:
    """P-01 to P-05: head, parts and values in the order in which they are set; short lists on one line."""
    january.run("set", "work.role", "backend engineer")
    january.run("set", "work.languages", ["TypeScript", "Python"])
    january.run("set", "work.focusAreas", ["APIs", "infrastructure"])
    january.run("set", "codePreferences.tone", "direct")
    january.run("set", "codePreferences.preferredStacks", ["Bun", "FastAPI"])
    january.run("set", "tools.editor", "neovim")
    assert january.text("profile.json") == read("profile.json")


def test_a_change_keeps_every_other_byte(january: Box) -> None:
    """P-04, P-06, X-07: of the example, only `lastUpdated` and the new value differ."""
    january.put("profile.json", read("profile.json"))
    january.clock.advance(1.5)
    january.learn(tools__infra=("Docker", "Kubernetes"), work__languages=("Rust",))
    expected = read("profile.json").replace("10:30:00.000Z", "10:30:01.501Z")
    expected = expected.replace('"Python"]', '"Python", "Rust"]')
    expected = expected.replace('"neovim"', '"neovim",\n    "infra": ["Docker", "Kubernetes"]')
    assert january.text("profile.json") == expected


def test_the_meta_file_is_written_byte_for_byte() -> None:
    """P-09: the example, written leaf by leaf into a new file."""
    data = read("profile-meta.json").encode()
    assert LEAVES.splice(None, LEAVES.read_leaves(data)) == data


def test_only_the_entry_that_was_said_again_changes(january: Box) -> None:
    """P-11 to P-13: decay by what passed since the stored time, then 0.3 more; the other entry keeps its bytes."""
    for name in ("profile.json", "profile-meta.json", "changelog.jsonl"):
        january.put(name, read(name))
    january.learn(tools__editor="helix")
    entry = january.meta["tools.editor"]
    hours = (january.clock.now() - (parse_utc("2025-01-15T08:00:00.000Z") or 0.0)) / 3600
    assert entry["confidence"] == pytest.approx(0.45 * 0.5 ** (hours / 24 / 30) + 0.3, rel=1e-12)
    assert (entry["seenCount"], entry["lastSeen"]) == (2, "2025-01-15T10:30:00.001Z")
    before = read("profile-meta.json").splitlines()
    after = january.text("profile-meta.json").splitlines()
    changed = [one for one, other in zip(before, after, strict=True) if one != other]
    assert [one.split(":")[0].strip(' "') for one in changed] == ["lastSeen", "confidence", "seenCount"]
    assert january.profile["tools"]["editor"] == "helix"


def test_the_examples_values_fade_on(january: Box) -> None:
    """P-13, P-14, P-17: what has an entry fades from the stored time on; a value without one is the person's and stays."""
    for name in ("profile.json", "profile-meta.json", "changelog.jsonl"):
        january.put(name, read(name))
    january.wait(80 * DAY).fade()
    assert "tools" not in january.profile and january.profile["work"]["role"] == "backend engineer"
    assert january.meta["codePreferences.preferredStacks"]["confidence"] == pytest.approx(
        0.85 * 0.5 ** ((80 + 2.5 / 24) / 30), rel=1e-9
    )
    assert january.text("changelog.jsonl").startswith(read("changelog.jsonl"))


def test_the_changelog_is_written_byte_for_byte(january: Box) -> None:
    """P-18, P-19, P-21: keys in the seed's order, absent ones left out. Times have milliseconds, and a finding is `minimal/hook`."""
    january.clock.wall -= 0.001
    january.learn(codePreferences__preferredStacks=("Bun",))
    advance_to(january, "2025-01-15T11:00:00Z")
    january.run("set", "tools.editor", "neovim")
    advance_to(january, "2025-01-16T08:00:00Z")
    january.run("set", "tools.infra", ["Docker"])
    advance_to(january, "2025-01-16T09:00:00Z")
    january.run("remove", "tools.infra")
    lines = january.text("changelog.jsonl").splitlines()
    extract, update, _, remove = [
        line.replace(":00Z", ":00.000Z").replace('"mcp/hook"', '"minimal/hook"')
        for line in read("changelog.jsonl").splitlines()
    ]
    assert [lines[0], lines[1], lines[3]] == [extract, update, remove]


def test_decay_is_logged_byte_for_byte(january: Box) -> None:
    """P-14: a value that faded is named, with empty changes."""
    january.learn(codePreferences__tone="direct")
    january.wait(101 * DAY)
    (line,) = [one for one in january.text("changelog.jsonl").splitlines() if '"decay"' in one]
    stamp = json.loads(line)["timestamp"]
    assert line == read("changelog.jsonl").splitlines()[2].replace("2025-01-16T08:00:00Z", stamp)


def test_the_session_is_written_byte_for_byte(tmp_path: Path) -> None:
    """P-22, P-23: order of the keys, times, a task that is done and one that is blocked, a decision, two notes, the summary."""
    with World(tmp_path) as world:
        real, world.project = world.project, Path("/home/user/my-project")

        def run(time: str, *arguments: str) -> None:
            world.clock.wall = parse_utc(f"2025-01-15T{time}:00Z") or 0.0
            world.run(*arguments, session="abc123", cwd=real)

        world.clock.wall = parse_utc("2025-01-15T10:00:00Z") or 0.0
        world.type("abc123", "Let us build the login.")
        world.settle(0)
        run("10:00", "task", "Implement user authentication", "--id", "auth-1")
        why = "Stateless, works well with our API gateway"
        others = ("--instead", "Session cookies", "--instead", "OAuth only")
        run("10:30", "decide", "Use JWT for auth tokens", "--because", why, *others)
        run("11:30", "task", "--id", "auth-1", "--status", "completed")
        run("11:30", "task", "Add users table migration", "--id", "db-migration")
        run("12:00", "task", "--id", "db-migration", "--blocked-by", "Need DBA approval for schema change")
        run("12:10", "note", "User prefers bcrypt over argon2 for password hashing")
        run("12:10", "note", "Project uses PostgreSQL 15")
        run("12:30", "summary", "Implemented user auth, blocked on database migration")
        assert find_path("abc123").read_text() == read("session-abc123.json")


def test_a_change_of_the_session_keeps_every_other_byte(tmp_path: Path) -> None:
    """P-22, X-07: of the example, only the note that is added and `lastActiveAt` differ."""
    with World(tmp_path) as world:
        world.put("abc123", read("session-abc123.json"))
        world.clock.wall = parse_utc("2025-01-15T13:00:00Z") or 0.0
        world.run("note", "More", session="abc123")
        last = '    "Project uses PostgreSQL 15"'
        wanted = read("session-abc123.json").replace(last, f'{last},\n    "More"')
        assert find_path("abc123").read_text() == wanted.replace("12:30:00.000Z", "13:00:00.000Z")


def test_the_constants_are_the_seeds() -> None:
    """P-32: of decay, the changelog and sessions."""
    assert (decay.HALF_LIFE_DAYS, decay.MIN_CONFIDENCE, decay.REINFORCE_BOOST) == (30, 0.1, 0.3)
    assert (profile_files.MAX_ENTRIES, profile_files.MAX_AGE_DAYS) == (1000, 90)
    limits = session_document.MAX_AGE_DAYS, session_document.MAX_DECISIONS, session_document.MAX_CONTEXT_NOTES
    assert limits == (30, 50, 20)


def test_the_counts_are_the_seeds() -> None:
    """P-27: one line for each session, split at the last colon."""
    text = read("processed_turns")
    assert format_counts(parse_counts(text)) == text and parse_counts("a:b:3\nx\n:4\n") == {"a:b": 3}
