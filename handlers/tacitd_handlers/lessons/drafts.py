"""Lessons that the model drafts from corrections: prompt, parsing, decision, and storage (SPEC E-30, E-32).

Everything up to `decide_draft` is pure. The caller that runs the synthesis appends `prompt_addition` to its prompt,
passes the answer to `parse_drafts`, parses the rest as before, and passes the drafts to `take`. The grounding of
drafts is in `draft_extension.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from msgspec import Struct
from msgspec.structs import replace

from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.redact import has_secret
from tacitd_handlers.lessons import lesson_operations, pattern, scopes
from tacitd_handlers.lessons.lesson_fold import DELETED, WAITING, FoldedLessons, Lesson
from tacitd_handlers.lessons.lesson_origins import LessonOrigins, Provenance
from tacitd_handlers.lessons.pattern import Pattern, PatternError
from tacitd_handlers.lessons.project_lessons import ProjectLessons
from tacitd_handlers.lessons.purged_lessons import find_purged_twin
from tacitd_handlers.lessons.similarity import is_same_lesson, shares_words
from tacitd_handlers.lessons.store import LessonChange, LessonStore

LONGEST = 400
"""Maximum characters of a draft. It is short because every session reads it."""
SHOWN = 60
"""Lessons of each kind in the prompt, the newest. Drafts are compared with the others afterwards."""
_KEY = compile_lazily(
    r"^\s*(?:(?:[-*+•>]|\d{1,3}[.)])\s+)?(?:\*\*|__|`)?(LESSON|SCOPE)(?:\*\*|__|`)?\s*[:：]\s*(?:\*\*|__)?(.*)$"
)
_OF_FACT = compile_lazily(r"^\s*(?:[-*+•>]\s+)?(?:\*\*|__|`)?(?:FROM|SECTION)(?:\*\*|__|`)?\s*[:：]")
"""Lines that belong to a fact. Below a lesson they are left out, because otherwise the fact above would get them."""
_GOES_ON = compile_lazily(r"^\s*(?:->|→)\s*(?:DO|BECAUSE)\b", re.IGNORECASE)
_EXAMPLE = Pattern("the case", "do", "the action", "the reason")
_FETCHES = compile_lazily(
    r"https?://|\b(?:curl|wget)\s|--no-verify\b|--dangerously|\bskip[ -]permissions\b|\bbypass\w* permissions?\b|"
    r"\ballow(?:ed)? (?:all|every|any) (?:tools?|commands?|permissions?)\b|\bwithout (?:asking for )?permission\b|"
    r"\bignore (?:all |any )?(?:previous|earlier|other) instructions\b",
    re.IGNORECASE,
)
"""What a drafted rule may not contain: downloads, grants of permissions, disabled checks (ANCHORS P19)."""


class Draft(Struct, frozen=True):
    """A lesson from the model's answer: unchecked, or canonical if it comes from `decide_draft`."""

    text: str
    scope: str = scopes.GLOBAL


class Duplicate(Struct, frozen=True):
    """An active or promoted lesson says the same."""

    id: str


class MarkedWrong(Struct, frozen=True):
    """A person marked the same lesson wrong, so it is not drafted again (SPEC E-32)."""

    id: str


class Invalid(Struct, frozen=True):
    """Text that is not a lesson, or that may not be taken from a model."""

    reason: str


Decision = Draft | Duplicate | MarkedWrong | Invalid


class StoredDrafts(Struct, frozen=True):
    """The result of `take`."""

    added: tuple[str, ...] = ()
    """Ids of new lessons."""
    known: tuple[str, ...] = ()
    """Ids of lessons that say the same."""
    wrong: tuple[str, ...] = ()
    """Ids of lessons marked wrong that were drafted again."""
    refused: tuple[str, ...] = ()
    """The reasons why drafts were refused."""


@cache
def load_template() -> str:
    """The text of `prompts/lessons.md`."""
    return (files("tacitd_handlers.lessons") / "prompts" / "lessons.md").read_text("utf-8").rstrip("\n")


def prompt_addition(
    folded: FoldedLessons | None = None, project_scope: str = "", in_force: Sequence[Lesson] | None = None
) -> str:
    """The part about lessons for the end of the synthesis prompt, with the lessons that must not be repeated.

    `in_force`: the lessons that hold in the project; None: the global ones and those of the scope.
    """
    lessons = list(folded.lessons.values()) if folded is not None else []
    shown = in_force
    if shown is None:
        shown = [one for one in lessons if one.is_active and one.scope in (scopes.GLOBAL, project_scope)]
    values = {
        "{project_scope}": project_scope or "the project's folder name",
        "{in_force}": _fenced(shown[-SHOWN:]),
        "{marked_wrong}": _fenced(
            [one for one in lessons if one.status == DELETED and not one.is_purged][-SHOWN:]
        ),
    }
    # One pass, because a lesson's text may contain braces.
    return re.sub(r"\{[a-z_]+\}", lambda found: values.get(found[0], found[0]), load_template()) + "\n"


