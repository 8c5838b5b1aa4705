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
from msgspec.structs import replace

from tacitd.clock import SystemClock
from tacitd.errors import LogDamagedError
from tacitd_handlers.lessons.drafts import (
    Draft,
    find_fault,
    parse_drafts,
    prompt_addition,
    store_drafts,
)
from tacitd_handlers.lessons.lesson_origins import LessonOrigins, Provenance
from tacitd_handlers.lessons.pattern import format_pattern, parse_pattern
from tacitd_handlers.lessons.project_lessons import ProjectLessons
from tacitd_handlers.lessons.scopes import GLOBAL
from tacitd_handlers.lessons.store import LessonStore
from tacitd_handlers.shared.prompt_extensions import GroundedFinding, RefusedPart
from tacitd_handlers.shared.words import Refused, Sources, word_line

name = "lessons"
"""The handler that gets the findings."""


def render_addition(project: str) -> str:
    """The text to append to the prompt, with the active lessons and those marked wrong; "" if they cannot be read."""
    try:
        lessons = LessonStore.from_environ(os.environ, SystemClock()).read_lessons()
    except (OSError, LogDamagedError) as error:
        logger.warning("lessons cannot be read, so none are drafted: {}", error)
        return ""
    here = ProjectLessons.from_environ(os.environ, Path(project))
    scope = here.names[0]
    in_force = [
        one if one.scope == GLOBAL else replace(one, scope=scope)
        for one in here.list_in_force(lessons.list_active())
    ]
    return prompt_addition(lessons, scope, in_force)


def extract_finding(answer: str) -> tuple[Any | None, str]:
    """The drafts, and the answer without their lines."""
    drafts, rest = parse_drafts(answer)
    return {"drafts": [[draft.text, draft.scope] for draft in drafts]} if drafts else None, rest


def ground_finding(found: Any, sources: Sources) -> GroundedFinding:
    """The findings without the drafts that are invalid or that the facts do not support (SPEC S-67)."""
    drafts, refused = list[list[Any]](), list[RefusedPart]()
    for text, scope, *_ in found.get("drafts", ()):
        fault = find_fault(Draft(text, scope))
        bad = _check_draft(text, sources)
        if fault:
            refused.append(RefusedPart("lesson", text, fault))
        elif bad is None:
            # In the form in which it is stored, so that a purge of the lesson finds it in the record of the findings too.
            drafts.append([format_pattern(parse_pattern(text)), scope])
        else:
            refused.append(RefusedPart("lesson", text, bad.reason, bad.waits))
    return GroundedFinding({"drafts": drafts} if drafts else None, tuple(refused))


def _check_draft(text: str, sources: Sources) -> Refused | None:
    """Why a draft, or its action alone, says more than the facts; None if neither does."""
    _, *rest = re.split(r"->|→", text, maxsplit=2)
    action = rest[0] if rest else text
    return word_line(text, sources) or word_line(action, sources)


def store_finding(
    store: LessonStore, message: Mapping[str, Any], session: str, at: float, project: str
) -> tuple[str, ...]:
    """Store the findings, and return the ids of new lessons. Repeating it adds nothing.

    `at`: seconds since 1970, UTC. `project`: the project's root. Raises OSError, LogDamagedError.
    """
    added: list[str] = []
    prompts, words = tuple(map(str, message.get("prompts", ()))), tuple(map(str, message.get("words", ())))
    sessions = [str(one) for one in message.get("sessions", ())] or [session]
    facts = [str(fact) for fact in message.get("facts", ())]
    # Messages that were committed by an older version do not tell which facts are corrections.
    corrections = [str(fact) for fact in message.get("corrected", facts)]
    here = ProjectLessons(Path(project), LessonOrigins(store.state_dir).read_all()) if project else None
    lines = tuple(map(str, message.get("lines", ())))
    for found in message.get("found", ()):
        # A lesson is made of a correction only (SPEC E-30). What somebody likes or a thing is becomes a line.
        is_correction = bool(corrections) or "corrected" not in message
        given = found.get("drafts", ()) if is_correction else ()
        drafts = [Draft(str(text), str(scope)) for text, scope, *_ in given]
        provenance = Provenance(sessions[-1], at, project, prompts, words or tuple(facts), lines)
        made = store_drafts(store, drafts, provenance, here)
        added += made.added
        for reason in made.refused:
            logger.info("a drafted lesson was refused: {}", reason)
    return tuple(added)
