"""Puts words that begin with `@` into code spans: Claude Code imports the file that such a word names. Pure.

The client looks for `@name` in each part of a Markdown text that is not code, at the beginning of the part or after white
space. A part also begins after emphasis, in a link, after a code span, a tag or an escaped character.
"""

from __future__ import annotations

from collections.abc import Collection

from tacitd.text.lazy_pattern import compile_lazily

# After a letter or a digit it is an address. In a path it is a part of a name, unless the character before it is escaped.
# Backslashes before the `@` belong to the word: one of them would escape the first backtick of the span.
_WORD = compile_lazily(r"\\+@\S+|(?<![^\W_])(?:(?<![.+/@-])|(?<=\\[.+/@-]))@\S+")
_SPAN = compile_lazily(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
_RUN = compile_lazily(r"`+")


def list_runs(text: str) -> frozenset[int]:
    """The lengths of the runs of backticks in a text."""
    return frozenset(len(run) for run in _RUN.findall(text)) if "`" in text else frozenset()


def quote_imports(line: str, runs: Collection[int] | None = None, *, starts_block: bool = True) -> str:
    """Return a line with each word that would be an import in a code span.

    `runs`: `list_runs` of the whole text that the line belongs to; None if it is a text of its own. If a backtick
    of another line could begin or end the new spans, their run of backticks is one that the text does not have. `starts_block`:
    whether the line begins a paragraph or an item, so that what looks like a code span in it is one, and can stay.
    """
    if "@" not in line:
        return line
    # In a tag or after a backslash, a backtick does not begin a code span.
    keeps_spans = starts_block and "<" not in line and "\\" not in line
    spans = list(_SPAN.finditer(line)) if keeps_spans else []
    if not keeps_spans or "`" in _SPAN.sub("", line):
        runs = list_runs(line) if runs is None else runs
        length = next(n for n in range(1, len(runs) + 2) if n not in runs)
    else:
        length = 1  # each backtick of the line belongs to one of its spans
    made, at = "", 0
    for span in spans:
        made = _join(_join(made, _quote_words(line[at : span.start()], length)), span[0])
        at = span.end()
    return _join(made, _quote_words(line[at:], length))


def _quote_words(text: str, length: int) -> str:
    made, at = "", 0
    for found in _WORD.finditer(text):
        word = found[0].rstrip(".,;:!?)") if len(found[0].rstrip(".,;:!?)")) > 1 else found[0]
        pad = " " if length > 1 or "`" in word else ""
        made = _join(_join(made, text[at : found.start()]), "`" * length + pad + word + pad + "`" * length)
        at = found.start() + len(word)
    return _join(made, text[at:])


def _join(before: str, after: str) -> str:
    """The two texts, with a space between two runs of backticks."""
    return f"{before} {after}" if before.endswith("`") and after.startswith("`") else before + after
