"""The answers that the stories' model gives, in the form that the prompts of today ask for.

A story says what the model makes of a prompt and which lines it writes; only this module knows the forms.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from tacitd.model.port import ModelRequest
from tacitd.testing import FakeClock, World

EXTRACTION, SYNTHESIS = "opinion mining", "knowledge synthesis"
_MESSAGE = r"^Message (\d+)$(?:(?!^Message \d+$).)*?^What the person wrote:\n(`{3,})\n(.*?)\n\2$"


def make_world(
    tmp: Path,
    facts: Mapping[str, str],
    *,
    lines: Mapping[str, tuple[str, str]] | None = None,
    corrected: Sequence[str] = (),
    clock: FakeClock | None = None,
    **settings: str,
) -> World:
    """Make a world whose model knows what these words mean.

    `facts`: a text that a prompt contains -> the fact that the model makes of it. `lines`: a fact -> (file, section) of the
    line that it becomes; without an entry, `LEARNED.md` and `Preferences`. `corrected`: the texts that are corrections.
    """
    made = Answers(facts, lines or {}, corrected)
    return World(
        tmp, [(EXTRACTION, made.extract), (SYNTHESIS, made.synthesize)], clock=clock, settings=settings
    )


class Answers:
    """Answers to the two prompts of learning."""

    def __init__(
        self, facts: Mapping[str, str], lines: Mapping[str, tuple[str, str]], corrected: Sequence[str]
    ) -> None:
        self.facts, self.lines, self.corrected = facts, lines, corrected

    def extract(self, request: ModelRequest) -> str:
        """A fact for each message that contains one of the texts."""
        found = []
        messages = re.findall(_MESSAGE, request.prompt, re.DOTALL | re.MULTILINE)
        for number, _, words in messages:
            for text, fact in self.facts.items():
                if text in words:
                    mark = "Corrected: " if text in self.corrected else ""
                    found.append(f"[{number}] {mark}{fact}")
        return "\n".join(found) or "NONE"

    def synthesize(self, request: ModelRequest) -> str:
        """A line for each of the facts that the prompt lists."""
        found = []
        for number, text in re.findall(r"^(\d+)\. (.+)$", request.prompt, re.MULTILINE):
            for fact in self.facts.values():
                if fact in text:
                    file, section = self.lines.get(fact, ("LEARNED.md", "Preferences"))
                    found.append(f"FILE: {file}\nSECTION: {section}\nFACT: {fact}\nFROM: {number}\n")
        return "\n".join(found) or "NONE"
