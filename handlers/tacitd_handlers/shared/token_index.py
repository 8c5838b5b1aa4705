"""The index of some texts, which finds whether they contain a concrete token in any of its spellings (SPEC S-67). Pure.

It is built once for the sources and queried for each token of a fact. Finding the tokens belongs to `concrete_tokens`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from msgspec import Struct

from tacitd_handlers.shared.concrete_tokens import Token
from tacitd_handlers.shared.numeric_readings import numbers_in, read_number
from tacitd_handlers.shared.relative_dates import dates_meant, find_dates
from tacitd_handlers.shared.text_parts import compose_text, is_cjk, join_windows, split_parts
from tacitd_handlers.shared.token_aliases import alias_table, join_name
from tacitd_handlers.shared.word_stems import stem_words

_WIDTH = 8
"""Parts of the longest token that is compared as a whole; a longer one is compared in windows of this width."""
_LONGEST = 80
"""Characters of the longest such token."""
_YEAR = re.compile(r"(?:19|20)\d\d")
_SPELLED_DOT = re.compile(r"\s?[\[({](?:\.|dot)[\])}]\s?| dot ", re.IGNORECASE)
_DOCUMENT = re.compile(
    r"(?P<stem>[\w-]{4,})\.(?:md|txt|rst|json|jsonc|toml|ya?ml|lock|cfg|ini|config\.[jt]s)", re.IGNORECASE
)
_LIBRARY = re.compile(r"(?P<stem>[A-Za-z][\w-]{2,})\.js")
"""A library's name with a suffix that people leave out, as in Moment.js."""
_EXTENSION = re.compile(
    r"[\w*./\\~@-]*\.(?:[cm]?[jt]sx?|d\.ts|pyi?|rb|rs|go|java|kts?|cs|cpp|cc|hpp|h|c|php|swift|scala|sh|bash|zsh|ps1|sql|html?|s?css|"
    r"less|vue|svelte|md|mdx|txt|rst|json[lc]?|toml|ya?ml|xml|csv|lock|cfg|ini|conf|env|log|ipynb|proto|graphql|tf|snap|svg|png)",
    re.IGNORECASE,
)


