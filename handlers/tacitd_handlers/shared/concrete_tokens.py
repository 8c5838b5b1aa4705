"""The concrete tokens of a fact: what is right or wrong to the letter, so that a person must have typed it (SPEC S-67).

Paths, commands, addresses, hosts, packages, flags, variables, numbers, dates, code in backticks and identifiers. Prose
is not concrete: its words may be translated and paraphrased. Pure. Whether a token is in the sources belongs to
`token_index`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.shared.numeric_readings import counting_words, find_numbers
from tacitd_handlers.shared.relative_dates import find_dates
from tacitd_handlers.shared.text_parts import CJK, compose_text, list_words
from tacitd_handlers.shared.token_aliases import alias_table, is_abbreviation, is_prose_pair, join_name

TokenKind = Literal["code", "address", "flag", "variable", "path", "name", "package", "number", "date"]

_SPAN = compile_lazily(r"(`+)(.+?)\1", re.DOTALL)
_PLACEHOLDER = compile_lazily(r"<[a-z][\w -]{1,30}>|(?<!\$)\{[a-z]\w{0,30}\}")
"""Placeholders such as `<name>` and `{id}`: they name nothing, so they are not concrete."""
_CHUNK = compile_lazily(rf"[^\s{CJK}\u3000-\u3004\u3008-\u303f\uff00-\uff0f\uff1a-\uff20]+")
_ADDRESS = compile_lazily(
    r"[a-z][a-z0-9+.-]*://.+|(?:javascript|data|vbscript|file|mailto|tel|ssh|git):\S.*|www\..+|[^@\s]+@[\w-]+\.[\w.-]+",
    re.IGNORECASE,
)
_TOP_LEVEL = (
    "com|net|org|io|dev|sh|xyz|app|ai|co|ru|cn|info|biz|site|online|top|cloud|tech|page|eu|us|uk|de|fr|es|jp"
)
_WRITTEN_AROUND = compile_lazily(
    r"(?:\w[\w-]*(?:\s?(?:\[\.\]|\(\.\)|\{\.\}|\[dot\]|\(dot\)|\{dot\})\s?|\.(?=\w)))*"
    r"\w[\w-]*\s?(?:\[\.\]|\(\.\)|\{\.\}|\[dot\]|\(dot\)|\{dot\})\s?[a-z][\w-]*(?:/[\w./-]*)?"
    rf"|\w[\w-]*(?: dot \w[\w-]*)* dot (?:{_TOP_LEVEL})\b(?:(?:/| slash )[\w./-]*)?",
    re.IGNORECASE,
)
"""A host with a replacement for its dots, as in `example[.]com`. People and agents read it as an address."""
_COMPOUND = frozenset(
    list_words(
        """style styled styles based first only like native specific free compatible friendly related side level driven ready
        safe aware powered compliant heavy generated agnostic flavored flavoured formatted managed hosted backed tracked
        independent oriented centric enabled integrated wide facing focused inspired internal external version versions
        typed type types code file files project projects image images test tests script scripts command commands
        non pre post multi cross anti semi all any no pure plain full self sub super inter re un in built the of to and or
        by for with up on off out per via vs zu und basiert basierte basierten spezifisch kompatibel ähnlich"""
    )
)
"""Parts of a compound that describe a tool and are not names, as in "Python-style"."""
_DESCRIBED = compile_lazily(r"(?<=\w)-(?:[a-z]{3,}ed|based|safe|only|compatible)$")
"""The end of a compound that says what was done by what it names, as in "base64url-encoded" and "sha256-signed"."""
_LINK = compile_lazily(r"\]\((?P<target>[^)\s]+)[^)]*\)")
_VARIABLE = compile_lazily(
    r"\$\{?[A-Za-z_]\w*\}?|%[A-Za-z_]\w+%|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[A-Za-z_]\w*=\S*"
)
_FLAG = compile_lazily(r"--?[A-Za-z][\w-]*(?:=\S*)?")
_SIZED = compile_lazily(
    r"[<>=~^v≤≥]*\d[\d.,:'’]*\s?(?:%|x|px|r?em|pt|ms|s|m|h|d|w|min|mins|sec|secs|hrs?|k|[kKMGT]i?[bB]?|st|nd|rd|th|er|e|ème|º|ª|"
    r"fps|pm|am|°|€|\$|£|\+|ish|col|cols|chars?)?",
    re.IGNORECASE,
)
_COUNT_COMPOUND = compile_lazily(r"(\d[\d.,]*)((?:-[^\W\d_]+)+)")
_DOTTED = compile_lazily(r"\.?[\w@-]+(?:\.[\w@*-]+)+|\.[A-Za-z][\w-]*|\*\.[\w.*-]+")
_CAMEL = compile_lazily(r"[^\W\d_A-Z][A-Z]|[A-Z]{2,}[a-z]{2,}")
_PLURAL_CAPITALS = compile_lazily(r"[A-Z]{2,}(?:s|es|ed|ing|d)")
_INSTALLER = compile_lazily(
    r"(?<![\w-])(?:(?:npm|pnpm|yarn|bun|pip3?|uv|uv pip|cargo|gem|brew|apt(?:-get)?|go|conda|composer)\s+"
    r"(?:install|i|add|get|dlx|exec|x|require)|npx|bunx|uvx|pipx(?:\s+(?:run|install))?)(?:\s+-\S+)*\s+(?P<name>[@\w][\w@/.-]*)",
    re.IGNORECASE,
)
_EDGES = "\"'“”‘’«»()[]{}<>,;:!?*…–—|。、"
_SMALL_WORDS = frozenset(
    list_words("a an and or the to of in on at for with it is all as by no not only from via per your our")
)


class Token(Struct, frozen=True):
    """One concrete token. `text` is as written in the fact; a number word has its value in front: `20 (twenty)`."""

    kind: TokenKind
    text: str


def find_tokens(text: str) -> tuple[Token, ...]:
    """Return the concrete tokens of one fact or line, each once, in the order of their discovery."""
    plain = compose_text(text)
    found: dict[Token, None] = {}
    # Most steps take out what they recognise, so that a later step does not read it in another way. A bullet replaces
    # it, so that the words around it do not become adjacent.
    plain = _PLACEHOLDER.sub(" ", plain)
    spans = [match[2] for match in _SPAN.finditer(plain)]
    rest = _SPAN.sub(" \u2022 ", plain).replace("`", " ")
    for written, *_ in find_dates(rest):
        found[Token("date", written)] = None
        rest = rest.replace(written, " \u2022 ", 1)
    for span in spans:
        found.update(dict.fromkeys(_tokens_of_code(span)))
    for match in _WRITTEN_AROUND.finditer(rest):
        found[Token("address", match[0])] = None
    rest = _WRITTEN_AROUND.sub(" \u2022 ", rest)
    for match in _INSTALLER.finditer(rest):
        if match["name"].casefold() not in _SMALL_WORDS:
            found[Token("package", match["name"])] = None
    for match in _LINK.finditer(rest):
        found[Token("address", match["target"])] = None
    for chunk in _CHUNK.findall(_LINK.sub("] ", rest)):
        found.update(dict.fromkeys(_tokens_of_chunk(chunk)))
    for written, value in counting_words(rest):
        found[Token("number", f"{value} ({written})")] = None
    return tuple(found)


def _tokens_of_code(span: str) -> Iterator[Token]:
    """The tokens within backticks. Everything there is concrete: a chunk without a kind of its own is `code`."""
    for chunk in span.split():
        found = list(_tokens_of_chunk(chunk))
        yield from found
        if not found and sum(char.isalnum() for char in chunk) > 1:
            yield Token("code", chunk)


def _tokens_of_chunk(chunk: str) -> Iterator[Token]:
    """The tokens of a run without spaces. The first form that fits decides, from the most specific to a plain word."""
    core = _core_of(chunk)
    if not any(char.isalnum() for char in core):
        return
    if _ADDRESS.fullmatch(core):
        yield Token("address", core)
    elif _is_mixed_script(core):
        yield Token("name", core)
    elif _FLAG.fullmatch(core):
        yield Token("flag", core)
    elif _VARIABLE.fullmatch(core):
        yield Token("variable", core)
    elif _SIZED.fullmatch(core) or not any(char.isalpha() for char in core):
        yield from (Token("number", number) for number in find_numbers(core))
    elif compound := _COUNT_COMPOUND.fullmatch(core):
        yield Token("number", compound[1])
        yield from (token for word in compound[2].split("-") for token in _tokens_of_word(word))
    elif "/" in core or "\\" in core or core.startswith("~"):
        yield from _tokens_of_slashes(core)
    elif _DOTTED.fullmatch(core.removesuffix("()")) and not is_abbreviation(core):
        yield Token("path", core)
    else:
        yield from _tokens_of_word(core)


def _tokens_of_slashes(core: str) -> Iterator[Token]:
    pieces = [piece for piece in re.split(r"[/\\]", core) if piece]
    # "and/or" and "1/2" are not paths.
    if is_prose_pair(core) or (len(pieces) > 1 and all(piece.isdigit() for piece in pieces)):
        yield from (token for piece in pieces for token in _tokens_of_chunk(piece) if piece != core)
    elif core.startswith("@"):
        yield Token("package", core)
    else:
        yield Token("path", core)


def _tokens_of_word(word: str) -> Iterator[Token]:
    """The tokens of a word that is not a path, a flag or a number: identifiers by their form, and names of tools."""
    if "_" in word.strip("_") or word.startswith("@") or "(" in word or "=" in word or "::" in word:
        yield Token("code", word)
        return
    if any(char.isdigit() for char in word) and any(char.isalpha() for char in word):
        yield Token("name", _DESCRIBED.sub("", word))
        return
    if _is_package_of_tool(word):
        yield Token("name", word)
        return
    for piece in word.split("-"):
        named = join_name(piece)
        camel = _CAMEL.search(piece) and not _PLURAL_CAPITALS.fullmatch(piece)
        if camel or named in alias_table().unambiguous or (piece.isdigit()):
            yield Token("number" if piece.isdigit() else "name", piece)


def _is_package_of_tool(word: str) -> bool:
    """Whether a word is a tool's name with a part that makes it another package's name, as in `pytest-xdist`."""
    pieces = [join_name(piece) for piece in word.split("-") if piece]
    known = [piece in alias_table().unambiguous for piece in pieces]
    others = [
        piece
        for piece, is_known in zip(pieces, known, strict=True)
        if not is_known and piece not in _COMPOUND
    ]
    return any(known) and any(piece.isalpha() and piece.isascii() and len(piece) > 1 for piece in others)


def _core_of(chunk: str) -> str:
    """The chunk without quotes, brackets, emphasis, punctuation and the possessive around it."""
    core = re.sub(r"\((?:s|es|e|n|en)\)", "", chunk).strip(_EDGES)
    core = core.strip("*_") if core.startswith(("*", "_")) and not core.startswith(("*.", "__")) else core
    core = core.rstrip(".") if not core.endswith("...") or any(char.isalpha() for char in core) else core
    core = re.sub(r"'s?$", "", core.strip(_EDGES + "#&"))
    opened = core.count("(") > core.count(")")
    return core.replace("(", " ").split()[0] if opened and core.replace("(", " ").split() else core


def _is_mixed_script(word: str) -> bool:
    """Whether a word mixes scripts with similar letters, such as Latin and Cyrillic, as a host with homoglyphs does."""
    if word.isascii():
        return False
    scripts = {unicodedata.name(char, "?").split()[0] for char in word if char.isalpha()}
    return len(scripts & {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"}) > 1
