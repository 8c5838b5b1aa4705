"""Where the lines of one synthesis come from, and which of its facts became no line (SPEC S-36). Pure.

For each written line, the history and the commit keep:

    {"prompts": ["u3"], "sessions": ["s1"], "said": 2, "corrections": 1}
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tacitd_handlers.learning.stage2.numbered_facts import FactSources, NumberedFact
from tacitd_handlers.learning.stage2.place import PlacedLine


def describe_origins(lines: Iterable[PlacedLine], facts: Sequence[NumberedFact]) -> dict[str, dict[str, Any]]:
    """Return the origin of each line by its text. A line of which nothing tells its facts is left out.

    Its origin is then the whole synthesis.
    """
    known = FactSources(facts)
    found = ((one.line, known.find_facts(one.line, one.item.sources)) for one in lines)
    return {line: _describe(sources) for line, sources in found if sources}


def list_facts_of_lines(lines: Iterable[PlacedLine], facts: Sequence[NumberedFact]) -> dict[str, list[str]]:
    """The facts of each line by its text, for the history. Without them a forgotten line could be made of them again."""
    known = FactSources(facts)
    found = ((one.line, known.find_facts(one.line, one.item.sources)) for one in lines)
    return {line: [source.text for source in sources] for line, sources in found if sources}


def divide_facts(lines: Iterable[PlacedLine], facts: Sequence[NumberedFact]) -> dict[str, Any]:
    """Return the commit's data about facts: `left_out_facts` became no line, those in `used` did.

    An existing line among the facts is in neither.
    """
    known = FactSources(facts)
    used = {source.text for one in lines for source in known.find_facts(one.line, one.item.sources)}
    unused = [fact for fact in facts if fact.is_new and not fact.again and fact.text not in used]
    left_out = [
        {
            "fact": fact.text,
            "said": fact.said,
            "corrections": fact.corrections,
            "sessions": list(fact.sessions),
            "prompts": list(fact.prompts or fact.prompts_of_batch),
        }
        for fact in unused
    ]
    return {"left_out_facts": left_out, "used": [fact.text for fact in facts if fact.text in used]}


def _describe(sources: Sequence[NumberedFact]) -> dict[str, Any]:
    prompts = dict.fromkeys(id for one in sources for id in one.prompts or one.prompts_of_batch)
    sessions = dict.fromkeys(id for one in sources for id in one.sessions)
    return {
        "prompts": list(prompts),
        "sessions": list(sessions),
        # A repetition of an existing line was counted when it was extracted.
        "said": sum(one.said for one in sources if not one.again),
        "corrections": sum(one.corrections for one in sources if not one.again),
    }
