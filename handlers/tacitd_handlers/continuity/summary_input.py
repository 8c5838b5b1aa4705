"""The prompt about a session: what the person typed, the ends of the assistant's turns, the client's own summaries.

The texts are read from the transcript when the session ends, because they are not stored before. The answer belongs to
`parse`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files

from msgspec import Struct, field

from tacitd.events import Record
from tacitd_handlers.continuity.session_progress import end_of_compaction
from tacitd_handlers.continuity.stored_progress import Items
from tacitd_handlers.continuity.stored_text import clean_text
from tacitd_handlers.shared.prompt_filling import fence_text

TOTAL = 20_000
"""Characters of a session that are sent to the model at most."""
_TYPED, _SAID, _COMPACTED = 600, 400, 4000
_FIRST = 3
"""Parts that are kept from the beginning of a session that is too long: they contain its topic."""


class SessionExcerpt(Struct, frozen=True):
    """A session in short."""

    parts: tuple[str, ...] = ()
    """Its messages, each with its number: `[3] Person: …`."""
    times: Mapping[int, float] = field(default_factory=dict)
    """The times of the messages by number: seconds since 1970, UTC."""


def excerpt_session(found: Iterable[Record], before: str = "") -> SessionExcerpt:
    """Return the session in short: each prompt, and the end of the assistant's last text before the next one.

    `before`: the summary of what came before these records.
    """
    made: list[str] = [f"Summary of what came before: {before}"] if before else []
    times: dict[int, float] = {}
    said, said_at = "", None

    def add(who: str, text: str, at: float | None) -> None:
        number = len(times) + 1
        times[number] = at if at is not None else times.get(number - 1, 0.0)
        made.append(f"[{number}] {who}: {text}")

    for record in found:
        if record.text:
            said, said_at = record.text, record.time
        if record.summary:
            made.append(f"Summary so far: {clean_text(end_of_compaction(record.summary), _COMPACTED)}")
        if record.prompts or record.plan:
            if said:
                add("Assistant", _end(said), said_at)
                said = ""
            if record.plan:
                add("Person", f"(accepted this plan) {clean_text(record.plan, _TYPED)}", record.time)
            for prompt in record.prompts:
                add("Person", clean_text(prompt.text, _TYPED), record.time)
    if said:
        add("Assistant", _end(said), said_at)
    return SessionExcerpt(tuple(made) if times else (), {n: at for n, at in times.items() if at})


def _end(text: str) -> str:
    whole = clean_text(text, 100_000)
    return whole if len(whole) <= _SAID else "…" + whole[-_SAID:]


def cut_parts(made: Sequence[str], total: int = TOTAL) -> list[str]:
    """Return the first few parts, and as many of the last ones as `total` characters allow."""
    if sum(len(part) + 1 for part in made) <= total:
        return list(made)
    first, last = list(made[:_FIRST]), list[str]()
    room = total - sum(len(part) + 1 for part in first)
    for part in reversed(made[_FIRST:]):
        room -= len(part) + 1
        if room < 0:
            break
        last.append(part)
    return [*first, "[…]", *reversed(last)]


def build_prompt(found: Sequence[str], items: Items) -> str:
    """Return the whole prompt. Data is fenced, so that it cannot end its part of the prompt."""
    tasks = "\n".join(f"- [{one.status}] {one.title}" for one in items)
    template = _template()
    before, _, rest = template.partition("{tasks}")
    between, _, after = rest.partition("{session}")
    return f"{before}{fence_text(tasks) if tasks else '(none)'}{between}{fence_text(chr(10).join(cut_parts(found)))}{after}"


@cache
def _template() -> str:
    return (files("tacitd_handlers.continuity") / "prompts" / "summary.md").read_text("utf-8")


@cache
def list_instructions() -> tuple[str, ...]:
    """Return the prompt's sentences. An answer that contains one is an echo (SPEC S-35)."""
    return tuple(
        line.strip("- ") for line in _template().splitlines() if len(line) > 40 and not line.startswith("{")
    )
