"""Lessons that the model drafts from corrections: asked for, read, decided, and taken into the store (SPEC E-30, E-32).

The part up to `decide_draft` is pure. Whoever runs the synthesis adds `prompt_addition` to its prompt, gives the answer
to `parse_drafts`, reads the rest as before, and gives the drafts to `take`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from tacitd.text.redact import has_secret
from tacitd_handlers.lessons import changes, pattern, scopes
from tacitd_handlers.lessons.alike import alike
from tacitd_handlers.lessons.evidence import Evidence
from tacitd_handlers.lessons.folding import DELETED, Folded, Lesson, number_of
from tacitd_handlers.lessons.origins import Origins, Provenance
from tacitd_handlers.lessons.pattern import Pattern, PatternError
from tacitd_handlers.lessons.store import Change, Store

LONGEST = 400
"""Characters of a draft: it is read in every session."""
SHOWN = 60
"""Lessons of each kind that the prompt names, the newest: those that are left out are still compared afterwards."""
_KEY = re.compile(
    r"^\s*(?:(?:[-*+•>]|\d{1,3}[.)])\s+)?(?:\*\*|__|`)?(LESSON|SCOPE|AGAIN)(?:\*\*|__|`)?\s*[:：]\s*(?:\*\*|__)?(.*)$"
)
_GOES_ON = re.compile(r"^\s*(?:->|→)\s*(?:DO|BECAUSE)\b", re.IGNORECASE)
_EXAMPLE = Pattern("the case", "do", "the action", "the reason")
_FETCHES = re.compile(
    r"https?://|\b(?:curl|wget)\s|--no-verify\b|--dangerously|\bskip[ -]permissions\b|\bbypass\w* permissions?\b|"
    r"\ballow(?:ed)? (?:all|every|any) (?:tools?|commands?|permissions?)\b|\bwithout (?:asking for )?permission\b|"
    r"\bignore (?:all |any )?(?:previous|earlier|other) instructions\b",
    re.IGNORECASE,
)
"""What a rule that was not typed as a rule may not do: fetch, grant permissions, switch checks off (ANCHORS P19)."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What the model wrote: not checked yet, or, from `decide_draft`, canonical."""

    text: str
    scope: str = scopes.GLOBAL


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A lesson in force, or a promoted one, says it already."""

    id: str


@dataclass(frozen=True, slots=True)
class MarkedWrong:
    """A person marked it wrong: it never comes back by itself."""

    id: str


@dataclass(frozen=True, slots=True)
class Invalid:
    """It is no lesson, or none that may be taken from a model."""

    reason: str


Decision = Draft | Duplicate | MarkedWrong | Invalid


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of drafts."""

    added: tuple[str, ...] = ()
    """Ids of new lessons."""
    known: tuple[str, ...] = ()
    """Ids of lessons that say it already; where they came from another session, they count as corrected again."""
    wrong: tuple[str, ...] = ()
    """Ids of lessons marked wrong that would have come back."""
    refused: tuple[str, ...] = ()
    """Why the others were not taken."""


@cache
def template() -> str:
    """The addition's text as it stands in its file."""
    return (files("tacitd_handlers.lessons") / "prompts" / "lessons.md").read_text("utf-8").rstrip("\n")


