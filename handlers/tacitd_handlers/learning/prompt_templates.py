"""Build the prompts: load the Markdown files in `prompts/`, fill their placeholders, and fence the data.

Only text is made here; the calls and the parsing of answers are elsewhere. Secrets are blanked in every value here once more, as the
last step before a text is part of a prompt (SPEC S-67).

A plugin may add a part to one of these prompts (`PluginSpec.prompt_parts`: `learning:extraction`, whose input is the words that a person
typed, `learning:synthesis`, whose input is the facts of a project), so that one call serves both. It takes its own part out of the
answer and never changes the rest; it gets the finding as a message after the commit that contains it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Literal, Protocol

from msgspec import Struct

from tacitd.logging_setup import logger
from tacitd.text.redact import redact_secrets
from tacitd_handlers.shared.model_text import fence_text, fill_template, strip_marks
from tacitd_handlers.shared.words import Sources

PromptName = Literal["extraction", "synthesis", "summary"]

SYNTHESIS_PROMPT = "learning:synthesis"
"""The second call's name in `PluginSpec.prompt_parts`."""
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


@cache
def load_template(name: PromptName) -> str:
    return (files("tacitd_handlers.learning") / "prompts" / f"{name}.md").read_text("utf-8").rstrip("\n")


def repeats_prompt(name: PromptName, answer: str) -> bool:
    """Whether an answer is a copy of the prompt, whose examples would be read as its lines (SPEC S-35)."""
    return load_template(name).partition("\n")[0] in answer


def extraction_prompt(known_facts: str, messages: Sequence[PromptMessage]) -> str:
    """Return the prompt of the first call (SPEC S-01), with the known facts and the messages in order.

    `known_facts`: the summary with its lines numbered, see `number_known`.
    """
    known_facts = redact_secrets(known_facts.strip())[0]
    shown = list[str]()
    for number, message in enumerate(messages, 1):
        text, context = redact_secrets(message.text)[0], redact_secrets(message.context)[0]
        before = f"What the assistant had just said:\n{fence_text(context)}\n" if context.strip() else ""
        shown.append(f"Message {number}\n{before}What the person wrote:\n{fence_text(text)}")
    values = {
        "known_facts_summary": fence_text(known_facts) if known_facts else _NOTHING,
        "user_message": "\n\n".join(shown),
    }
    return fill_template(load_template("extraction"), values) + "\n"


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
    """Return the prompt of the second call (SPEC S-36). `lines`, `facts`: with their numbers, see `answers.Numbered`.

    `crowded`: files with too many lines, with the number and the limit; the model is asked to merge some (S-54).
    """
    values = {
        "folders_context": _fence_lines(files),
        "learned_md_content": _fence_lines(lines),
        "raw_facts": _fence_lines(facts),
    }
    asked = (_MERGE.format(file=name, count=n, limit=limit) for name, (n, limit) in (crowded or {}).items())
    return fill_template(load_template("synthesis"), values) + "\n" + redact_secrets("".join(asked))[0]


def summary_prompt(documents: Mapping[str, str]) -> str:
    """Return the prompt of the summary (SPEC S-40). `documents`: texts by name."""
    blanked = [(redact_secrets(name)[0], redact_secrets(text.strip())[0]) for name, text in documents.items()]
    shown = "\n\n".join(f"{name}:\n{fence_text(text)}" for name, text in blanked if text) or _NOTHING
    return fill_template(load_template("summary"), {"directive_contents": shown}) + "\n"


def _fence_lines(lines: Iterable[str]) -> str:
    """The lines in a fence. A newline in a line is folded, so it begins no line."""
    text = "\n".join(redact_secrets(" ".join(line.split()))[0] for line in lines)
    return fence_text(text) if text else _NOTHING


class PromptExtension(Protocol):
    """What an extension's module or object has."""

    name: str
    """The plugin that gets the finding.

    One that has `only_corrected_again` set is asked for by the synthesis only with facts that correct something again.
    """

    def render_addition(self, project: str) -> str:
        """Return the Markdown to append to the prompt; "" if there is none now. `project` is its root's path."""
        ...

    def extract_finding(self, answer: str) -> tuple[Any | None, str]:
        """Given the answer, return the finding (JSON; None for none) and the answer without it. Raises nothing."""
        ...

    def ground_finding(self, found: Any, sources: Sources) -> tuple[Any | None, int]:
        """Return what of a finding its sources support (None: nothing), and the number of its other parts (SPEC S-67)."""
        ...


def extend_prompt(prompt: str, extensions: Iterable[PromptExtension], project: str) -> str:
    """Return the prompt with the extensions' parts below it, separated by blank lines. `prompt` is as the functions above make it."""
    added = [redact_secrets(_call(one, "", "render_addition", project).strip())[0] for one in extensions]
    return "\n\n".join([prompt, *filter(None, added)])


def split_answer(answer: str, extensions: Iterable[PromptExtension]) -> tuple[dict[str, Any], str]:
    """Return the findings by extension name, and the answer without them."""
    found: dict[str, Any] = {}
    for one in extensions:
        finding, answer = _call(one, (None, answer), "extract_finding", answer)
        if finding:
            found[one.name] = finding
    return found, answer


def ground_findings(
    found: Mapping[str, Any], extensions: Iterable[PromptExtension], sources: Sources
) -> tuple[dict[str, Any], int]:
    """Given findings by extension name, return what their sources support, and the number of the parts that they do not (S-67)."""
    kept: dict[str, Any] = {}
    refused = 0
    for one in extensions:
        # What was not checked is not passed on.
        if one.name in found:
            what, number = _call(one, (None, 0), "ground_finding", found[one.name], sources)
            refused += number
            if what:
                kept[one.name] = what
    return kept, refused


def _call(extension: PromptExtension, otherwise: Any, function: str, *given: Any) -> Any:
    """The function's result. The call goes on without an extension that fails: it serves another plugin too."""
    try:
        return getattr(extension, function)(*given)
    except Exception as error:  # noqa: BLE001  a third-party extension may raise anything
        logger.opt(exception=error).error("the prompt extension {} failed", extension.name)
        return otherwise