def parse_drafts(answer: str) -> tuple[tuple[Draft, ...], str]:
    """The drafts in an answer, and the answer without their lines."""
    drafts: list[Draft] = []
    rest: list[str] = []
    # The key of the previous line. A SCOPE line belongs only to a LESSON directly above it, and a wrapped lesson
    # continues on a line that starts with an arrow. Blank lines between them are ignored.
    last = ""
    is_below = False
    for line in answer.splitlines():
        found = _KEY.match(line)
        if found is None and last == "LESSON" and _GOES_ON.match(line):
            drafts[-1] = replace(drafts[-1], text=f"{drafts[-1].text} {line.strip()}")
            continue
        if is_below and _OF_FACT.match(line):
            continue
        if found is None or (found[1] == "SCOPE" and last != "LESSON"):
            rest.append(line)
            last = "" if line.strip() else last
            is_below = is_below and not line.strip()
            continue
        last = found[1]
        value = re.sub(r"(?:\*\*|__|`)\s*$", "", found[2]).strip()
        if last == "LESSON":
            drafts.append(Draft(value))
            is_below = True
        elif last == "SCOPE":
            drafts[-1] = replace(drafts[-1], scope=value)
    return tuple(dict.fromkeys(drafts)), "\n".join(rest).strip("\n")


def decide_draft(draft: Draft, folded: FoldedLessons, project: ProjectLessons | None = None) -> Decision:
    """Decide about a draft, given all lessons; one of another project than `project` is no duplicate.

    A person's mark takes precedence (SPEC E-32).
    """
    checked = _checked(draft)
    if isinstance(checked, Invalid):
        return checked
    parts, scope = checked
    if (purged := find_purged_twin(parts, folded)) is not None:
        return MarkedWrong(purged.id)
    twins = [lesson for lesson in folded.lessons.values() if is_same_lesson(parts, lesson.parts)]
    for lesson in twins:
        if lesson.status == DELETED:
            return MarkedWrong(lesson.id)
    for lesson in twins:
        is_near = lesson.scope == scope or scopes.GLOBAL in (lesson.scope, scope)
        is_of_other = project is not None and project.is_of_other(lesson)
        if is_near and not is_of_other and lesson.status != WAITING:
            return Duplicate(lesson.id)
    return Draft(pattern.format_pattern(parts), scope)


def find_fault(draft: Draft) -> str:
    """The reason why a draft may not be taken from a model; "" for a valid one."""
    checked = _checked(draft)
    return checked.reason if isinstance(checked, Invalid) else ""


def store_drafts(
    store: LessonStore, drafts: Sequence[Draft], provenance: Provenance, project: ProjectLessons | None = None
) -> StoredDrafts:
    """Add the new drafts with their origin. Repeating it with the same drafts adds nothing.

    Raises OSError, LogDamagedError. Lessons added before the error stay, and are recognised in the next call.
    """
    added: list[str] = []
    known: list[str] = []
    wrong: list[str] = []
    refused: list[str] = []
    origins = LessonOrigins(store.state_dir)
    with store.begin_change() as change:
        now = change.folded
        for draft in drafts:
            match decide_draft(draft, now, project):
                case Draft() as sound:
                    lesson = _written(change, sound, store.today)
                    own = tuple(line for line in provenance.lines if shares_words(lesson.parts, line))
                    origins.add(lesson.id, replace(provenance, lines=own))
                    now = now.with_records([lesson.to_record()])
                    added.append(lesson.id)
                case Duplicate(id):
                    known.append(id)
                    _complete_origin(now.lessons[id], draft, provenance, origins)
                case MarkedWrong(id):
                    wrong.append(id)
                case Invalid(reason):
                    refused.append(reason)
    return StoredDrafts(tuple(added), tuple(known), tuple(wrong), tuple(refused))


def _written(change: LessonChange, draft: Draft, today: str) -> Lesson:
    return lesson_operations.append_lesson(
        change, pattern.parse_pattern(draft.text), draft.scope, "ai", today
    )


def _complete_origin(lesson: Lesson, draft: Draft, provenance: Provenance, origins: LessonOrigins) -> None:
    """Note the origin of a known lesson if it has none that is complete."""
    origin = origins.find_origin(lesson.id)
    own = origin is not None and origin["session"] == provenance.session
    # The origin has no words if an agent added the lesson by command in this session. It is missing if a crash came
    # between the lesson and its origin, and has no session if the command ran in none. This draft completes it.
    wordless = own and not (origin or {}).get("words")
    is_unknown = origin is None or not origin["session"]
    cut_short = is_unknown and lesson.source == "ai" and lesson.text == _canonical(draft)
    if wordless or cut_short:
        origins.add(lesson.id, provenance)


def _canonical(draft: Draft) -> str:
    checked = _checked(draft)
    return "" if isinstance(checked, Invalid) else pattern.format_pattern(checked[0])


def _checked(draft: Draft) -> tuple[Pattern, str] | Invalid:
    try:
        parts = pattern.parse_pattern(draft.text)
    except PatternError as error:
        return Invalid(f"{error.what}: {draft.text[:120]}")
    text = pattern.format_pattern(parts)
    scope = scopes.normalise_scope(draft.scope)
    if scope is None:
        return Invalid(f"{draft.scope[:80]!r} is not a scope")
    if len(text) > LONGEST:
        return Invalid(f"it is longer than {LONGEST} characters")
    if pattern.normalise_pattern(parts) == pattern.normalise_pattern(_EXAMPLE) or "{" in scope:
        return Invalid("it repeats the prompt")
    if has_secret(text):
        return Invalid("it contains what looks like a secret")
    if _FETCHES.search(text):
        return Invalid("it downloads something, grants a permission, or disables a check")
    return parts, scope


def _fenced(lessons: Sequence[Lesson]) -> str:
    lines = "\n".join(f"{lesson.id} ({lesson.scope}) {lesson.text}" for lesson in lessons)
    if not lines:
        return "(none)"
    longest = max((len(run) for run in re.findall(r"`+", lines)), default=0)
    bar = "`" * max(3, longest + 1)
    return f"{bar}\n{lines}\n{bar}"
