"""The session of seed 001 as the program writes it, byte for byte: from a transcript and `tacitd sessions`.

The file of the example is in `fixtures/profile`, as the seed shows it. Its directory is the test's, and its one list on one
line is written like the others.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from support_continuity import World
from tacitd_handlers.continuity.cli import sessions

EXAMPLE = Path(__file__).parents[2] / "fixtures" / "profile" / "session-abc123.json"


def test_P_22_the_session_as_the_seed_shows_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-22, P-23: order of the keys, times, a task that is done and one that is blocked, a decision, two notes, the summary."""
    for name, value in (world.env | {"CLAUDE_CODE_SESSION_ID": "abc123"}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("tacitd_handlers.continuity.store.SystemClock", lambda: world.clock)

    def run(time: str, *arguments: str) -> None:
        world.clock.wall = datetime.fromisoformat(f"2025-01-15T{time}:00+00:00").timestamp()
        done = CliRunner().invoke(sessions, arguments, standalone_mode=False)
        assert done.exception is None, done.exception

    world.clock.wall = datetime.fromisoformat("2025-01-15T10:00:00+00:00").timestamp()
    world.type("abc123", "Let us build the login.")
    world.settle()
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
    wanted = EXAMPLE.read_text().replace("/home/user/my-project", str(world.project))
    lines = '[\n        "Session cookies",\n        "OAuth only"\n      ]'
    wanted = wanted.replace('["Session cookies", "OAuth only"]', lines)
    assert world.store.session_path("abc123").read_text() == wanted
