"""The grounding rule on real prompts: a faithful fact of a prompt is never refused (SPEC S-67).

TACITD_PUBLIC_TRANSCRIPTS names a folder with transcripts; without it the tests are skipped. No model is called: facts are
made from each sentence mechanically, unchanged and in the spellings that a model would choose.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support_examples import FACTOR
from support_transcripts import SOURCE
from tacitd.events import Prompt
from tacitd.sources.explain import judge_transcript
from tacitd_handlers.shared.concrete_tokens import find_tokens
from tacitd_handlers.shared.grounding import Grounded, Ungrounded, judge_grounding, read_sources
from tacitd_handlers.shared.tidy import tidy_fact

FOLDER = os.environ.get("TACITD_PUBLIC_TRANSCRIPTS", "")
FILES = sorted(Path(FOLDER).rglob("*.jsonl")) if FOLDER else []
pytestmark = pytest.mark.skipif(not FILES, reason="TACITD_PUBLIC_TRANSCRIPTS names no transcripts")

LONGEST = 24_576
"""Characters of a message that are sent to the model at most."""
WORDS = [
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
]
SPELLINGS = (
    ("TypeScript", "ts"), ("JavaScript", "js"), ("Python", "py"), ("PostgreSQL", "postgres"), ("Kubernetes", "k8s"),
    ("Markdown", "md"), ("YAML", "yml"), ("GitHub", "github"), ("Golang", "go"), ("VS Code", "vscode"),
)  # fmt: skip


def typed_prompts() -> list[Prompt]:
    """Return every prompt of the folder, each text once."""
    found: dict[str, Prompt] = {}
    for path in FILES:
        for judged in judge_transcript(path, SOURCE):
            for prompt in judged.prompts:
                found.setdefault(prompt.text, prompt)
    return list(found.values())


def sentences_of(text: str) -> list[str]:
    """Return the sentences and lines that are short enough for a fact."""
    pieces = re.split(r"\n+|(?<=[.!?])\s+(?=[A-Z])", text)
    return [piece for piece in map(str.strip, pieces) if 8 <= len(piece) <= 280]


def derived(sentence: str) -> Iterator[str]:
    """Yield the sentence, and the same in other spellings."""
    yield sentence
    yield tidy_fact(sentence)
    yield sentence[:1].upper() + sentence[1:]
    if not re.search(r"[`/_=\\]|[a-z][A-Z]|[A-Z]{2}", sentence):
        yield sentence.lower()
    yield re.sub(r"(?<![\w.,:/#=(+-])(\d|1[0-5])(?![\w.,:/%)-])", _as_word, sentence)
    yield re.sub(
        rf"\b(?:{'|'.join(WORDS)})\b", lambda m: str(WORDS.index(m[0].lower()) + 2), sentence, flags=re.I
    )
    for one, other in SPELLINGS:
        yield re.sub(rf"(?<![\w./-]){re.escape(one)}(?![\w./-])", other, sentence)
        yield re.sub(rf"(?<![\w./-]){re.escape(other)}(?![\w./-])", one, sentence)
    if "`" not in sentence:
        yield re.sub(r"(?<![\w/.-])([a-z]{5,})(?![\w/.-])", r"`\1`", sentence, count=1)
        yield re.sub(r"(?<!\w)([a-z]+_[a-z_]+)(?!\w)", r"`\1`", sentence)


def _as_word(match: re.Match[str]) -> str:
    return WORDS[int(match[0]) - 2] if int(match[0]) >= 2 else match[0]


def test_no_faithful_fact_of_a_real_prompt_is_refused() -> None:
    """SPEC S-67: the aim is none, in every spelling. TACITD_EXAMPLES=1 takes all prompts, a plain run every third."""
    judged, refused = 0, list[str]()
    for prompt in typed_prompts()[:: max(1, round(1 / FACTOR))]:
        text = prompt.text[:LONGEST]
        sources = read_sources([text], [prompt.context], [prompt.time])
        for fact in dict.fromkeys(one for sentence in sentences_of(text) for one in derived(sentence)):
            judged += 1
            verdict = judge_grounding(fact, sources)
            if not isinstance(verdict, Grounded):
                refused.append(f"{verdict}: {fact}")
    print(f"{judged} facts of {len(typed_prompts())} prompts in all, {len(refused)} refused")  # noqa: T201
    assert judged and not refused, "\n".join(refused[:20])


def test_a_fact_of_one_prompt_is_refused_by_the_words_of_another() -> None:
    """SPEC S-67: the concrete tokens of one prompt are mostly not in another."""
    prompts = typed_prompts()
    refused = accepted = 0
    wrong: list[str] = []
    for at, prompt in enumerate(prompts):
        other = prompts[(at + len(prompts) // 2) % len(prompts)]
        sources = read_sources([other.text[:2000]], [], [other.time])
        folded = re.sub(r"[\W_]+", "", other.text.casefold())
        for fact in sentences_of(prompt.text):
            tokens = find_tokens(fact)
            if not tokens:
                continue
            if isinstance(judge_grounding(fact, sources), Ungrounded):
                refused += 1
                continue
            accepted += 1
            letters = [
                re.sub(r"[\W_]+", "", one.text.casefold())
                for one in tokens
                if one.kind in ("address", "variable")
            ]
            wrong += [fact for one in letters if len(one) > 8 and one not in folded]
    print(f"{refused} facts with concrete tokens refused by other words, {accepted} accepted")  # noqa: T201
    assert refused > 20 * max(1, accepted) // 2 and not wrong, "\n".join(wrong[:20])
