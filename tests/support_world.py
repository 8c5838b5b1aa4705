"""The worlds of the stories, and the answers that their model gives, in the form that the prompts of today ask for.

A story says what the model makes of typed words and which line that becomes; only this module knows the forms. A fact says
no more than the words that were typed, so that no check of answers refuses it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tacitd.model.port import ModelRequest
from tacitd.testing import FakeClock, Reply, World

EXTRACTION, SYNTHESIS = "opinion mining", "knowledge synthesis"
DOCUMENTS, SESSION = "knowledge extraction", "Say what whoever goes on with it has to know"
_MESSAGE = r"^Message (\d+)$(?:(?!^Message \d+$).)*?^What the person wrote:\n(`{3,})\n(.*?)\n\2$"


@dataclass(frozen=True, slots=True)
class Fact:
    """What the model makes of words that a person typed."""

    text: str
    """The fact, and the line that it becomes."""
    file: str = "LEARNED.md"
    section: str = "Coding"
    corrected: bool = False
    """Whether the words correct the assistant."""
    replaces: str = ""
    """The line that its line replaces."""
    lesson: str = ""
    """The pattern of a lesson that is drafted with it."""
    scope: str = "global"
    is_left_out: bool = False
    """Whether no line is made of it."""


Facts = Mapping[str, str | Fact]
"""A text that a prompt contains -> what the model makes of it."""
Profile = Mapping[str, Mapping[str, Any]]
"""A text that a prompt contains -> what the model says of the person, as in profile.json, with `noLonger`."""


class Begin(Protocol):
    """Begins the world of a story, as `make_world` makes it; the fixture `begin`."""

    def __call__(
        self,
        facts: Facts | None = None,
        *,
        profile: Profile | None = None,
        summary: Mapping[str, Any] | None = None,
        answers: Sequence[tuple[str, Reply]] = (),
        clock: FakeClock | None = None,
        packages: Sequence[Path] = (),
        settings: Mapping[str, str] | None = None,
    ) -> World:
        """The story's world. A story has one."""
        ...


def make_world(
    tmp: Path,
    facts: Facts | None = None,
    *,
    profile: Profile | None = None,
    summary: Mapping[str, Any] | None = None,
    answers: Sequence[tuple[str, Reply]] = (),
    clock: FakeClock | None = None,
    packages: Sequence[Path] = (),
    settings: Mapping[str, str] | None = None,
    kind: type[World] = World,
) -> World:
    """Make a world whose model knows what these words mean.

    `summary`: the answer to the question for a session's summary; without it, there is none. `answers` come before all
    others. `settings`: variables without `TACITD_`.
    """
    made = Answers(facts or {}, profile or {}, summary or {})
    return kind(
        tmp,
        [
            *answers,
            (EXTRACTION, made.extract),
            (SYNTHESIS, made.synthesize),
            (DOCUMENTS, made.summarize_documents),
            (SESSION, made.summarize_session),
        ],
        clock=clock,
        packages=packages,
        settings=settings,
    )


class Answers:
    """Answers to the prompts of learning and of continuity."""

    def __init__(self, facts: Facts, profile: Profile, summary: Mapping[str, Any]) -> None:
        self.facts = {words: Fact(fact) if isinstance(fact, str) else fact for words, fact in facts.items()}
        self.profile, self.summary = profile, summary

    def extract(self, request: ModelRequest) -> str:
        """A fact for each message that contains one of the texts, and what the messages say of the person."""
        found, person = list[str](), dict[str, Any]()
        for number, _, words in re.findall(_MESSAGE, request.prompt, re.DOTALL | re.MULTILINE):
            heard = [fact for text, fact in self.facts.items() if text in words]
            found += [_write_fact(request.prompt, int(number), words, fact) for fact in heard]
            for text, values in self.profile.items():
                if text in words:
                    person |= values
        answer = "\n".join(found) or "NONE"
        return f"{answer}\nPROFILE: {json.dumps(person)}" if "PROFILE:" in request.prompt else answer

    def synthesize(self, request: ModelRequest) -> str:
        """A line for each of the facts that the prompt lists, and the lesson that belongs to it."""
        found = []
        for number, text in re.findall(r"^(\d+)\. (.+)$", request.prompt, re.MULTILINE):
            for fact in self.facts.values():
                if fact.text in text and not fact.is_left_out:
                    found.append(_write_line(request.prompt, int(number), fact))
                    if fact.lesson and fact.lesson.split("->")[0] not in request.prompt:
                        found.append(f"LESSON: {fact.lesson}\nSCOPE: {fact.scope}\n")
        return "\n".join(dict.fromkeys(found)) or "NONE"

    def summarize_documents(self, request: ModelRequest) -> str:
        """The documents' own list items."""
        documents = request.prompt.partition("Documents:")[2].partition("How to read")[0]
        return "## Coding\n" + "\n".join(re.findall(r"^- .+$", documents, re.MULTILINE))

    def summarize_session(self, request: ModelRequest) -> str:
        """The summary that was given."""
        return json.dumps(self.summary) if self.summary else "NONE"


def _write_fact(prompt: str, number: int, words: str, fact: Fact) -> str:
    """A fact in the form that the prompt asks for: a JSON object with the words that were typed, or a line with marks."""
    known = prompt.partition("lready known")[2].partition("Message 1\n")[0]
    if "one JSON object a line" not in prompt:
        marks = "Corrected: " * fact.corrected + "AGAIN: " * (fact.text in known)
        return f"[{number}] {marks}{fact.text}"
    line: dict[str, Any] = {"message": number, "words": words, "corrected": fact.corrected}
    again = re.search(rf"^(\d+)\. {re.escape(fact.text)}$", known, re.MULTILINE)
    return json.dumps(line | ({"known": int(again[1])} if again else {"fact": fact.text}))


def _write_line(prompt: str, number: int, fact: Fact) -> str:
    """A line in the form that the prompt asks for."""
    line: dict[str, Any] = {"FILE": fact.file, "SECTION": fact.section, "FACT": fact.text, "FROM": [number]}
    replaced = re.search(rf"^(L\d+)\. {re.escape(fact.replaces)}$", prompt, re.MULTILINE)
    return json.dumps(line | ({"REPLACES": [replaced[1]]} if fact.replaces and replaced else {}))


def list_log(world: World, name: str) -> list[dict[str, Any]]:
    """The records of a log. A part of a line, which a kill leaves, is none, as for its readers; without a kill the recorded files show
    that there is none."""
    found = list[dict[str, Any]]()
    for line in world.read(name).splitlines():
        with suppress(ValueError):
            found.append(json.loads(line))
    return found
