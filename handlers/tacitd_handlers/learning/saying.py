"""What learning says of itself in `tacitd status`, for a person. Pure: its part of the status document in, lines out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tacitd.handler import Notice
from tacitd_handlers.learning.placement import LEARNED
from tacitd_handlers.learning.state import SECRET_FACT, TOO_MANY_FACTS

WORDS = {"seen": "prompts seen", "asked": "put to the model", "facts": "facts", "lines": "lines written"}


def count_facts(number: int) -> str:
    """`1 fact`, `2 facts`."""
    return f"{number} fact{'' if number == 1 else 's'}"


def learned_notices(root: Path, data: Mapping[str, Any]) -> Iterator[Notice]:
    """Given a project and the data of a synthesis's commit, yield a notice for each line that it put there.

    What the calls cost is shared among the lines that came of them.
    """
    lines, prompts = list(data.get("put", ())), int(data.get("from", 0))
    for line in lines:
        file = str(data.get("files", {}).get(line, LEARNED))
        about = [f"from {prompts} prompt{'' if prompts == 1 else 's'}"] if prompts else []
        about.append(_dollars(float(data.get("usd", 0.0)) / len(lines)))
        yield Notice("learned", str(line), f"{root.name}/{file}", ", ".join(about))


def _dollars(usd: float) -> str:
    return f"${usd:.2f}" if usd >= 0.005 or not usd else "under $0.01"


def says(status: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines; one that begins with `!` wants something done."""
    for span in ("today", "total"):
        yield f"{span}: " + ", ".join(f"{status[span][key]} {words}" for key, words in WORDS.items())
    for root, since in status["projects"].items():
        yield f"writes in {root} since {since}"
    for why, number in status["skipped"].items():
        what = "facts" if why in (SECRET_FACT, TOO_MANY_FACTS) else "prompts"
        yield f"{number} {what} were left out: {why}"
    if status["withheld"]:
        yield f"{status['withheld']} lines that you removed were said again: `tacitd learned --withheld`"
    for root in status["not_referred_to"]:
        yield f"! nothing refers to {root}/LEARNED.md: `tacitd link {root}`"
    for what in status["files_refused"]:
        yield f"! {what}"