class TokenIndex(Struct, frozen=True):
    """The tokens of some texts."""

    joined: frozenset[str]
    """Every run of up to eight parts as one string. `src/app.py` gives `srcapppy`, `src`, `apppy` and so on."""
    parts: frozenset[str]
    plain: str
    """The texts themselves, composed and folded. Text without spaces is searched here."""
    numbers: frozenset[str]
    dates: frozenset[date]
    aliases: frozenset[int]
    flags: frozenset[str]

    def contains_token(self, token: Token) -> bool:
        """Whether the token is in the texts, in its own or another spelling."""
        match token.kind:
            case "number":
                return bool(read_number(token.text) & self.numbers) or self._is_year_meant(token.text)
            case "date":
                return self._contains_date(token.text)
            case "address":
                return self._contains_address(token.text)
            case "flag":
                return self._contains_flag(token.text)
            case "package":
                return self._contains_run(split_parts(token.text)) or self._is_alias(token.text)
            case "path":
                return self._contains_path(token.text)
            case "code" | "variable" | "name":
                return self._contains_name(token.text)

    def _contains_name(self, text: str) -> bool:
        return (
            self._is_alias(text)
            or self._contains_run(split_parts(text))
            or self._contains_each(split_parts(text))
        )

    def _contains_path(self, text: str) -> bool:
        """Whether a path is in the texts. Its segments may be apart ("login.py in src/auth"), those of a host not."""
        if self._is_alias(text) or self._contains_run(split_parts(text)):
            return True
        if text.casefold().replace(".", " dot ") in self.plain:
            return True
        document = _DOCUMENT.fullmatch(text) or _LIBRARY.fullmatch(text)
        if document and self._contains_run(split_parts(document["stem"])):
            return True
        segments = [
            segment for segment in re.split(r"[/\\]", text) if any(char.isalnum() for char in segment)
        ]
        if len(segments) > 1:
            return all(self._contains_path(segment) for segment in segments)
        is_host = "." in text.strip(".") and not _EXTENSION.fullmatch(text)
        return not is_host and self._contains_each(split_parts(text))

    def _contains_address(self, text: str) -> bool:
        """Whether each segment of an address is in the texts as it is. The scheme may be missing unless it can run code.

        A host with "dot" in place of its dots may have been typed in either spelling.
        """
        dotted = _SPELLED_DOT.sub(".", text)
        if dotted != text:
            return self._contains_run(split_parts(text)) or self._contains_address(dotted)
        scheme, divider, rest = text.partition(":")
        if divider and scheme.casefold() not in (
            "http",
            "https",
            "ssh",
            "git",
            "file",
            "mailto",
            "ws",
            "wss",
        ):
            return self._contains_run(split_parts(text))
        segments = re.split(r"[/?#&]", rest if divider else text)
        return all(self._contains_run(split_parts(segment)) for segment in segments if segment)

    def _contains_flag(self, text: str) -> bool:
        """Whether a flag is in the texts. `--no-verify` may be typed "no verify"; a flag of one letter only as itself."""
        name, _, value = text.partition("=")
        if value and not self._contains_name(value):
            return False
        if name.casefold() in self.flags:
            return True
        bare = name.strip("-")
        return len(bare) > 1 and (
            self._contains_run(split_parts(bare)) or self._contains_each(split_parts(bare))
        )

    def _contains_date(self, text: str) -> bool:
        plain = compose_text(text)
        for _, year, month, day in find_dates(plain):
            if any((one.month, one.day) == (month, day) and year in (None, one.year) for one in self.dates):
                return True
        return self._contains_run(split_parts(plain))

    def _is_year_meant(self, text: str) -> bool:
        """Whether a number is the year of a date that was meant: "last year" is 2025 in a message of 2026."""
        return bool(_YEAR.fullmatch(text)) and any(one.year == int(text) for one in self.dates)

    def _is_alias(self, text: str) -> bool:
        table = alias_table()
        joined = join_name(text)
        known = table.groups.get(joined) or table.groups.get(_singular(joined)) or frozenset()
        return bool(known & self.aliases)

    def _contains_run(self, parts: Sequence[str]) -> bool:
        """Whether the parts are adjacent in the texts, in this order."""
        if not parts:
            return True
        joined = "".join(parts)
        if len(parts) <= _WIDTH and len(joined) <= _LONGEST:
            return any(
                form in self.joined for form in (joined, _singular(joined), f"{joined}s", f"{joined}es")
            )
        windows = (parts[at : at + _WIDTH] for at in range(max(1, len(parts) - _WIDTH + 1)))
        return all(
            "".join(window)[:_LONGEST] in self.joined or "".join(window) in self.plain for window in windows
        )

    def _contains_each(self, parts: Sequence[str]) -> bool:
        """Whether each part is anywhere in the texts: as itself, a number, an alias, or another form of the word."""
        significant = [part for part in parts if len(part) > 1 or not part.isascii() or part.isdigit()]
        return bool(significant or parts) and all(self._contains_part(part) for part in significant)

    def _contains_part(self, part: str) -> bool:
        if part.isdigit():
            return part in self.numbers
        if is_cjk(part):
            return part in self.plain
        if part in self.joined or _singular(part) in self.joined or self._is_alias(part):
            return True
        return len(part) > 3 and part.isalpha() and bool(stem_words([part]) & stem_words(self.parts))


def index_texts(texts: Sequence[str], times: Sequence[float | None] = ()) -> TokenIndex:
    """Return the index of some texts. `times`: when each was typed, for relative dates: seconds since 1970, UTC."""
    joined: set[str] = set()
    parts: set[str] = set()
    numbers: set[str] = set()
    dates: set[date] = set()
    for at, text in enumerate(texts):
        own = split_parts(text)
        parts.update(own)
        joined |= join_windows(own, _WIDTH, _LONGEST)
        numbers |= numbers_in(text)
        dates |= dates_meant(text, times[at] if at < len(times) else None)
    plain = "\n".join(compose_text(text).casefold() for text in texts)
    table = alias_table()
    aliases = {number for form in joined for number in table.implied.get(form, ())}
    aliases |= {
        number
        for form in ("c#", "c++", "f#")
        if form in plain
        for number in table.implied.get(join_name(form), ())
    }
    aliases |= {
        number
        for word, numbers in table.implied.items()
        if is_cjk(word) and word in plain
        for number in numbers
    }
    flags = frozenset(re.findall(r"(?<![\w-])--?[a-z][\w-]*", plain))
    return TokenIndex(
        frozenset(joined),
        frozenset(parts),
        plain,
        frozenset(numbers),
        frozenset(dates),
        frozenset(aliases),
        flags,
    )


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
