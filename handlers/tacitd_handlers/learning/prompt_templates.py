"""Build the prompts: load the Markdown files in `prompts/`, fill their placeholders, and fence the data.

Only text is made here; the calls and the parsing of answers are elsewhere.

A prompt's placeholders are declared, because the seed's texts also contain literal braces (`{relative_path}` is part of
the answer format).

Secrets are blanked in every value here once more, as the last step before a text is part of a prompt (SPEC S-67).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Literal

from msgspec import Struct

from tacitd.model.port import SENTINEL, ModelRequest
from tacitd.text.redact import redact_secrets
from tacitd_handlers.shared.answer_screening import flatten_text, strip_marks
from tacitd_handlers.shared.prompt_filling import PLACEHOLDER, fence_text, fill_template

PromptName = Literal["extraction", "synthesis", "summary"]

PLACEHOLDERS: Mapping[PromptName, frozenset[str]] = {
    "extraction": frozenset({"known_facts_summary", "user_message"}),
    "synthesis": frozenset({"folders_context", "learned_md_content", "raw_facts"}),
    "summary": frozenset({"directive_contents"}),
}
LITERALS: Mapping[PromptName, frozenset[str]] = {
    "extraction": frozenset(),
    "synthesis": frozenset({"folder"}),
    "summary": frozenset(),
}
SYNTHESIS_PROMPT = "learning:synthesis"
"""The name of Stage 2's prompt in `PluginSpec.prompt_parts`."""
_NOTHING = "(none)"
_MERGE = """
{file} has {count} learned lines; it may have {limit}. Merge L lines of it that belong together: FACT is the merged line, REPLACES names
the two lines whose place it takes, and FROM is left out.
"""


class PromptMessage(Struct, frozen=True):
    """A typed prompt, and the end of the assistant's text just before it."""

    text: str
    context: str = ""
    beside_tool: bool = False
    """Whether it is recorded beside a tool's result."""


@cache
def load_template(name: PromptName) -> str:
    """The text of a prompt's file without the last newline."""
    return (files("tacitd_handlers.learning") / "prompts" / f"{name}.md").read_text("utf-8").rstrip("\n")


def extraction_prompt(known_facts: str, messages: Sequence[PromptMessage]) -> str:
    """Return the prompt of Stage 1 (SPEC S-01), with the known facts and the messages in order.

    `known_facts`: the summary with its lines numbered, see `number_known`.
    """
    parts = [_numbered(number, message) for number, message in enumerate(messages, 1)]
    known_facts = redact_secrets(known_facts.strip())[0]
    values = {
        "known_facts_summary": fence_text(known_facts) if known_facts else _NOTHING,
        "user_message": "\n\n".join(parts),
    }
    return _filled("extraction", values)


def number_known(summary: str) -> tuple[str, tuple[str, ...]]:
    """Return the summary with numbers in place of its bullets, and the lines that have them, the first with number 1."""
    shown: list[str] = []
    known: list[str] = []
    for line in summary.splitlines():
        if line.startswith("- "):
            known.append(strip_marks(line))
            line = f"{len(known)}. {line[2:]}"
        shown.append(line)
    return "\n".join(shown), tuple(known)


def synthesis_prompt(
    files: Sequence[str],
    lines: Sequence[str],
    facts: Sequence[str],
    crowded: Mapping[str, tuple[int, int]] | None = None,
) -> str:
    """Return the prompt of a synthesis (SPEC S-36). `lines`, `facts`: as they are numbered, see `numbered`.

    `crowded`: files with too many lines, with the number and the limit; the model is asked to merge some (S-54).
    """
    values = {
        "folders_context": _fenced(files),
        "learned_md_content": _fenced(lines),
        "raw_facts": _fenced(facts),
    }
    asked = "".join(
        _MERGE.format(file=redact_secrets(name)[0], count=count, limit=limit)
        for name, (count, limit) in (crowded or {}).items()
    )
    return _filled("synthesis", values) + asked


def summary_prompt(documents: Mapping[str, str]) -> str:
    """Return the prompt of the summary (SPEC S-40). `documents`: texts by name."""
    return _filled("summary", {"directive_contents": _documents(documents)})


@cache
def list_instructions(name: PromptName) -> tuple[str, ...]:
    """The prompt's own sentences, flattened. An answer that repeats one is an echo of the prompt (SPEC S-35).

    Short lines ("Architectural principles") are left out, because a fact can have the same words.
    """
    instructions = [line for line in load_template(name).splitlines() if _is_instruction(name, line)]
    return sentences_of([SENTINEL, ModelRequest("", "fast").system, *instructions])


def sentences_of(lines: Iterable[str]) -> tuple[str, ...]:
    """The lines that are long enough to prove an echo, flattened. Lines with `->` are left out.

    Those are lessons in force, which an extension adds to the prompt; a fact can repeat one.
    """
    flattened = (flatten_text(strip_marks(line)) for line in lines if "->" not in line)
    return tuple(line for line in flattened if len(line) >= 20 and len(line.split()) >= 4)


def _is_instruction(name: PromptName, line: str) -> bool:
    asked = PLACEHOLDERS[name] & set(PLACEHOLDER.findall(line))
    return not asked and not line.startswith("{")


def _filled(name: PromptName, values: Mapping[str, str]) -> str:
    return fill_template(load_template(name), values, LITERALS[name]) + "\n"


def _numbered(number: int, message: PromptMessage) -> str:
    text, context = redact_secrets(message.text)[0], redact_secrets(message.context)[0]
    before = f"What the assistant had just said:\n{fence_text(context)}\n" if context.strip() else ""
    return f"Message {number}\n{before}What the person wrote:\n{fence_text(text)}"


def _fenced(lines: Iterable[str]) -> str:
    """The lines in a fence. A newline in a line is folded, so it begins no line."""
    text = "\n".join(redact_secrets(" ".join(line.split()))[0] for line in lines)
    return fence_text(text) if text else _NOTHING


def _documents(documents: Mapping[str, str]) -> str:
    blanked = [(redact_secrets(name)[0], redact_secrets(text.strip())[0]) for name, text in documents.items()]
    shown = [f"{name}:\n{fence_text(text)}" for name, text in blanked if text]
    return "\n\n".join(shown) if shown else _NOTHING
