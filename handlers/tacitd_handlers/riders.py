"""Who rides along on another slice's question to the model: one call for both, instead of one each.

A rider adds a part to the prompt, takes its own part out of the answer, and is told what it found as an event of its
own (`tacitd.events.Told`), after the commit in which it stands. It never touches what the question was about. The table
names modules, so that slices do not know each other; each is imported when a question is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, cast

from loguru import logger

from tacitd_handlers.shared.grounding import Sources

EXTRACTION = ("tacitd_handlers.profile.rider",)
"""Ride on Stage 1, over the words that a person typed."""
SYNTHESIS = ("tacitd_handlers.lessons.rider",)
"""Ride on Stage 2, over the facts of a project."""


class Rider(Protocol):
    """What such a module holds."""

    name: str
    """The slice that is told."""

    def addition(self, project: str) -> str:
        """Markdown that is put below the prompt; "" rides along on nothing now. `project` is its root."""
        ...

    def split(self, answer: str) -> tuple[Any | None, str]:
        """What it found (JSON; None for nothing) and the answer without its part. Raises nothing."""
        ...

    def ground(self, found: Any, sources: Sources) -> GroundedFinding:
        """What of a finding was said, by the words or facts that the question was about (SPEC S-67). Raises nothing."""
        ...


@dataclass(frozen=True, slots=True)
class RefusedPart:
    """A part of a finding that is not passed on."""

    kind: str
    """What it would have become: `profile`, `lesson`."""
    text: str
    reason: str
    waits: bool = False
    """Whether a person is to decide; otherwise it is refused."""


@dataclass(frozen=True, slots=True)
class GroundedFinding:
    """What of a finding was said, and what was not."""

    found: Any
    """JSON; None: nothing is left."""
    refused: tuple[RefusedPart, ...] = ()


@dataclass(frozen=True, slots=True)
class Parted:
    """An answer, and what riders found in it."""

    answer: str
    found: Mapping[str, Any]


def riders(table: Iterable[str]) -> list[Rider]:
    """Those that can be imported: a broken rider must not keep the question from being asked."""
    made: list[Rider] = []
    for where in table:
        try:
            made.append(cast(Rider, import_module(where)))
        except Exception as error:  # noqa: BLE001  whatever it raises, the question goes on without it
            logger.opt(exception=error).error("{} cannot ride along", where)
    return made


def asked_besides(aboard: Iterable[Rider], project: str) -> list[str]:
    """What the riders ask, each its part."""
    return [text for rider in aboard if (text := rider.addition(project).strip())]


def laden(prompt: str, aboard: Iterable[Rider], project: str) -> str:
    """The prompt with what the riders ask."""
    return "\n\n".join([prompt, *asked_besides(aboard, project)])


def parted(answer: str, aboard: Iterable[Rider]) -> Parted:
    """Given the answer, take out each rider's part, in their order."""
    found: dict[str, Any] = {}
    for rider in aboard:
        mine, answer = rider.split(answer)
        if mine:
            found[rider.name] = mine
    return Parted(answer, found)


def ground_findings(
    found: Mapping[str, Any], aboard: Iterable[Rider], sources: Sources
) -> tuple[dict[str, Any], list[RefusedPart]]:
    """Given findings by rider, return what of them was said, and every part that was not."""
    kept: dict[str, Any] = {}
    refused: list[RefusedPart] = []
    for rider in aboard:
        if rider.name not in found:
            continue
        judged = rider.ground(found[rider.name], sources)
        refused += judged.refused
        if judged.found:
            kept[rider.name] = judged.found
    return kept, refused
