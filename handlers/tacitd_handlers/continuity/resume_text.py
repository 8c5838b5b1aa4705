"""The text for resuming the work in a project: its last session, and an earlier one with open tasks (SPEC P-26). Pure.

What a transcript contains is shown as a quotation, line by line, so that it cannot be taken for an instruction. Which
sessions belong to a project is decided in `session_choice`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tacitd.clock import parse_utc
from tacitd.text.plurals import count_noun
from tacitd_handlers.continuity.sentences import cut_sentence
from tacitd_handlers.continuity.stored_progress import (
    NEWER,
    SHORT,
    Json,
    TranscriptProgress,
    list_summary_notes,
)
from tacitd_handlers.continuity.stored_text import clean_lines, clean_text
from tacitd_handlers.shared.decay import DAY

LINES = 30
"""Lines of the text at most."""
EARLIER = 6
"""Lines of an earlier session at most."""
_LAST, _PREVIOUS = "## The last session here", "## The session before it"
_LINE = 240
_SUMMARY = 2000
"""Characters of a summary: more than tacitd writes."""
_DECISIONS = 5
_NOTES = 5
_DONE = 8
EDITED = 8
"""Files that are named at most, the most edited ones first."""


def build_resume_text(
    documents: Sequence[Json],
    now: float,
    most: int = LINES,
    *,
    unreadable: str = "",
    state: TranscriptProgress | None = None,
) -> str:
    """Given the sessions of a project, the newest first, return the text of at most `most` lines; "" if there are none.

    `now` is seconds since 1970, UTC; the text says how long ago the sessions were. `unreadable`: why the file of a newer
    session cannot be read. `state`: what is known from the first one's transcript: the last prompts, the end of the last answer,
    files, the branch, and how far the summary is from the end. Without it the text has what the session's file has.
    """
    if not unreadable:
        return "\n".join(_sessions(documents, now, most, _LAST, state))
    notice = [f"{_LAST} cannot be read", clean_text(unreadable, 2 * _LINE)]
    room = most - len(notice)
    return "\n".join([*notice, *(_sessions(documents, now, room, _PREVIOUS, state) if room > 1 else ())])


def _sessions(
    documents: Sequence[Json], now: float, most: int, heading: str, state: TranscriptProgress | None
) -> list[str]:
    """The lines of the first session, and of an earlier one with open tasks."""
    if not documents:
        return []
    last, titles = documents[0], _open_titles(documents[0])
    for earlier in documents[1:]:
        left, blocked, _ = _tasks(earlier)
        still = [one for one in (*left, *blocked) if one not in titles]
        if still and most >= 2 * EARLIER:
            part = [
                f"## An earlier session ({_ago(earlier, now)}, still open)",
                *(f"- {one}" for one in still),
            ]
            after = (
                [*part[: EARLIER - 1], f"- … and {len(part) - EARLIER + 1} more"]
                if len(part) > EARLIER
                else part
            )
            return [*_last_session(last, now, most - len(after), heading, state), *after]
    return _last_session(last, now, most, heading, state)


def _last_session(
    document: Json, now: float, most: int, heading: str, state: TranscriptProgress | None
) -> list[str]:
    left, blocked, done = _tasks(document)
    notes = [one for one in _list(document, "context") if isinstance(one, str)]
    own = list_summary_notes(state) if state is not None else notes
    newer = next((one for one in reversed(notes) if one.startswith(NEWER) and one in own), "")
    branch = clean_text(state.branch, 100) if state is not None else ""
    where = f", on branch {branch}" if branch else ""
    decisions = [_decision(one) for one in _maps(document, "decisions")][-_DECISIONS:]
    since = newer.removeprefix(NEWER)
    age = _age_of_summary(document, since, state)
    summary, ended = _summary(document, since, age), _quote_end(state) if state is not None else []
    older: list[str] = []
    if summary and age and ended and not since:  # a person's own summary stays first
        summary, older = [], [f"Summary from {age} before the end:", *summary]
    parts = [
        summary,
        ended,
        _part("Open:", left),
        _part("Blocked:", blocked),
        older,
        _part("Files edited:", [_list_files(state)] if state is not None else [], inline=True),
        _part("Done:", [_some(done)], inline=True),
        _part("Decided:", [one for one in decisions if one]),
        _part("Noted:", _noted([one for one in notes if one != newer], state)),
    ]
    lines = [f"{heading} ({_ago(document, now)}{where})"]
    return _fitted(lines, parts, most)


def _summary(document: Json, newer: str, age: str) -> list[str]:
    """The lines of the summary, and of a newer one beside a person's own. `age`: how far it is from the end; "" if it is of it.

    Another program may have written one that is too long: of it the end is shown.
    """
    since = f"Since then, {age} before the end: " if age else "Since then: "
    made = [clean_lines(document.get("summary")), clean_lines(f"{since}{newer}" if newer else "")]
    shown = (one if len(one) <= _SUMMARY else cut_sentence(one, _SUMMARY) for one in made)
    return [line for one in shown for line in one.splitlines()]


def _age_of_summary(document: Json, newer: str, state: TranscriptProgress | None) -> str:
    """How far the newest summary is from the end of the session; "" if it is a person's, is of the end, or not known."""
    newest = newer or document.get("summary")
    if state is None or newest != state.summary or state.turns <= state.summary_turns:
        return ""
    answers = state.turns - state.summary_turns
    hours = ((state.last or 0.0) - (state.summary_at or state.last or 0.0)) / 3600
    said = "1 answer" if answers == 1 else f"{answers} answers"
    if hours < 1:
        return said
    return f"{said} and {_hours(hours)}"


