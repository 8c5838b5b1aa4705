"""Prompt extensions: one model call for several plugins, whose answer is split without loss."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd_handlers.learning.prompt_templates import (
    extend_prompt,
    ground_findings,
    split_answer,
)
from tacitd_handlers.shared.words import Sources


def make_extension(name: str) -> Any:
    """Make an extension that takes the lines that begin with its name."""

    def split(answer: str) -> tuple[Any | None, str]:
        mine = [line for line in answer.splitlines() if line.startswith(f"{name}:")]
        rest = "\n".join(line for line in answer.splitlines() if not line.startswith(f"{name}:"))
        return ([line.split(":", 1)[1] for line in mine] or None, rest)

    return SimpleNamespace(
        name=name, render_addition=lambda project: f"Also say {name} of {project}.", extract_finding=split
    )


def test_the_prompt_holds_the_question_first_then_each_addition() -> None:
    """Issue "one call for both is the aim": the prompt itself is not changed."""
    silent: Any = SimpleNamespace(name="x", render_addition=lambda project: " ", extract_finding=None)
    prompt = extend_prompt("QUESTION", [make_extension("one"), make_extension("two")], "/p")
    assert prompt == "QUESTION\n\nAlso say one of /p.\n\nAlso say two of /p."
    assert extend_prompt("QUESTION", [silent], "/p") == "QUESTION"


@examples(50)
@given(st.lists(st.tuples(st.sampled_from(["one", "two", "fact"]), st.text("abc ", max_size=5)), max_size=8))
def test_each_gets_its_own_and_the_rest_is_untouched(lines: list[tuple[str, str]]) -> None:
    """Every line goes to exactly one extension, in order."""
    answer = "\n".join(f"{who}:{what}" for who, what in lines)
    found, rest = split_answer(answer, [make_extension("one"), make_extension("two")])
    for name in ("one", "two"):
        assert found.get(name, []) == [what for who, what in lines if who == name]
    assert rest == "\n".join(f"{who}:{what}" for who, what in lines if who == "fact")


def test_an_extension_that_fails_stops_no_call() -> None:
    """DESIGN "Handlers and events": the prompt, the answer and the other findings are as without it."""
    broken: Any = SimpleNamespace(
        name="broken", render_addition=None, extract_finding=None, ground_finding=None
    )
    assert (
        extend_prompt("QUESTION", [broken, make_extension("one")], "/p") == "QUESTION\n\nAlso say one of /p."
    )
    assert split_answer("one:1\nrest", [broken, make_extension("one")]) == ({"one": ["1"]}, "rest")
    assert ground_findings({"broken": 1}, [broken], Sources(())) == ({}, 0)
