"""Writes the answers of the two calls for tests.

For the first call tests name facts only: each fact becomes a JSON line with the words of its message.

    [2] Corrected: Use pnpm      {"message": 2, "words": "no, pnpm", "corrected": true, "fact": "Use pnpm"}
    [2] AGAIN: Use pnpm          {"message": 2, "words": "pnpm, I said", "known": 7}
    Use pnpm                     the message with the most of its words

For the second call they name places and texts: each becomes a JSON line with the numbers of the prompt. Without FROM it is made of
the facts with the most of its words.

    FILE: LEARNED.md
    SECTION: Coding
    FACT: Use pnpm               {"FILE": "LEARNED.md", "SECTION": "Coding", "FACT": "Use pnpm", "FROM": [1], "REPLACES": ["L2"]}
    REPLACES: Use npm

Lines of JSON, fences, PROFILE and NONE stay as they are. Standard library only: the stand-in for the client imports it too.
"""

from __future__ import annotations

import json
import re

_MESSAGE = re.compile(
    r"^Message (\d+)\n(?:What the assistant had just said:\n(`{3,})\n.*?\n\2\n)?What the person wrote:\n(`{3,})\n(.*?)\n\3$",
    re.DOTALL | re.MULTILINE,
)
_KNOWN = re.compile(r"^(\d+)\. (.*)$", re.MULTILINE)
_SHORT = re.compile(r"(?:\[(\d+)\] )?(Corrected: )?(AGAIN: )?(Person: )?(.*)")
_AS_IT_IS = re.compile(r"[{}\[\]`~]|PROFILE|NONE\b|\s*$")


class RawAnswer(str):
    """An answer that is sent as it is."""


def say_fact(words: str, fact: str) -> str:
    """The line of an answer for a fact of the first message."""
    return json.dumps({"message": 1, "words": words, "fact": fact}, ensure_ascii=False)


def say_lines(*lines: str) -> str:
    """The second call's answer for lines of LEARNED.md, each made of the fact with its place in the prompt."""
    return "\n".join(
        json.dumps(
            {"FILE": "LEARNED.md", "SECTION": "Coding", "FACT": line, "FROM": [at]}, ensure_ascii=False
        )
        for at, line in enumerate(lines, 1)
    )


def list_messages(prompt: str) -> dict[int, str]:
    """The messages of an extraction prompt, by number."""
    return {int(found[1]): found[4] for found in _MESSAGE.finditer(prompt)}


def write_heard(answer: str, prompt: str) -> str:
    """The answer with its facts as JSON lines."""
    if isinstance(answer, RawAnswer):
        return answer
    messages = list_messages(prompt)
    known = {
        found[2].strip(): int(found[1])
        for found in _KNOWN.finditer(prompt.partition("Answer with one JSON")[0])
    }
    return "\n".join(_write_line(line, messages, known) for line in answer.splitlines())


def _write_line(line: str, messages: dict[int, str], known: dict[str, int]) -> str:
    found = _SHORT.fullmatch(line)
    if found is None or not messages or (_AS_IT_IS.match(line) and not found[1]):
        return line
    fact = found[5]
    number = int(found[1]) if found[1] else _find_message(fact, messages)
    heard: dict[str, object] = {"message": number, "words": _quote(fact, messages.get(number, fact))}
    if found[2]:
        heard["corrected"] = True
    if found[4]:
        heard["about"] = "person"
    if found[3] and fact in known:
        heard["known"] = known[fact]
    else:
        heard["fact"] = fact
    return json.dumps(heard, ensure_ascii=False)


def _find_message(fact: str, messages: dict[int, str]) -> int:
    """The number of the message with the most words of the fact, the first of equal ones."""
    return max(messages, key=lambda number: _count_shared(fact, messages[number]))


def _quote(fact: str, message: str) -> str:
    """The sentence of a message with the most words of the fact; the message if none has any."""
    sentences = [one.strip() for one in re.split(r"(?<=[.!?;])\s+|\n+", message) if one.strip()]
    best = max(sentences, key=lambda one: _count_shared(fact, one), default=message)
    return best if _count_shared(fact, best) else message


def _count_shared(fact: str, text: str) -> int:
    return len(set(re.findall(r"\w+", fact.casefold())) & set(re.findall(r"\w+", text.casefold())))


_KEY = re.compile(r"(FILE|SECTION|FACT|FROM|REPLACES): ?(.*)")
_FACT = re.compile(r"^(\d+)\. (?:Corrected: )?(.*?)(?: \([^()]*\))?$", re.MULTILINE)
_LINE = re.compile(r"^([LP]\d+)\. (.*)$", re.MULTILINE)


def list_facts(prompt: str) -> dict[int, str]:
    """The facts of a synthesis prompt, by number."""
    return {int(found[1]): found[2] for found in _FACT.finditer(prompt.partition("\nFacts, with the day")[2])}


def list_lines(prompt: str) -> dict[str, str]:
    """The existing lines of a synthesis prompt, by `L3` or `P1`."""
    return {found[1]: found[2] for found in _LINE.finditer(prompt.partition("\nExisting lines.")[2])}


def write_proposals(answer: str, prompt: str) -> str:
    """The answer with its blocks of FILE and FACT as JSON lines."""
    if isinstance(answer, RawAnswer) or "FACT:" not in answer:
        return answer
    facts, lines = list_facts(prompt), list_lines(prompt)
    written: list[str] = []
    block: dict[str, object] = {}

    def end() -> None:
        if "FACT" in block:
            if "FROM" not in block:
                block["FROM"] = _find_facts(str(block["FACT"]), facts)
            written.append(json.dumps(block, ensure_ascii=False))
        block.clear()

    for line in answer.splitlines():
        found = _KEY.fullmatch(line.strip())
        if found is None:
            end()
            if line.strip():
                written.append(line)
        elif found[1] == "FROM":
            block["FROM"] = [int(number) for number in re.findall(r"\d+", found[2])]
        elif found[1] == "REPLACES":
            named = block.setdefault("REPLACES", [])
            assert isinstance(named, list)
            named += [number for number, text in lines.items() if text == found[2].strip()][:1]
        else:
            if found[1] == "FILE" or found[1] in block:
                end()
            block[found[1]] = found[2]
    end()
    return "\n".join(written)


def _find_facts(line: str, facts: dict[int, str]) -> list[int]:
    """The fact that a line says; otherwise the one with the most of its words."""
    plain = re.sub(r"^Corrected: |\s*\([^()]*\)$", "", line)
    if same := [number for number, fact in facts.items() if fact == plain]:
        return same[:1]
    best = max((_count_shared(line, fact) for fact in facts.values()), default=0)
    return [number for number, fact in facts.items() if _count_shared(line, fact) == best][:1]
