"""Prompt extensions: a plugin adds a part to another plugin's model call, so that one call serves both.

An extension adds a part to the prompt and takes its own part out of the answer. Its plugin gets the finding as an event
(`tacitd.events.Message`) after the commit that contains it. An extension never changes the rest of the prompt or of the
answer. A plugin names its extensions in `PluginSpec.prompt_parts`, so plugins do not import each other; a module
is imported when a prompt is made. What an extension asks for and accepts belongs in its own module.

The prompts that can be extended are learning's: `learning:extraction`, whose input is the words that a person typed, and
`learning:synthesis`, whose input is the facts of a project.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, cast

from msgspec import Struct

from tacitd.handler import load_hook
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

    def ground_finding(self, found: Any, sources: Sources) -> GroundedFinding:
        """Divide a finding into what its sources support and what they do not (SPEC S-67). Raises nothing."""
        ...


class RefusedPart(Struct, frozen=True):
    """A part of a finding that is not passed on."""

    kind: str
    """What the part was for: `profile` or `lesson`."""
    text: str
    reason: str
    waits: bool = False
    """True: a person decides. False: it is refused."""


class GroundedFinding(Struct, frozen=True):
    """A finding divided into what its sources support and what they do not."""

    found: Any
    """The supported part as JSON; None if nothing is left."""
    refused: tuple[RefusedPart, ...] = ()


class SplitAnswer(Struct, frozen=True):
    """An answer without the extensions' parts, and their findings by extension name."""

    answer: str
    found: Mapping[str, Any]


def load_extensions(hooks: Iterable[str]) -> list[PromptExtension]:
    """Import extensions. One that fails to import is logged and left out: the call is made without it."""
    made: list[PromptExtension] = []
    for where in hooks:
        try:
            made.append(cast(PromptExtension, load_hook(where)))
        except Exception as error:  # noqa: BLE001  an import can raise anything
            logger.opt(exception=error).error("cannot import the prompt extension {}", where)
    return made


def list_additions(extensions: Iterable[PromptExtension], project: str) -> list[str]:
    """Return the extensions' parts of the prompt, without empty ones."""
    added: list[str] = []
    for one in extensions:
        try:
            text = one.render_addition(project).strip()
        except Exception as error:  # noqa: BLE001  a third-party extension may raise anything
            _report_broken(one, error)
            continue
        if text:
            added.append(text)
    return added


def extend_prompt(prompt: str, extensions: Iterable[PromptExtension], project: str) -> str:
    """Return the prompt with the extensions' parts below it, separated by blank lines."""
    return "\n\n".join([prompt, *list_additions(extensions, project)])


def split_answer(answer: str, extensions: Iterable[PromptExtension]) -> SplitAnswer:
    """Given an answer, take out each extension's part, in their order."""
    found: dict[str, Any] = {}
    for one in extensions:
        try:
            finding, answer = one.extract_finding(answer)
        except Exception as error:  # noqa: BLE001  see above
            _report_broken(one, error)
            continue
        if finding:
            found[one.name] = finding
    return SplitAnswer(answer, found)


def ground_findings(
    found: Mapping[str, Any], extensions: Iterable[PromptExtension], sources: Sources
) -> tuple[dict[str, Any], list[RefusedPart]]:
    """Given findings by extension name, return what their sources support, and the parts that they do not (S-67)."""
    kept: dict[str, Any] = {}
    refused: list[RefusedPart] = []
    for one in extensions:
        if one.name not in found:
            continue
        try:
            judged = one.ground_finding(found[one.name], sources)
        except Exception as error:  # noqa: BLE001  see above
            _report_broken(one, error)  # what was not checked is not passed on
            continue
        refused += judged.refused
        if judged.found:
            kept[one.name] = judged.found
    return kept, refused


def _report_broken(extension: PromptExtension, error: Exception) -> None:
    """Log a failure. The call goes on without this extension: it serves another plugin too."""
    logger.opt(exception=error).error("the prompt extension {} failed", extension.name)
