"""The part of lessons in the synthesis: the addition to its prompt, and the split of its answer.

One model call serves both. Drafts are grounded here (SPEC S-67). Their rules and storage are in `drafts.py`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from loguru import logger

from tacitd.clock import SystemClock
from tacitd.errors import LogDamagedError
from tacitd_handlers.lessons.drafts import (
    Draft,
    find_fault,
    parse_again,
    parse_drafts,
    prompt_addition,
    record_corrections,
    store_drafts,
)
from tacitd_handlers.lessons.lesson_origins import Provenance
from tacitd_handlers.lessons.scopes import scope_of_name
from tacitd_handlers.lessons.store import LessonStore
from tacitd_handlers.shared.grounding import (
    Grounded,
    GroundingSources,
    GroundingVerdict,
    Undecided,
    explain_verdict,
    judge_grounding,
)
from tacitd_handlers.shared.prompt_extensions import GroundedFinding, RefusedPart

name = "lessons"
"""The handler that gets the findings."""


def render_addition(project: str) -> str:
    """The text to append to the prompt, with the active lessons and those marked wrong; "" if they cannot be read."""
    try:
        lessons = LessonStore.from_environ(os.environ, SystemClock()).read_lessons()
    except (OSError, LogDamagedError) as error:
        logger.warning("lessons cannot be read, so none are drafted: {}", error)
        return ""
    return prompt_addition(lessons, scope_of_name(Path(project).name))


def extract_finding(answer: str) -> tuple[Any | None, str]:
    """The drafts and the ids of lessons corrected again, and the answer without their lines.

    Never None: that a session was examined makes "not corrected again" a known fact.
    """
    drafts, rest = parse_drafts(answer)
    found = {"drafts": [[draft.text, draft.scope] for draft in drafts], "again": list(parse_again(answer))}
    return found, rest


def ground_finding(found: Any, sources: GroundingSources) -> GroundedFinding:
    """The findings without the drafts that are invalid or that the facts do not support (SPEC S-67)."""
    drafts, refused = list[list[str]](), list[RefusedPart]()
    for text, scope in found.get("drafts", ()):
        fault = find_fault(Draft(text, scope))
        verdict = _judge_parts(text, sources)
        if fault:
            refused.append(RefusedPart("lesson", text, fault))
        elif isinstance(verdict, Grounded):
            drafts.append([text, scope])
        else:
            refused.append(
                RefusedPart("lesson", text, explain_verdict(verdict), isinstance(verdict, Undecided))
            )
    return GroundedFinding({**found, "drafts": drafts}, tuple(refused))


def _judge_parts(text: str, sources: GroundingSources) -> GroundingVerdict:
    """The verdict on the first part of a draft that is not grounded, otherwise Grounded."""
    verdicts = (judge_grounding(part, sources) for part in re.split(r"->|→", text))
    return next((verdict for verdict in verdicts if not isinstance(verdict, Grounded)), Grounded())


def store_finding(
    store: LessonStore, told: Mapping[str, Any], session: str, at: float, project: str
) -> tuple[str, ...]:
    """Store the findings, and return the ids of new lessons. Repeating it adds nothing.

    `at`: seconds since 1970, UTC. `project`: the project's root. Raises OSError, LogDamagedError.
    """
    added: list[str] = []
    prompts, words = tuple(map(str, told.get("prompts", ()))), tuple(map(str, told.get("words", ())))
    sessions = [str(one) for one in told.get("sessions", ())] or [session]
    facts = [str(fact) for fact in told.get("facts", ())]
    # Messages that were committed by an older version do not tell which facts are corrections.
    corrections = [str(fact) for fact in told.get("corrected", facts)]
    for found in told.get("found", ()):
        again = [str(id) for id in found.get("again", ())]
        record_corrections(store, corrections, again, sessions[-1], at)
        # A lesson is made of a correction only (SPEC E-30). What somebody likes or a thing is becomes a line.
        given = found.get("drafts", ()) if corrections or "corrected" not in told else ()
        drafts = [Draft(str(text), str(scope)) for text, scope in given]
        made = store_drafts(
            store, drafts, Provenance(sessions[-1], at, project, prompts, words or tuple(facts))
        )
        added += made.added
        for reason in made.refused:
            logger.info("a drafted lesson was refused: {}", reason)
    return tuple(added)
