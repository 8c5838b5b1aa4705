"""What learning tells the plugins that add a part to its second call: their findings, and which lines are gone (SPEC S-28, E-30)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tacitd.contract import Task, Tools, Tx
from tacitd.events import NoProject
from tacitd.work.messages import send_message
from tacitd_handlers.learning.learned_rows import make_id
from tacitd_handlers.learning.prompt_templates import SYNTHESIS_PROMPT
from tacitd_handlers.learning.sources import Place
from tacitd_handlers.learning.synthesis_input import SynthesisInput

WORDS_LIMIT = 200
"""Characters of each message that go with a finding, for `tacitd why`."""


def list_listeners(tools: Tools) -> list[str]:
    """The plugins that are told which lines are gone."""
    return [one.name for one in tools.list_prompt_parts(SYNTHESIS_PROMPT)]


def tell_findings(
    tx: Tx, found: Mapping[str, Sequence[Any]], inputs: SynthesisInput, lines: Sequence[str], now: float
) -> None:
    """Pass findings on with their origin. `corrected`: the facts that correct something again; `lines`: what was written."""
    new = [fact for fact in inputs.facts if fact.is_new]
    rows = [inputs.rows[number] for fact in new for number in fact.rows]
    again = [fact.text for fact in new if fact.line is not None]
    prompts = list(dict.fromkeys(row.prompt for row in rows if row.prompt is not None))
    typed = [
        (id, text or "")
        for number in prompts
        for id, text in tx.rows("SELECT id, text FROM prompt WHERE number = ?", number)
    ]
    sessions = list(dict.fromkeys(row.session for row in rows if row.session))
    for name, what in found.items():
        data = {
            "found": list(what),
            "sessions": sessions,
            "prompts": [id for id, _ in typed],
            "facts": [fact.text for fact in new],
            "corrected": again,
            "words": [text[:WORDS_LIMIT] for _, text in typed if text],
            "lines": list(dict.fromkeys((*lines, *again))),
        }
        _send(tx, name, inputs.place, f"found {make_id(*map(str, inputs.rows))}", data, sessions, now)


def tell_removed(tx: Tx, names: Iterable[str], place: Place, removed: Sequence[str], now: float) -> None:
    """Say which lines are gone, so that what was made of the same words goes too. `names`: the plugins."""
    for name in names if removed else ():
        _send(
            tx, name, place, f"removed {make_id(place.name, *removed)}", {"removed": list(removed)}, (), now
        )


def _send(
    tx: Tx, to: str, place: Place, key: str, data: Mapping[str, Any], sessions: Sequence[str], now: float
) -> None:
    project = place.project or NoProject("", "the person's")
    about = Task(0, "message", "", project, place.number, sessions[-1] if sessions else "")
    send_message(tx, "learning", to, key, about, data, now)
