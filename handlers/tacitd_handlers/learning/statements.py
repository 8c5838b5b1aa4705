"""Split Markdown documents into statements: bullets, paragraphs and sentences, each with its heading.

It reads text only. Files are edited by `tacitd.text.markdown`, which keeps every other byte.
"""

from __future__ import annotations

import re

from msgspec import Struct

from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.shared.model_answers import is_fence, strip_marks

_HEADING = compile_lazily(r"^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$")
_BULLET = compile_lazily(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+\S")
_COMMENT = compile_lazily(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FRONT_MATTER = compile_lazily(r"\A---\n.*?\n---\n", re.DOTALL)
_SENTENCE_END = compile_lazily(r"(?<=[.!?])\s+(?=[A-Z`\"'À-Þ])|(?<=[。！？])")


class Statement(Struct, frozen=True):
    """One bullet or paragraph, joined into one line, without Markdown marks. `heading` is "" above the first one."""

    text: str
    heading: str
    is_bullet: bool


def parse_statements(markdown: str) -> tuple[Statement, ...]:
    """Return a document's bullets and paragraphs in order. Code blocks, comments and front matter are left out."""
    text = _COMMENT.sub("", _FRONT_MATTER.sub("", markdown.replace("\r\n", "\n").lstrip("\ufeff")))
    found: list[Statement] = []
    heading, block, in_code = "", list[str](), False
    for line in [*text.split("\n"), ""]:
        title = None if in_code else _HEADING.match(line)
        if is_fence(line) or in_code or title or not line.strip() or _BULLET.match(line):
            found += _make_statement(block, heading)
            block = []
        if is_fence(line):
            in_code = not in_code
        elif title:
            heading = strip_marks(title[1]).rstrip(":")
        elif line.strip() and not in_code:
            block.append(line)
    return tuple(found)


def known_lines(*documents: str) -> tuple[str, ...]:
    """Return the texts that a fact is compared with, given directives, AGENTS.md, LEARNED.md and the summary (S-06).

    They are each bullet and paragraph as a whole, and each of its sentences, without duplicates.
    """
    lines: dict[str, None] = {}
    for document in documents:
        for statement in parse_statements(document):
            lines[statement.text] = None
            lines.update(dict.fromkeys(split_sentences(statement.text)))
    return tuple(lines)


def split_sentences(text: str) -> tuple[str, ...]:
    """Split one line into sentences, at `.`, `!`, `?` before a capital letter or quote, and at CJK full stops."""
    return tuple(part.strip() for part in _SENTENCE_END.split(text) if part.strip())


def _make_statement(block: list[str], heading: str) -> list[Statement]:
    text = strip_marks(" ".join(line.strip() for line in block))
    if not any(char.isalnum() for char in text):
        return []
    return [Statement(text, heading, _BULLET.match(block[0]) is not None)]
