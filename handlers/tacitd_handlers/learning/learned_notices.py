"""The notices after a synthesis: each line that learning wrote, or why it wrote none. No disk, no model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tacitd.handler import Notice
from tacitd_handlers.learning.stage2.place import LEARNED

NO_LINE = "no line"
"""`Notice.did` of a synthesis that handled facts and wrote no line."""


def explain_no_line(*, repeated: int, withheld: int, refused: int, asked: bool) -> str:
    """Return why a synthesis wrote no line, without any of the user's words.

    `repeated`, `withheld` and `refused` are numbers of lines. `asked`: the model was asked. If it was not, and nothing was
    repeated, withheld or refused, another document of the project contains the facts.
    """
    reasons = []
    if repeated:
        reasons.append("it is written there already")
    if withheld:
        reasons.append("you removed that line before (`tacitd learned --withheld` shows it)")
    if refused:
        reasons.append("what was proposed was refused (`tacitd learned --refused` shows it)")
    if not reasons:
        reasons.append("the model made no line of it" if asked else "another document contains it already")
    return "; ".join(reasons)


def learned_notices(root: Path, data: Mapping[str, Any]) -> Iterator[Notice]:
    """Given a project's root and the data of a synthesis's commit, yield a notice for each line that was put.

    The cost of the calls, in US dollars, is divided among the lines. If no line was put, there is one notice with the
    reason, which contains none of the user's words.
    """
    if why := data.get("no_line"):
        yield Notice(NO_LINE, str(why), str(root))
    lines, prompts = list(data.get("put", ())), int(data.get("from", 0))
    for line in lines:
        file = str(data.get("files", {}).get(line, LEARNED))
        about = [f"from {prompts} prompt{'' if prompts == 1 else 's'}"] if prompts else []
        about.append(_dollars(float(data.get("usd", 0.0)) / len(lines)))
        yield Notice("learned", str(line), f"{root.name}/{file}", ", ".join(about))


def _dollars(usd: float) -> str:
    return f"${usd:.2f}" if usd >= 0.005 or not usd else "under $0.01"
