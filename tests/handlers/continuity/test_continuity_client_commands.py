"""Slash commands that control the client are no prompts to resume with."""

from __future__ import annotations

import pytest

from support_continuity import World
from tacitd.events import Prompt, PromptKind
from tacitd_handlers.continuity.session_fold import is_client_command


@pytest.mark.parametrize(
    ("kind", "command", "text", "expected"),
    [
        ("queued", "", "/quit", True), ("typed", "", " /model ", True), ("queued", "", "/workflows:plan", True),
        ("command", "compact", "keep it short", True), ("command", "rename", "parser", True),
        ("command", "review", "let's do a review", False), ("command", "workflows:plan", "the parser", False),
        ("typed", "", "/usr/bin is full", False), ("typed", "", "/tmp/log", False), ("typed", "", "/", False),
        ("queued", "", "/quit is broken", False), ("bash", "", "ls", False), ("typed", "", "quit", False),
    ],
)  # fmt: skip
def test_what_only_controls_the_client(kind: PromptKind, command: str, text: str, expected: bool) -> None:
    """SPEC P-26: bare commands, and the client's own ones with arguments; paths and commands about the work are not."""
    prompt = Prompt(kind, text, "s1", "u1", None, "/home/dev")
    assert is_client_command(prompt, command) is expected


def command(world: World, name: str, args: str) -> None:
    text = f"<command-name>/{name}</command-name>\n<command-message>{name}</command-message>\n<command-args>{args}</command-args>"
    world.append("s1", world.record("user", "s1", text))


def test_the_last_prompt_is_about_the_work(world: World) -> None:
    """SPEC P-26: `/quit`, `/compact …` and the like are neither shown as prompts, nor do they wait for an answer."""
    world.type("s1", "build a parser")
    world.say("s1", "Done. Shall I release it?")
    command(world, "compact", "keep the decisions")
    command(world, "review", "the parser")
    world.say("s1", "It is fine.")
    command(world, "model", "opus")
    command(world, "exit", "")
    world.type("s1", "/quit")
    world.settle()
    state = world.store.load_progress("s1")
    assert state is not None and state.answered
    assert (state.typed, state.said) == (("build a parser", "/review the parser"), "It is fine.")


def test_a_session_of_commands_only_gets_no_file(world: World) -> None:
    """SPEC P-26: who only looked at `/usage` has nothing to resume."""
    world.type("s1", "/usage")
    command(world, "rename", "nothing")
    world.end()
    assert world.file("s1") == {}