def prompt_addition(folded: Folded | None = None, project_scope: str = "") -> str:
    """What the synthesis prompt says of lessons, with those it must not repeat. To be put behind the prompt."""
    lessons = list(folded.lessons.values()) if folded is not None else []
    told = [lesson for lesson in lessons if lesson.active and lesson.scope in (scopes.GLOBAL, project_scope)]
    told += [lesson for lesson in lessons if lesson.active and lesson not in told][-SHOWN // 2 :]
    values = {
        "{project_scope}": project_scope or "the project's folder name",
        "{in_force}": _fenced(told[-SHOWN:]),
        "{marked_wrong}": _fenced([lesson for lesson in lessons if lesson.status == DELETED][-SHOWN:]),
    }
    # One pass: a lesson's text may hold braces.
    return re.sub(r"\{[a-z_]+\}", lambda found: values.get(found[0], found[0]), template()) + "\n"


def parse_drafts(answer: str) -> tuple[tuple[Draft, ...], str]:
    """Given an answer, return its drafts, and the answer without their lines."""
    drafts: list[Draft] = []
    rest: list[str] = []
    last = ""
    for line in answer.splitlines():
        found = _KEY.match(line)
        if found is None and last == "LESSON" and _GOES_ON.match(line):
            drafts[-1] = Draft(f"{drafts[-1].text} {line.strip()}", drafts[-1].scope)
            continue
        if found is None or (found[1] == "SCOPE" and last != "LESSON"):
            rest.append(line)
            last = "" if line.strip() else last
            continue
        last = found[1]
        value = re.sub(r"(?:\*\*|__|`)\s*$", "", found[2]).strip()
        if last == "LESSON":
            drafts.append(Draft(value))
        elif last == "SCOPE":
            drafts[-1] = Draft(drafts[-1].text, value)
    return tuple(dict.fromkeys(drafts)), "\n".join(rest).strip("\n")


def parse_again(answer: str) -> tuple[str, ...]:
    """The ids of lessons in force that the answer says were corrected once more."""
    found = (match for line in answer.splitlines() if (match := _KEY.match(line)) and match[1] == "AGAIN")
    ids = (part for match in found for part in re.findall(r"\d+", match[2]))
    return tuple(dict.fromkeys(id for id in ids if number_of(id) is not None))


def decide_draft(draft: Draft, folded: Folded) -> Decision:
    """What is to become of a draft, given all lessons. A person's mark goes before everything (SPEC E-32)."""
    checked = _checked(draft)
    if isinstance(checked, Invalid):
        return checked
    parts, scope = checked
    twins = [lesson for lesson in folded.lessons.values() if alike(parts, lesson.parts)]
    for lesson in twins:
        if lesson.status == DELETED:
            return MarkedWrong(lesson.id)
    for lesson in twins:
        if lesson.scope == scope or scopes.GLOBAL in (lesson.scope, scope):
            return Duplicate(lesson.id)
    return Draft(pattern.format(parts), scope)


def find_fault(draft: Draft) -> str:
    """Return why a draft is no lesson that may be taken from a model; "" for a sound one."""
    checked = _checked(draft)
    return checked.reason if isinstance(checked, Invalid) else ""


def take(store: Store, drafts: Sequence[Draft], provenance: Provenance) -> Taken:
    """Add the drafts that are new, with where they came from. Again with the same drafts it adds nothing.

    Raises OSError, LogDamagedError: what was added until then stays, and is known the next time.
    """
    added: list[str] = []
    known: list[str] = []
    wrong: list[str] = []
    refused: list[str] = []
    origins, evidence = Origins(store.beside), Evidence(store.beside)
    with store.change() as change:
        now = change.folded
        for draft in drafts:
            match decide_draft(draft, now):
                case Draft() as sound:
                    lesson = _written(change, sound, store.today)
                    origins.add(lesson.id, provenance)
                    now = now.plus([lesson.record()])
                    added.append(lesson.id)
                case Duplicate(id):
                    known.append(id)
                    _said_again(now.lessons[id], draft, provenance, origins, evidence)
                case MarkedWrong(id):
                    wrong.append(id)
                case Invalid(reason):
                    refused.append(reason)
    return Taken(tuple(added), tuple(known), tuple(wrong), tuple(refused))


def note(
    store: Store, facts: Iterable[str], again: Iterable[str], session: str, at: float
) -> tuple[str, ...]:
    """Say what a session's facts, and the answer's AGAIN lines, tell of lessons in force; return those corrected again.

    To be called once for each session whose facts were synthesised, before `take`: that a session was looked at is what
    makes "not corrected again" known.
    """
    from tacitd_handlers.lessons.alike import corrects

    evidence, folded, given = Evidence(store.beside), store.folded(), list(facts)
    origins = Origins(store.beside).all()
    found: dict[str, str] = {}
    for lesson in folded.active():
        if str(origins.get(int(lesson.id), {}).get("session", "")) != session:
            said = next((fact for fact in given if corrects(fact, lesson.parts)), None)
            if said is not None:
                found[lesson.id] = said
    for id in again:
        named = folded.get(id)
        if named is not None and named.active:
            found.setdefault(named.id, "")
    for id, words in found.items():
        evidence.corrected_again(id, at, session, words)
    evidence.looked(at, session)
    return tuple(found)


def _written(change: Change, draft: Draft, today: str) -> Lesson:
    return changes.write(change, pattern.parse(draft.text), draft.scope, "ai", today)


def _said_again(
    lesson: Lesson, draft: Draft, provenance: Provenance, origins: Origins, evidence: Evidence
) -> None:
    """A draft that is known: what this session brought already, or a correction that had to be repeated."""
    origin = origins.of(lesson.id)
    own = origin is not None and origin["session"] == provenance.session
    wordless = own and not (origin or {}).get("words")  # an agent added it in this session, by command
    cut_short = origin is None and lesson.source == "ai" and lesson.text == _canonical(draft)
    if wordless or cut_short:
        origins.add(lesson.id, provenance)
    elif lesson.active and not own:
        evidence.corrected_again(lesson.id, provenance.at, provenance.session, " ".join(provenance.words[:1]))


def _canonical(draft: Draft) -> str:
    checked = _checked(draft)
    return "" if isinstance(checked, Invalid) else pattern.format(checked[0])


def _checked(draft: Draft) -> tuple[Pattern, str] | Invalid:
    try:
        parts = pattern.parse(draft.text)
    except PatternError as error:
        return Invalid(f"{error.what}: {draft.text[:120]}")
    text = pattern.format(parts)
    scope = scopes.folded(draft.scope)
    if scope is None:
        return Invalid(f"{draft.scope[:80]!r} is no scope")
    if len(text) > LONGEST:
        return Invalid(f"it is longer than {LONGEST} characters")
    if pattern.normal(parts) == pattern.normal(_EXAMPLE) or "{" in scope:
        return Invalid("it repeats the prompt")
    if has_secret(text):
        return Invalid("it holds what looks like a secret")
    if _FETCHES.search(text):
        return Invalid("it fetches, or grants a permission, or switches a check off")
    return parts, scope


def _fenced(lessons: Sequence[Lesson]) -> str:
    lines = "\n".join(f"{lesson.id} ({lesson.scope}) {lesson.text}" for lesson in lessons)
    if not lines:
        return "(none)"
    longest = max((len(run) for run in re.findall(r"`+", lines)), default=0)
    bar = "`" * max(3, longest + 1)
    return f"{bar}\n{lines}\n{bar}"
