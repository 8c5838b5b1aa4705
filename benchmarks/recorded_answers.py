"""Recorded answers of a model: by the hash of the prompt, and by the data in it if the prompt was reworded.

A line of `answers.jsonl`:

    {"name": "ferro-1 extraction 1", "sha256": "…", "kind": "extraction", "lines": ["…"], "answer": "…"}

`lines` are the lines of data in the prompt. `usd` is there if a client was asked: what it reported as the cost of the call. If no answer has the prompt's hash, the stand-in takes the answer of the same
kind that has most of its lines in common with the prompt, so that a reworded template does not make all answers useless.

Prompts without an answer can be written into a directory, where somebody answers them: `01-4f5c….txt` is a prompt as it is
sent, and `01-4f5c….answer.txt` what a model would say.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

PromptKind = Literal["extraction", "synthesis", "summary", "other"]
_KINDS: dict[PromptKind, str] = {
    "extraction": "Perform opinion mining and preference extraction",
    "synthesis": "Perform knowledge synthesis",
    "summary": "Perform knowledge extraction",
}
"""The first words of each prompt, which are the seed's."""
_FENCE = re.compile(r"^(`{3,})\n(.*?)\n\1$", re.DOTALL | re.MULTILINE)
_TITLES = re.compile(
    r"^(?:Message \d+|What the assistant had just said:|What the person wrote:)\n+", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """An answer, and the prompt that it was given to."""

    name: str
    """The session, the kind and the number within both: `ferro-1 extraction 1`."""
    sha256: str
    """Of the prompt in UTF-8, in hexadecimal."""
    kind: PromptKind
    lines: tuple[str, ...]
    """The lines of data in the prompt."""
    answer: str
    usd: float | None = None
    """US dollars, as the client reported them; None if no client was asked."""


def find_kind(prompt: str) -> PromptKind:
    """What a prompt asks for."""
    for kind, words in _KINDS.items():
        if words in prompt:
            return kind
    return "other"


def hash_prompt(prompt: str) -> str:
    """The hash that identifies a prompt."""
    return hashlib.sha256(prompt.encode()).hexdigest()


def list_data_lines(prompt: str) -> tuple[str, ...]:
    """The lines between the fences of a prompt: known facts, messages, facts, documents."""
    lines = (line.strip() for block in _FENCE.finditer(prompt) for line in block[2].splitlines())
    return tuple(dict.fromkeys(line for line in lines if line))


def count_fixed_bytes(prompt: str) -> int:
    """The bytes of an extraction prompt that are the same however many messages it has.

    Without the data in fences, and without the titles of each message.
    """
    return len(_TITLES.sub("", _FENCE.sub("", prompt)).encode())


def record_answer(name: str, prompt: str, answer: str, usd: float | None = None) -> RecordedAnswer:
    """Make the record of an answer. `usd`: its cost in US dollars, as a client reported it."""
    return RecordedAnswer(name, hash_prompt(prompt), find_kind(prompt), list_data_lines(prompt), answer, usd)


def load_answers(path: Path) -> list[RecordedAnswer]:
    """Read recorded answers; none if there is no file. Raises ValueError, KeyError for a line of another form."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return [
        RecordedAnswer(
            one["name"], one["sha256"], one["kind"], tuple(one["lines"]), one["answer"], one.get("usd")
        )
        for one in map(json.loads, lines)
    ]


def save_answers(path: Path, answers: Iterable[RecordedAnswer]) -> None:
    """Write recorded answers, one for each name, ordered by name."""
    kept = {one.name: one for one in answers}
    fields = ({k: v for k, v in asdict(kept[name]).items() if v is not None} for name in sorted(kept))
    rows = [json.dumps(one, ensure_ascii=False) + "\n" for one in fields]
    path.write_text("".join(rows), "utf-8")


def make_rules(answers: Sequence[RecordedAnswer], *, exact: bool) -> list[dict[str, Any]]:
    """The rules of the stand-in for Claude Code: the hashes first, then what is nearest, unless `exact`."""
    rules: list[dict[str, Any]] = [{"sha256": one.sha256, "reply": one.answer} for one in answers]
    if not exact:
        rules += [
            {"match": re.escape(_KINDS[one.kind]), "near": list(one.lines), "reply": one.answer}
            for one in answers
            if one.kind != "other"
        ]
    return rules


def dump_prompt(directory: Path, number: int, prompt: str) -> Path:
    """Write a prompt that has no answer into a directory, and return its path."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{number:02d}-{hash_prompt(prompt)[:16]}.txt"
    path.write_text(prompt, "utf-8")
    return path


def take_answers(directory: Path, names: dict[str, str]) -> tuple[list[RecordedAnswer], list[Path]]:
    """Return the answers in a directory that `dump_prompt` wrote to, and the prompts without an answer.

    `names`: the names of prompts by their files' names; they are kept beside the prompts in `names.json`.
    """
    made: list[RecordedAnswer] = []
    missing: list[Path] = []
    for path in sorted(directory.glob("*.txt")):
        if path.name.endswith(".answer.txt"):
            continue
        answer = path.with_name(f"{path.stem}.answer.txt")
        if not answer.exists():
            missing.append(path)
            continue
        text = answer.read_text("utf-8").strip("\n")
        made.append(record_answer(names[path.name], path.read_text("utf-8"), text))
    return made, missing
