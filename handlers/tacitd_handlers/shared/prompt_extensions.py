"""Prompt extensions: a plugin adds a part to another plugin's model call, so that one call serves both.

An extension adds a part to the prompt and takes its own part out of the answer. Its plugin gets the finding as a message after the
commit that contains it. An extension never changes the rest of the prompt or of the answer. A plugin names its extensions in
`PluginSpec.prompt_parts`, so plugins do not import each other.

The prompts that can be extended are learning's: `learning:extraction`, whose input is the words that a person typed, and
`learning:synthesis`, whose input is the facts of a project.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from tacitd.logging_setup import logger
from tacitd_handlers.shared.words import Sources


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
    """Return the prompt with the extensions' parts below it, separated by blank lines."""
    added = [_call(one, "", "render_addition", project).strip() for one in extensions]
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