def _noted(found: Sequence[str], state: TranscriptProgress | None) -> list[str]:
    """The last notes, a person's own first, and the number of the others."""
    answers = {*state.notes, *state.written_notes} if state is not None else set[str]()
    own = [one for one in found if one not in answers][-_NOTES:]
    room = _NOTES - len(own)
    shown = [*own, *[one for one in found if one in answers][-room:]] if room else own
    made = [clean_text(one, 3 * _LINE) for one in found if one in shown]
    left = len(found) - len(made)
    return [*made, f"… and {left} more: `tacitd sessions show`"] if left > 0 else made


def _quote_end(state: TranscriptProgress) -> list[str]:
    """The last words of the session, as a quotation."""
    *earlier, prompt = state.typed or ("",)
    is_due = bool(prompt) and not state.answered
    if state.replied and state.answered:
        prompt = f'{prompt} (asked: "{state.replied}")'
    answer = _spoken("Assistant", state.said) if state.said else []
    made = [f"You: {earlier[-1]}"] if earlier and (len(prompt) < SHORT or not (is_due and answer)) else []
    made += answer if is_due else []
    made += [f"You: {prompt}"] if prompt else []
    made += [] if is_due else answer
    lines = [line for one in made for line in clean_lines(one).splitlines() if line]
    return ["It ended with:", *(f"> {line}" for line in lines)] if lines else []


def _list_files(state: TranscriptProgress) -> str:
    """The most edited files with the number of their edits, in one line."""
    files = sorted(state.edits.items(), key=lambda one: -one[1])[:EDITED]
    named = (f"{path} ({count})" if count > 1 else path for path, count in files)
    return clean_text(", ".join(named), 2 * _LINE)


def _spoken(who: str, text: str) -> list[str]:
    first, *rest = text.splitlines() or [""]
    return [f"{who}: {first}", *rest]


def _open_titles(document: Json) -> set[str]:
    left, blocked, done = _tasks(document)
    return {*left, *blocked, *done, *(f"{one} (in progress)" for one in left)}


def _tasks(document: Json) -> tuple[list[str], list[str], list[str]]:
    left, blocked, done = [], [], []
    for one in _maps(document, "tasks"):
        title = clean_text(one.get("title"), _LINE)
        match one.get("status"):
            case "completed":
                done.append(title)
            case "blocked":
                why = clean_text(one.get("blockedBy"), _LINE)
                blocked.append(f"{title} (waits for: {why})" if why else title)
            case status:
                left.append(f"{title} (in progress)" if status == "in_progress" else title)
    left.sort(key=lambda one: not one.endswith("(in progress)"))
    return left, blocked, done


def _some(titles: Sequence[str]) -> str:
    """The last titles in one line, with the number of the others."""
    shown = "; ".join(titles[-_DONE:])
    return f"{shown}; and {len(titles) - _DONE} more" if len(titles) > _DONE else shown


def _decision(one: Mapping[str, Any]) -> str:
    said, why = clean_text(one.get("decision"), _LINE), clean_text(one.get("rationale"), _LINE)
    return f"{said}, because: {why}" if said and why else said


def _maps(document: Json, key: str) -> list[Mapping[str, Any]]:
    return [one for one in _list(document, key) if isinstance(one, Mapping)]


def _list(document: Json, key: str) -> list[Any]:
    found = document.get(key)
    return found if isinstance(found, list) else []


def _part(heading: str, lines: Iterable[str], *, inline: bool = False) -> list[str]:
    made = [one for one in lines if one]
    if inline:
        return [f"{heading} {made[0]}"] if made else []
    return [heading, *(f"- {one}" for one in made)] if made else []


def _fitted(lines: list[str], parts: list[list[str]], most: int) -> list[str]:
    """As many lines of each part as fit; a part that is cut ends with the number of lines left out."""
    for part in parts:
        room = most - len(lines)
        if len(part) <= room:
            lines += part
        elif room >= 3:  # a heading, one line and the count
            lines += [*part[: room - 1], f"- … and {len(part) - room + 1} more"]
    return lines


def _ago(document: Json, now: float) -> str:
    last = parse_utc(document.get("lastActiveAt"))
    if last is None or last > now + DAY:
        return "at an unknown time"
    hours = max(0.0, now - last) / 3600
    if hours < 1:
        return "within the hour"
    return f"{_hours(hours)} ago"


def _hours(hours: float) -> str:
    return f"{hours:.0f} h" if hours < 48 else f"{hours / 24:.0f} days"


def format_status_lines(part: Mapping[str, Any]) -> Iterator[str]:
    """Given the handler's status, yield its line for `tacitd status`."""
    if part.get("sessions"):
        made = part.get("summaries", {}).get("made", 0)
        sessions, made_text = (
            count_noun(part["sessions"], "session"),
            "1 summary" if made == 1 else f"{made} summaries",
        )
        yield f"{sessions}, {part.get('open', 0)} with open tasks; {made_text} made"
