"""Damaged lines of every kind between good ones, in real files: each complete prompt is found, and nothing else."""

from __future__ import annotations

import os
import random
import resource
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support_transcripts import SOURCE, attached, raw, spoken, typed
from tacitd.sources.transcript import read_prompts

LINES = int(os.environ.get("TACITD_FUZZED_LINES", "2000"))
"""How many lines are read. Asked: 1,000,000."""
SEED = int(os.environ.get("TACITD_SEED", "0"))
FILE = min(5_000, LINES // 4)
"""Lines of a transcript."""
GROWTH = 16
"""Megabytes by which the process may grow after the second transcript; the test itself has the lines of one."""

Fuzzed = tuple[bytes, list[str]]
"""A line with its newline, and the words of the complete prompts in it."""


def make_prompt(rng: random.Random, number: int) -> tuple[bytes, str]:
    """A person's record without its newline, and the words."""
    text = f"Prefers {number} " + rng.choice(
        ["pnpm", "größe", '"quoted" \\ {"type":"user"}', "日\u2028本", "😀"]
    )
    return typed(text, f"u{number}")[:-1], text


def make_other(rng: random.Random, number: int) -> bytes:
    """A record in which no person says anything, without its newline. Some quote a person's record."""
    quoted = make_prompt(rng, -number)[0].decode()
    block = {"tool_use_id": "t", "type": "tool_result", "content": quoted * rng.randint(0, 3)}
    made: bytes = rng.choice(
        [
            spoken(quoted),
            raw(
                type="user", uuid=f"t{number}", message={"role": "user", "content": [block]}, toolUseResult={}
            ),
            raw(type="system", subtype="turn_duration", durationMs=rng.randint(0, 9999)),
            attached(quoted, f"a{number}", type="skill_listing"),
            raw(type="user", isMeta=True, uuid=f"m{number}", message={"role": "user", "content": quoted}),
        ]
    )
    return made[:-1]


def tear(rng: random.Random, record: bytes) -> bytes:
    """The beginning of a record, as a write that did not end leaves it."""
    return record[: rng.randint(1, len(record) - 1)]


def fuzz_complete(rng: random.Random, number: int) -> Fuzzed:
    record, text = make_prompt(rng, number)
    before = rng.choice([b"", b"\0" * rng.randint(1, 4096), tear(rng, make_other(rng, number)), b" \t"])
    return before + record + rng.choice([b"\n", b"\r\n"]), [text]


def fuzz_two(rng: random.Random, number: int) -> Fuzzed:
    one, said = make_prompt(rng, number)
    two, after = make_prompt(rng, number + 10**9)
    return one + two + b"\n", [said, after]


def fuzz_spelling(rng: random.Random, number: int) -> Fuzzed:
    """Bytes that are no UTF-8, and half an emoji as JavaScript cuts it."""
    record = typed(f"Prefers {number} @", f"u{number}")
    return record.replace(b"@", rng.choice([b"\xff", b"\\ud83d"])), [f"Prefers {number} �"]


def fuzz_torn(rng: random.Random, number: int) -> Fuzzed:
    record = make_prompt(rng, number)[0] if rng.random() < 0.5 else make_other(rng, number)
    return tear(rng, record) + b"\n", []


def fuzz_other(rng: random.Random, number: int) -> Fuzzed:
    return make_other(rng, number) + b"\n", []


def fuzz_nested(rng: random.Random, number: int) -> Fuzzed:
    """A record within another one, whole or torn before its end. Torn just behind it, nothing would tell it from a record that was
    appended to a torn one."""
    inner = make_prompt(rng, -number)[0]
    record = b'{"type":"new-type","sessionId":"s1","inner":' + inner + b',"more":1}'
    return rng.choice([record, record[: rng.randint(1, record.index(inner) + len(inner) - 1)]]) + b"\n", []


def fuzz_flipped(rng: random.Random, number: int) -> Fuzzed:
    """A record of a program in which some bytes were changed."""
    record = bytearray(spoken("said " * rng.randint(1, 30)))[:-1]
    for _ in range(rng.randint(1, 4)):
        record[rng.randrange(len(record))] = rng.choice([b for b in range(256) if b != 10])
    return bytes(record) + b"\n", []


def fuzz_garbage(rng: random.Random, number: int) -> Fuzzed:
    depth = rng.randint(1, 3000)
    return rng.choice(
        [
            rng.randbytes(rng.randint(0, 400)).replace(b"\n", b""),
            b"[" * depth,
            b'{"a":' * depth,
            b'{"type":"user","message":' * rng.randint(1, 50),
            b"1" * depth,
            b'"type"',
            b"null",
            b"[{}]",
            b"{}",
            b"",
        ]
    ) + b"\n", []


KINDS: list[Callable[[random.Random, int], Fuzzed]] = [
    fuzz_complete,
    fuzz_two,
    fuzz_spelling,
    fuzz_torn,
    fuzz_other,
    fuzz_nested,
    fuzz_flipped,
    fuzz_garbage,
]


@pytest.mark.undated
def test_each_complete_prompt_is_found_between_damaged_lines(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """RELIABILITY row 9, factor 1/500: every complete record, none invented, in bounded memory."""
    rng, memory, count = random.Random(SEED), list[float](), 0
    path = tmp_path / "s1.jsonl"
    for begin in range(0, LINES, FILE):
        made = [rng.choice(KINDS)(rng, number) for number in range(begin + 1, min(begin + FILE, LINES) + 1)]
        path.write_bytes(b"".join(line for line, _ in made))
        found = [prompt.text for prompt in read_prompts(SOURCE, path)]
        expected = [text for _, texts in made for text in texts]
        differ = (pair for pair in zip(found, expected, strict=False) if len({*pair}) > 1)
        assert found == expected, next(differ, (len(found), len(expected)))
        count += len(expected)
        memory.append(
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            / (1 << (20 if sys.platform == "darwin" else 10))
        )
    assert memory[-1] - memory[:2][-1] < GROWTH
    record_property("reached", f"{LINES} fuzzed lines, {count} prompts found")
