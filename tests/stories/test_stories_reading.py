"""Stories of what tacitd reads, cannot read, or must not take for a person's words."""

from __future__ import annotations

import json
from pathlib import Path

from support_world import Begin, Facts

FACTS: Facts = {"tabs": "Use tabs in Go files"}
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * (9 << 20)}}


def test_words_beside_a_picture_that_is_too_large_are_named(begin: Begin) -> None:
    """Issue 39 point 16: a record above 8 MB may have words; `status` says where it is, also after a restart, and a tool's result is
    not named."""
    with begin(FACTS) as world:
        world.type("s1", "use tabs in Go files")
        at = world.transcript("s1").stat().st_size
        words = {"type": "text", "text": "as in this picture"}
        world.record("s1", type="user", message={"role": "user", "content": [words, PICTURE]})
        result = {"type": "tool_result", "tool_use_id": "t", "content": [PICTURE]}
        world.record("s1", type="user", message={"role": "user", "content": [result]})
        world.wait(30).restart().wait(30)
        problems = [
            one for one in world.run("status", "--json").json["degraded"] if one["id"] == "transcripts.long"
        ]
        assert len(problems) == 1, problems
        assert f"{world.transcript('s1')}: a record of 9 MB at byte {at} " in problems[0]["what"]
        world.wait_days(8)
        assert "too long to be read" not in world.run("status").out
        world.leave("s1")
        assert world.bullets("LEARNED.md") == ["Use tabs in Go files"]


def test_a_directory_of_a_container_is_told(begin: Begin) -> None:
    """Issue 39 point 16: sessions of a container lie in a shared ~/.claude. What was typed there waits as one row until a person
    says which project it is."""
    with begin(FACTS) as world:
        for session, folder in (("s1", "/workspaces/app"), ("s2", "/workspaces/app/api")):
            world.record(
                session,
                type="user",
                cwd=Path(folder),
                message={"role": "user", "content": f"use tabs in Go files, {session}"},
            )
        world.wait(700)
        rows = [one for one in world.run("status", "--json").json["parked"] if "/workspaces" in one["reason"]]
        assert [one["what"] for one in rows] == ["prompts of 2 sessions"], rows
        assert "`tacitd project alias /workspaces/app DIR`" in rows[0]["hint"] and world.prompts == []
        assert "/workspaces/app" in world.run("project", "alias", "/workspaces/app", str(world.project)).err
        world.wait(70).wait(700)
        world.run("sync", "--write")
        assert world.bullets("LEARNED.md") == ["Use tabs in Go files"]
        assert not [
            one for one in world.run("status", "--json").json["parked"] if "/workspaces" in one["reason"]
        ]
        assert f"/workspaces/app -> {world.project}" in world.run("project", "alias").out
        assert world.run("project", "alias", "--remove", "/workspaces/app").code == 0
        assert world.run("project", "alias").out == ""


def test_an_alias_of_a_directory_that_is_here_is_refused(begin: Begin) -> None:
    """Issue 39 point 16: what lies here belongs to itself; a place that is no directory is no project."""
    with begin(FACTS) as world:
        other = world.new_project("other")
        assert world.run("project", "alias", str(other), str(world.project)).code == 2
        assert world.run("project", "alias", "workspaces", str(world.project)).code == 2
        assert world.run("project", "alias", "/workspaces/app", str(world.home / "nowhere")).code == 2


def test_the_doctor_says_that_hooks_are_off(begin: Begin) -> None:
    """Issue 39 point 16: `disableAllHooks` in the client's settings stops the plugin's hooks, too."""
    with begin(FACTS) as world:
        settings = world.home / ".claude" / "settings.json"
        settings.write_text(json.dumps({"disableAllHooks": True}))
        said = world.run("doctor").out
        assert f"{settings} has `disableAllHooks`" in said
