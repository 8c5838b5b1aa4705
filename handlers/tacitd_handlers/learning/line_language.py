"""The language in which facts and lines of a project are written: that of its LEARNED.md (SPEC S-01). Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tacitd_handlers.shared.word_stems import language_of

DEFAULT = "English"
"""The language where LEARNED.md has no lines, or where their language is not known."""
_NEWEST = 40
"""Number of lines that are looked at."""
_NAMES = {
    "en": "English",
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "it": "Italian",
    "pt": "Portuguese",
    "nl": "Dutch",
    "pl": "Polish",
    "sv": "Swedish",
    "tr": "Turkish",
    "fi": "Finnish",
    "cs": "Czech",
    "ro": "Romanian",
    "id": "Indonesian",
    "ja": "Japanese",
    "ko": "Korean",
    "zh": "Chinese",
    "ru": "Russian",
    "el": "Greek",
    "he": "Hebrew",
    "ar": "Arabic",
    "hi": "Hindi",
    "th": "Thai",
}


def name_language(lines: Sequence[str]) -> str:
    """Return the English name of the language of most lines, such as `German`; DEFAULT without evidence."""
    found = Counter(language_of(line) for line in lines[-_NEWEST:])
    del found[""]
    return _NAMES.get(max(found, key=lambda code: found[code]), DEFAULT) if found else DEFAULT
