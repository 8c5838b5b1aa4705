"""What learning tells a person about its work: each line that was written, or why none was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tacitd.handler import Notice
from tacitd.text.wording import count_noun, format_dollars
from tacitd_handlers.learning.hiding import is_published
from tacitd_handlers.learning.plan import NewLine
from tacitd_handlers.learning.sources import Place

NO_LINE = "no line"
"""`Notice.did` of a synthesis that handled facts and wrote no line, and of an extraction without a fact."""


def describe_lines(lines: Sequence[NewLine], place: Place, usd: float) -> Iterator[Notice]:
    """A notice for each line that is written. The cost of the calls, in US dollars, is divided among them."""
    for line in lines:
        prompts = len({prompt for fact in line.facts for prompt in fact.prompts})
        about = [f"from {count_noun(prompts, 'prompt')}"] if prompts else []
        about.append(format_dollars(usd / len(lines)))
        path = place.root / line.path
        if place.project is not None and not path.exists() and is_published(path, place.root):
            about.append(f"`npm publish` would include {line.path}: list it in .npmignore")
        root = str(place.root) if place.project is not None else ""
        yield Notice("learned", line.text, f"{place.root.name}/{line.path}", ", ".join(about), root=root)


def describe_withheld(lines: Sequence[NewLine], place: Place) -> Iterator[Notice]:
    """A notice for each line that is not written, because the person removed it before."""
    for line in lines:
        what = f"you removed it before, and said it again (`tacitd review` asks about it): {line.text}"
        yield Notice(NO_LINE, what, str(place.root))


def explain_no_line(*, repeated: bool, withheld: bool, refused: bool, asked: bool) -> str:
    """Return why a synthesis wrote no line, without any of the person's words.

    `asked`: the model was asked. If it was not, and nothing was repeated, withheld or refused, another document contains the facts.
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
