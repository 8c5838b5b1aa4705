"""Running a tool: what the command prints is the answer, and nothing that it does ends the server."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.errors import FileBusyError, TacitdError
from tacitd.mcp.agent_tools import AgentTool, ToolParameter
from tacitd.mcp.tools import bind_tool, bound_output, run_tool


def answer(
    act: Any, effect: Any = "reads", arguments: dict[str, Any] | None = None, typed: str = ""
) -> tuple[str, bool]:
    """The text of a tool whose command does `act`, and whether it is an error."""
    command = click.Command("act", callback=act)
    parameters = (ToolParameter(typed),) if typed else ()
    tool = AgentTool("do_act", "Act.", ("act",), parameters, effect=effect, typed=typed)
    said = run_tool(bind_tool(tool, lambda name, path: command), arguments or {})
    return said.text, said.is_error


def fail(error: BaseException) -> Any:
    def act() -> None:
        raise error

    return act


def test_output_and_messages_are_the_answer() -> None:
    def act() -> None:
        click.echo("data")
        sys.stdout.buffer.write("bytes ä\n".encode())
        click.echo("message", err=True)

    assert answer(act) == ("data\nbytes ä\nmessage", False)


def test_a_silent_command_is_done() -> None:
    assert answer(lambda: None) == ("done", False)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (TacitdError("it is broken", "mend it"), "it is broken\nhint: mend it"),
        (FileBusyError("busy", seconds=1.0), "busy"),
        (click.UsageError("wrong"), "wrong"),
        (click.exceptions.Exit(3), "it ended with 3"),
        (SystemExit(4), "it ended with 4"),
        (PermissionError(13, "Permission denied", "/x"), "/x"),
        (ZeroDivisionError("a bug"), "ZeroDivisionError: a bug"),
    ],
)
def test_whatever_goes_wrong_is_an_answer(error: BaseException, said: str) -> None:
    text, is_error = answer(fail(error))
    assert is_error and said in text


def test_a_command_that_asks_a_person_is_refused() -> None:
    text, is_error = answer(lambda: click.confirm("Really?", abort=True))
    assert is_error and "a person has to run it" in text


def test_the_streams_are_restored_after_an_error() -> None:
    before = (sys.stdin, sys.stdout, sys.stderr)
    answer(fail(ZeroDivisionError()))
    assert (sys.stdin, sys.stdout, sys.stderr) == before


def test_nothing_is_removed_without_confirm() -> None:
    """A destructive tool asks first: neither its absence nor anything but `true` is a confirmation."""
    done: list[int] = []
    for arguments in ({}, {"confirm": False}, {"confirm": "true"}, {"confirm": 1}):
        text, is_error = answer(lambda: done.append(1), "removes", arguments)
        assert is_error and ("Nothing was done" in text or "must be true or false" in text)
    assert done == []
    assert answer(lambda: done.append(1), "removes", {"confirm": True}) == ("done", False) and done == [1]


def test_a_typed_parameter_is_standard_input() -> None:
    assert answer(
        lambda: click.echo(sys.stdin.read().upper()), arguments={"said": "ä --x"}, typed="said"
    ) == ("Ä --X", False)
    assert answer(lambda: click.echo(f"[{sys.stdin.read()}]"), typed="said") == ("[]", False)


def test_options_that_are_always_given_come_first() -> None:
    seen: list[dict[str, Any]] = []
    options = [click.Option(["--json"], is_flag=True), click.Argument(["id"])]
    command = click.Command("act", callback=lambda **given: seen.append(given), params=options)
    asked: list[tuple[str, Sequence[str]]] = []

    def find_command(name: str, path: Sequence[str]) -> click.Command:
        asked.append((name, path))
        return command

    bound = bind_tool(AgentTool("x", "x", ("a", "b", "--json"), (ToolParameter("id"),)), find_command)
    run_tool(bound, {"id": "--json"})
    assert asked == [("a", ["b"])]
    assert seen == [{"json": True, "id": "--json"}]


# --- the bound of a tool's answer: JSON stays JSON, and what is left out is named


def test_of_a_long_list_the_first_elements_are_kept() -> None:
    """Whole, as many as there is room for."""
    text, note = bound_output(json.dumps([{"line": "x" * 50, "n": n} for n in range(100)]), 1000)
    kept = json.loads(text)
    assert kept == [{"line": "x" * 50, "n": n} for n in range(len(kept))] and 900 < len(text) <= 1000
    assert note.startswith(f"of long lists all but the first {len(kept)} are left out")


@pytest.mark.parametrize("text", ["word " * 1000, "[" + "x" * 3000, "[" * 100_000])
def test_other_text_is_cut(text: str) -> None:
    kept, note = bound_output(text, 500)
    assert len(kept) == 500 and kept[:499] == text[:499] and "characters are left out; ask for less" in note


def test_half_a_character_does_not_fail() -> None:
    assert bound_output("a\udcff b") == ("a? b", "")


@pytest.mark.parametrize("hidden", ["\u202e", "\u200b", "\x1b[31m", "\u2066", "\U000e0041"], ids=ascii)
def test_hidden_characters_reach_no_agent(hidden: str) -> None:
    """Neither in a text nor in a document: what a session or a file says may be a stranger's."""
    document = [{f"na{hidden}me": [f"use {hidden}pnpm\nalways", 1, None]}]
    assert bound_output(f"use {hidden}pnpm\nalways") == ("use pnpm\nalways", "")
    for text in (json.dumps(document), json.dumps(document, ensure_ascii=False)):
        assert json.loads(bound_output(text)[0]) == [{"name": ["use pnpm\nalways", 1, None]}]


JSON = st.recursive(
    st.none() | st.text(max_size=300),
    lambda one: st.lists(one, max_size=9) | st.dictionaries(st.text(max_size=60), one, max_size=9),
    max_leaves=30,
)


@examples(100)
@given(
    st.lists(JSON, max_size=9) | st.dictionaries(st.text(max_size=60), JSON, max_size=9),
    st.integers(200, 1000),
)
def test_every_answer_is_json_and_not_longer(document: object, limit: int) -> None:
    """F8: whatever a command prints."""
    text, note = bound_output(json.dumps(document), limit)
    assert len(text) <= limit
    assert json.loads(text) == json.loads(bound_output(json.dumps(document), 1_000_000)[0]) or note
