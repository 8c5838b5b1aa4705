"""What is told of each line that learning wrote: the line, its file, and what it came from. No disk, no model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tacitd.handler import Notice
from tacitd_handlers.learning.placement import LEARNED


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
