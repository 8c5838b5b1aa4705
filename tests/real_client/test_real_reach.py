"""What was learned arrives wherever the person works: real clients, in each kind of directory, `-p` and in a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_install import need_terminal, real_client
from real_reach import (
    MODULE_LINE,
    ODD_MODULES,
    PERSON_LINE,
    PROJECT_LINE,
    LearnedWorld,
    module_line,
    run_session,
)

pytest_plugins = ["real_asked"]
pytestmark = [pytest.mark.real_client, pytest.mark.timeout(900)]

WITH_AGENTS = ("module", "its module, without git")
"""The places with an AGENTS.md: a linked work tree has the copies of the rules only."""
VERSIONS = ("2.0.76", "2.1.63", "2.1.197", "2.1.328")


@pytest.fixture(scope="module", params=["CLAUDE.md", "no CLAUDE.md"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LearnedWorld]:
    """Projects with and without a CLAUDE.md, in which the daemon has learned."""
    made = LearnedWorld(tmp_path_factory.mktemp("world"), claude_md=request.param == "CLAUDE.md")
    yield made
    made.close()


def arrives_on_reading(version: str, mode: str, place: str) -> bool:
    """Whether the client attaches a module's lines after a read in it: see docs/claude-code.md."""
    if version == "2.0.76":
        return True
    if version == "2.1.63" and mode == "p":
        return False
    return place != "other folder"


def arrives_at_start(version: str, place: str, *, claude_md: bool) -> bool:
    """Whether a module's lines are in the first request already.

    2.0.76 does not know `paths:`. 2.1.328 loads the AGENTS.md of the session's directory if there is no CLAUDE.md.
    """
    return version == "2.0.76" or (version == "2.1.328" and not claude_md and place in WITH_AGENTS)


@pytest.mark.parametrize("mode", ["p", "terminal"])
@pytest.mark.parametrize("version", VERSIONS)
def test_learned_lines_arrive(world: LearnedWorld, tmp_path: Path, version: str, mode: str) -> None:
    """The project's and the person's lines are in the first request exactly once, without a dialog; the module's after a
    read in it."""
    client = real_client(version)
    if mode == "terminal":
        need_terminal()
    wrong: list[str] = []
    for number, (name, place) in enumerate(world.places.items()):
        box = tmp_path / str(number)
        box.mkdir()
        found = run_session(world, box, client, mode, place)
        started = arrives_at_start(version, name, claude_md=world.claude_md)
        if (
            found.dialog
            or found.first[PROJECT_LINE] != 1
            or found.first[PERSON_LINE] != 1
            or (found.first[MODULE_LINE] > 0) != started
            or (found.last[MODULE_LINE] > 0) != (started or arrives_on_reading(version, mode, name))
        ):
            wrong.append(f"{name}: {found}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "excluded", ["**/tacitd-learned.md", "**/rules/tacitd.md", "**/.claude/rules/**", ""]
)
@pytest.mark.parametrize("version", ["2.1.63", "2.1.328"])
def test_the_command_says_what_arrives(
    world: LearnedWorld, tmp_path: Path, version: str, excluded: str
) -> None:
    """`tacitd reach` lists which of tacitd's rules the client loads, also with `claudeMdExcludes`."""
    settings = world.daemon.home / ".claude" / "settings.json"
    for number, name in enumerate(("root", "other folder")):
        box, place = tmp_path / str(number), world.places[name]
        box.mkdir()
        found = run_session(world, box, real_client(version), "p", place, {"claudeMdExcludes": [excluded]})
        assert settings.exists()
        said = json.loads(world.daemon.cli("reach", str(place.cwd), "--json").stdout)
        kinds = {one["kind"] for one in said["loads"] if one["when"] == "start"}
        assert ("project" in kinds, "person" in kinds) == (
            found.first[PROJECT_LINE] == 1,
            found.first[PERSON_LINE] == 1,
        ), said
        if (
            version == "2.1.328" and world.claude_md
        ):  # without one, this client loads a module's AGENTS.md by itself too
            read = {one["kind"] for one in said["loads"] if one["when"] == "read"}
            assert (read == {"module"}) == (found.last[MODULE_LINE] > 0), said


@pytest.mark.parametrize("mode", ["p", "terminal"])
@pytest.mark.parametrize("claude_md", [True, False])
def test_a_module_s_line_is_there(
    tmp_path_factory: pytest.TempPathFactory, claude_md: bool, mode: str
) -> None:
    """Once where there is a CLAUDE.md. Without one, a client that loads AGENTS.md by itself shows the line beside its copy."""
    client = real_client("2.1.328")
    if mode == "terminal":
        need_terminal()
    made = LearnedWorld(tmp_path_factory.mktemp("once"), claude_md=claude_md, version="2.1.328")
    try:
        found = {
            name: run_session(made, tmp_path_factory.mktemp("box"), client, mode, place).last[MODULE_LINE]
            for name, place in made.places.items()
            if name != "other folder"
        }
        copies_only = ("linked worktree", "its module")
        assert found == {name: 1 if claude_md or name in copies_only else 2 for name in found}
        copy = ".claude/rules/tacitd/pkg-cart.md"
        assert (made.daemon.project / copy).exists() and (made.worktree / copy).exists()
    finally:
        made.close()


@pytest.mark.parametrize(
    "place",
    ["../CLAUDE.md", "pkg/cart/CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md", "~/.claude/CLAUDE.md"],
)
def test_a_line_is_there_wherever_instructions_are(
    tmp_path_factory: pytest.TempPathFactory, place: str
) -> None:
    """The project's line is there once, the module's once or beside the client's own look at AGENTS.md, whatever other instructions
    there are."""
    made = LearnedWorld(
        tmp_path_factory.mktemp("above"), claude_md=False, version="2.1.328", instructions=[place]
    )
    try:
        found = {
            name: run_session(
                made, tmp_path_factory.mktemp("box"), real_client("2.1.328"), "p", made.places[name]
            )
            for name in ("root", "module", "linked worktree")
        }
        assert {name: one.first[PROJECT_LINE] for name, one in found.items()} == dict.fromkeys(found, 1)
        assert all(one.last[MODULE_LINE] in (1, 2) for one in found.values()), found
    finally:
        made.close()


@pytest.mark.parametrize("version", ["2.1.197", "2.1.328"])
def test_modules_with_odd_names(tmp_path_factory: pytest.TempPathFactory, version: str) -> None:
    """Folders whose names have characters of patterns: each one's line arrives after a read there, and no other one's."""
    made = LearnedWorld(
        tmp_path_factory.mktemp("odd"), claude_md=True, version="2.1.197", modules=ODD_MODULES
    )
    try:
        for module in ODD_MODULES:
            for name in ("root", "linked worktree"):
                box, place = tmp_path_factory.mktemp("box"), made.places[name]
                found = run_session(made, box, real_client(version), "p", place, module=module)
                counted = {one: found.last[module_line(one)] for one in ODD_MODULES}
                assert counted == {one: int(one == module) for one in ODD_MODULES}, (module, name)
                assert not any(found.first[module_line(one)] for one in ODD_MODULES)
    finally:
        made.close()
