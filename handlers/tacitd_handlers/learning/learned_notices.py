"""What a commit of learning means to a person: facts that were extracted or refused, each line that was written, or why none
was. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tacitd.handler import Commit, Notice
from tacitd.text.dollars import format_dollars
from tacitd_handlers.learning.folders import LEARNED

NO_LINE = "no line"
"""`Notice.did` of a synthesis that handled facts and wrote no line, and of an extraction without a fact."""


def describe_commit(commit: Commit) -> Iterator[Notice]:
    """Given a commit, yield its notices. The hook `Plugin.activity`."""
    root = Path(str(commit.data.get("project", "")))
    match commit.data.get("kind"):
        case "batch":
            yield from _extraction_notices(root, commit.data)
        case "synthesis":
            yield from learned_notices(root, commit.data)
        case _:
            pass


def _extraction_notices(root: Path, data: Mapping[str, Any]) -> Iterator[Notice]:
    """The numbers of facts that were extracted and refused: their words are announced when they are stored."""
    if asked := int(data.get("asked", 0)):
        facts, usd = int(data.get("facts", 0)), float(data.get("usd", 0.0))
        text = f"{_count(facts, 'fact') if facts else 'no fact'} from {_count(asked, 'prompt')}"
        yield Notice("extracted" if facts else NO_LINE, text, root.name, format_dollars(usd))
    for why, number in data.get("left_out", {}).items():
        yield Notice("refused", f"{_count(int(number), 'fact')}: {why}", root.name)
    if refused := int(data.get("refused", 0)):
        what = (
            "it names something that nobody mentioned"
            if refused == 1
            else "they name something that nobody mentioned"
        )
        hint = "`tacitd learned --refused`"
        yield Notice("refused", f"{_count(refused, 'proposal')} of the model: {what}", root.name, hint)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


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

    A line of which nothing tells its prompts is from all of them. The cost of the calls, in US dollars, is divided among the
    lines. If no line was put, there is one notice with the
    reason, which contains none of the user's words.
    """
    if why := data.get("no_line"):
        yield Notice(NO_LINE, str(why), str(root))
    lines, origins = list(data.get("put", ())), data.get("origins", {})
    for line in lines:
        prompts = len(origins.get(line, {}).get("prompts", ())) or int(data.get("from", 0))
        file = str(data.get("files", {}).get(line, LEARNED))
        about = [f"from {prompts} prompt{'' if prompts == 1 else 's'}"] if prompts else []
        about.append(format_dollars(float(data.get("usd", 0.0)) / len(lines)))
        where = f"{root.name}/{file}"
        yield Notice("learned", str(line), where, ", ".join(about), root=str(root))
