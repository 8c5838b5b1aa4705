"""The schema of a tool, and the command line of a call: what a model wrote reaches the command as values only."""

from __future__ import annotations

from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.errors import UsageError
from tacitd.mcp.agent_tools import AgentTool, ToolParameter
from tacitd.mcp.tools import LONGEST, MOST, build_command_line, build_schema, check_arguments


@click.command("note")
@click.argument("text")
@click.argument("where", required=False)
@click.option("--tag", multiple=True, help="A tag.")
@click.option("--kind", type=click.Choice(["a", "b"]))
@click.option("--count", type=click.IntRange(1, 9))
@click.option("--loud", is_flag=True)
@click.option("--secret")
def note(**given: Any) -> None:
    pass


NOTE = AgentTool(
    "save_note",
    "Save a note.",
    ("note",),
    (
        ToolParameter("words", "The text.", of="text"),
        ToolParameter("where", "A place."),
        ToolParameter("tag"),
        ToolParameter("kind"),
        ToolParameter("count"),
        ToolParameter("loud"),
    ),
)
SCHEMA = build_schema(NOTE, note)


def test_types_choices_and_limits_are_the_commands_own() -> None:
    """A tool accepts what its command accepts; what it does not name stays hidden."""
    assert SCHEMA["required"] == ["words"] and SCHEMA["additionalProperties"] is False
    assert SCHEMA["properties"] == {
        "words": {"type": "string", "description": "The text."},
        "where": {"type": "string", "description": "A place."},
        "tag": {"type": "array", "items": {"type": "string"}, "description": "A tag."},
        "kind": {"type": "string", "enum": ["a", "b"]},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "loud": {"type": "boolean"},
    }


def test_a_tool_that_removes_has_a_parameter_confirm() -> None:
    tool = AgentTool("drop_note", "Drop a note.", ("note",), (ToolParameter("text"),), effect="removes")
    assert build_schema(tool, note)["properties"]["confirm"]["type"] == "boolean"


def test_a_parameter_that_the_command_lacks_is_an_error() -> None:
    with pytest.raises(ValueError, match="no parameter gone"):
        build_schema(AgentTool("x", "x", ("note",), (ToolParameter("gone"),)), note)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "'words' is missing"),
        ({"words": None}, "'words' is missing"),
        ({"words": 3}, "words must be a text"),
        ({"words": ["a"]}, "words must be a text"),
        ({"words": "a", "secret": "x"}, "no argument 'secret'"),
        ({"words": "a", "tag": "x"}, "tag must be a list"),
        ({"words": "a", "tag": [1]}, "tag must be a text"),
        ({"words": "a", "tag": ["x"] * (MOST + 1)}, "tag must be a list of at most 100"),
        ({"words": "a", "count": True}, "count must be a whole number"),
        ({"words": "a", "count": 1.5}, "count must be a whole number"),
        ({"words": "a", "loud": "yes"}, "loud must be true or false"),
        ({"words": "a" * (LONGEST + 1)}, "20,001 characters"),
        ({"words": "a\0b"}, "characters that no text has"),
        ({"words": "\ud800"}, "characters that no text has"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError) as error:
        check_arguments(SCHEMA, arguments)
    assert problem in str(error.value)


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20)
WORDS = st.one_of(TEXT, st.sampled_from(["--secret", "--secret=x", "-h", "--", "--help"]))


@examples(100)
@given(
    words=WORDS,
    where=st.none() | WORDS,
    tag=st.lists(WORDS, max_size=3),
    kind=st.sampled_from([None, "a", "b"]),
    count=st.none() | st.integers(1, 9),
    loud=st.booleans(),
)
def test_every_value_arrives_as_it_is(
    words: str, where: str | None, tag: list[str], kind: str | None, count: int | None, loud: bool
) -> None:
    """No value is read as an option, whatever a model writes."""
    arguments = {"words": words, "where": where, "tag": tag, "kind": kind, "count": count, "loud": loud}
    check_arguments(SCHEMA, arguments)
    context = note.make_context("note", build_command_line(NOTE, note, arguments))
    assert context.params == {
        "text": words,
        "where": where,
        "tag": tuple(tag),
        "kind": kind,
        "count": count,
        "loud": loud,
        "secret": None,
    }
