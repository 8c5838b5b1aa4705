"""Removes values that look like secrets from text. Pure (S-67).

A secret is found by the shape of known tokens, by the text before a value, by a checksum, or by entropy. Redaction is
applied before text goes to the model, and again before the model's text is written (ANCHORS P15). What is *not* a secret
matters as much: hashes, uuids, paths, identifiers, placeholders and names of variables must stay, so that ordinary
sentences are kept whole.

Only the combination belongs here. The rules are in secret_shapes.py, secret_context.py, secret_commands.py,
secret_numbers.py and secret_library.py.
"""

from __future__ import annotations

import re

from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.secret_commands import find_in_commands
from tacitd.text.secret_context import find_in_context
from tacitd.text.secret_library import find_library_secrets
from tacitd.text.secret_numbers import CARD, IBAN, find_seed_phrases, is_card, is_iban
from tacitd.text.secret_shapes import find_shapes

__all__ = ["has_secret", "redact_secrets"]

SECRET = "[secret]"

_LONG = compile_lazily(r"(?<![A-Za-z0-9+_-])[A-Za-z0-9+_-]{32,}+={0,2}")
_CHUNK = compile_lazily(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_URL_BEFORE = compile_lazily(r"https?://[^\s?#\"'<>]{0,500}\Z", re.IGNORECASE)
_DATE = compile_lazily(r"(?:19|20)\d\d[-_]?\d\d[-_]?\d\d")
_HASH = compile_lazily(r"[0-9a-fA-F-]+|sha(?:1|224|256|384|512)[-_].*", re.DOTALL)
_TELLING = compile_lazily(
    r"[\d=:\"'`]|[^\x00-\x7f]|[a-z][A-Z]|[A-Za-z]{20}|sk-ant|-----BEGIN|\s-[a-zA-Z-]|(?:[a-z]{3,8}[ \t\r\n,]{1,3}){11}"
)
"""A text that contains none of these has no secret that the rules recognise."""

Spans = list[tuple[int, int]]


def redact_secrets(text: str) -> tuple[str, int]:
    """Given text, return it with `[secret]` in place of each secret's value, and the number of secrets.

    It is idempotent.
    """
    count = 0
    # Each round replaces at least one value that is not `[secret]` yet, so this ends.
    while spans := _merge(_find(text), text):
        parts: list[str] = []
        end = 0
        for start, stop in spans:
            parts += (text[end:start], SECRET)
            end = stop
        text = "".join((*parts, text[end:]))
        count += len(spans)
    return text, count


def has_secret(text: str) -> bool:
    """Whether anything in the text looks like a secret's value."""
    return bool(_merge(_find(text), text))


def _find(text: str) -> Spans:
    if not _TELLING.search(text):
        return []
    spans = find_shapes(text)
    spans += find_in_context(text)
    spans += find_in_commands(text)
    spans += find_library_secrets(text)
    spans += (found.span() for found in _LONG.finditer(text) if _is_random(found))
    spans += (found.span() for found in CARD.finditer(text) if is_card(found[0]))
    spans += (found.span() for found in IBAN.finditer(text) if is_iban(found[0]))
    spans += find_seed_phrases(text)
    return spans


def _merge(spans: Spans, text: str) -> Spans:
    """The spans in order, with overlapping ones merged, without those that are only `[secret]`."""
    merged: Spans = []
    for start, end in sorted(spans):
        if text[start:end].strip() in ("", SECRET) or text[start - 1 : end + 1] == SECRET:
            continue
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _is_random(found: re.Match[str]) -> bool:
    """Whether this is a long run of mixed letters and digits, but not a hash, uuid, path, identifier or dated name.

    The words of an identifier are long. In a random token about every second character is of another kind than the one
    before it.
    """
    token = found[0]
    if (
        _HASH.fullmatch(token)
        or _DATE.search(token)
        or _URL_BEFORE.search(found.string, max(0, found.start() - 500), found.start())
    ):
        return False
    kinds = (any(map(str.islower, token)), any(map(str.isupper, token)), sum(map(str.isdigit, token)) >= 2)
    return all(kinds) and len(token) / max(1, len(_CHUNK.findall(token))) < 3.0
