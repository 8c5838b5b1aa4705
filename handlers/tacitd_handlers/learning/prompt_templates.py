"""The prompts: read from the Markdown files beside this module, filled, and their data fenced.

Only text is made here. Who answers, and what becomes of the answer, is not known here.

A prompt's placeholders are declared, because the seed's texts also hold braces that are meant literally
(`{relative_path}` stands in the answer format). Filling never uses `str.format`: what a person typed may
hold braces, and one value must not be searched for the next placeholder.

Whatever text comes in is blanked of secrets here once more, piece by piece: nothing gets into a prompt otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from tacitd.errors import TacitdError
from tacitd.model.answer_checks import SENTINEL
from tacitd.model.port import ModelRequest
from tacitd.text.redact import redact_secrets
from tacitd_handlers.shared.answer_screening import flatten_text, strip_marks

PromptName = Literal["extraction", "synthesis", "summary"]

PLACEHOLDERS: Mapping[PromptName, frozenset[str]] = {
    "extraction": frozenset({"known_facts_summary", "user_message"}),
    "synthesis": frozenset({"folders_context", "learned_md_content", "raw_facts", "repeated_corrections"}),
    "summary": frozenset({"directive_contents"}),
}
LITERALS: Mapping[PromptName, frozenset[str]] = {
    "extraction": frozenset(),
    "synthesis": frozenset({"relative_path", "folder"}),
    "summary": frozenset(),
}
_NAME = re.compile(r"\{([a-z_]+)\}")
_ANSWER_KEYS = ("FILE:", "FACT:", "SECTION:", "REPLACES:")
_NOTHING = "(none)"


class PromptError(TacitdError):
    """A prompt's file and what it is to be filled with do not fit together."""


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """What a person typed, and the end of what the assistant had said just before."""

    text: str
    context: str = ""


@cache
def load_template(name: PromptName) -> str:
    """The prompt's text as it stands in its file, without the last newline."""
    return (files("tacitd_handlers.learning") / "prompts" / f"{name}.md").read_text("utf-8").rstrip("\n")


def fill_template(text: str, values: Mapping[str, str], literals: Iterable[str] = ()) -> str:
    """Given a template, return it with every placeholder replaced, once each pass and no further.

    Raises PromptError where a placeholder has no value, or a value no placeholder.
    """
    wanted = set(_NAME.findall(text)) - set(literals)
    if wanted != set(values):
        missing, spare = sorted(wanted - set(values)), sorted(set(values) - wanted)
        raise PromptError(f"the prompt cannot be filled: without a value {missing}, without a place {spare}")
    return _NAME.sub(lambda found: values.get(found[1], found[0]), text)


def fence_text(data: str) -> str:
    """Given any text, return it between two lines of backticks that nothing in it can close."""
    longest = max((len(run) for run in re.findall(r"`+", data)), default=0)
    bar = "`" * max(3, longest + 1)
    return f"{bar}\n{data}\n{bar}"


def extraction_prompt(known_facts: str, messages: Sequence[PromptMessage]) -> str:
    """The whole prompt of Stage 1 (SPEC S-01): the summary, and the messages in order."""
    parts = [_numbered(number, message) for number, message in enumerate(messages, 1)]
    known_facts = redact_secrets(known_facts.strip())[0]
    values = {
        "known_facts_summary": fence_text(known_facts) if known_facts else _NOTHING,
        "user_message": "\n\n" + "\n\n".join(parts),
    }
    return _filled("extraction", values)


def synthesis_prompt(
    folders: Sequence[str],
    learned: Mapping[str, str],
    facts: Sequence[str],
    repeated: Mapping[str, int],
) -> str:
    """The whole prompt of Stage 2 (SPEC S-36).

    `learned` gives what stands in LEARNED.md and in the folders' AGENTS.md, by relative path; `repeated`
    how often a correction was made, and only those made more than once are passed on.
    """
    counts = [f"{count} times: {fact}" for fact, count in repeated.items() if count > 1]
    values = {
        "folders_context": _fenced_lines(folders),
        "learned_md_content": _documents(learned),
        "raw_facts": _fenced_lines(facts),
        "repeated_corrections": _fenced_lines(counts),
    }
    return _filled("synthesis", values)


def summary_prompt(documents: Mapping[str, str]) -> str:
    """The whole prompt of the bootstrap (SPEC S-40): the documents by name."""
    return _filled("summary", {"directive_contents": _documents(documents)})


@cache
def list_instructions(name: PromptName) -> tuple[str, ...]:
    """The prompt's own sentences, flattened, that no honest answer repeats (SPEC S-35).

    Short lines ("Architectural principles") are left out: a person may well say those.
    """
    mine = [line for line in load_template(name).splitlines() if _is_instruction(name, line)]
    return sentences_of([SENTINEL, ModelRequest("", "fast", "").system, *mine])


def sentences_of(lines: Iterable[str]) -> tuple[str, ...]:
    """Those of the lines that are long enough to prove an echo, flattened. A lesson in force is the person's own."""
    said = (flatten_text(strip_marks(line)) for line in lines if "->" not in line)
    return tuple(line for line in said if len(line) >= 20 and len(line.split()) >= 4)


def _is_instruction(name: PromptName, line: str) -> bool:
    asked = PLACEHOLDERS[name] & set(_NAME.findall(line))
    return not asked and not line.startswith(_ANSWER_KEYS)


def _filled(name: PromptName, values: Mapping[str, str]) -> str:
    return fill_template(load_template(name), values, LITERALS[name]) + "\n"


def _numbered(number: int, message: PromptMessage) -> str:
    text, context = redact_secrets(message.text)[0], redact_secrets(message.context)[0]
    said = f"What the assistant had just said:\n{fence_text(context)}\n" if context.strip() else ""
    return f"Message {number}\n{said}What the person wrote:\n{fence_text(text)}"


def _fenced_lines(lines: Iterable[str]) -> str:
    text = "\n".join("- " + redact_secrets(" ".join(line.split()))[0] for line in lines)
    return fence_text(text) if text else _NOTHING


def _documents(documents: Mapping[str, str]) -> str:
    blanked = [(redact_secrets(name)[0], redact_secrets(text.strip())[0]) for name, text in documents.items()]
    shown = [f"{name}:\n{fence_text(text)}" for name, text in blanked if text]
    return "\n\n".join(shown) if shown else _NOTHING
